// What goes of a folder whose owner has taken the right to change it from himself.
#include "core/remove_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tune {
namespace {

namespace fs = std::filesystem;

// Makes the tree, removes it, and says by its status what is left. Root may remove anything.
[[noreturn]] void RemoveAsAnOrdinaryUser() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
  std::string name = (fs::temp_directory_path() / "tune_remove_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) _exit(3);
  const fs::path top = name;
  fs::create_directories(top / "go/pkg/mod");
  std::ofstream(top / "go/pkg/mod/a.go") << "package a\n";
  fs::create_directory(top / "elsewhere");
  fs::create_directory_symlink(top / "elsewhere", top / "go/link");
  fs::permissions(top / "elsewhere", fs::perms::owner_read | fs::perms::owner_exec);
  for (const char* const folder : {"go/pkg/mod", "go/pkg", "go"}) {
    fs::permissions(top / folder, fs::perms::owner_read | fs::perms::owner_exec);
  }
  std::error_code error;
  RemoveTree(top / "go", error);
  if (error || fs::exists(fs::symlink_status(top / "go"))) _exit(4);
  const bool is_kept = fs::status(top / "elsewhere").permissions() ==
                       (fs::perms::owner_read | fs::perms::owner_exec);
  RemoveTree(top, error);
  if (!is_kept) _exit(5);  // A link leads out of the tree.
  if (error || fs::exists(top)) _exit(6);
  RemoveTree(top, error);
  _exit(error ? 7 : 0);
}

TEST(RemoveTree, AFolderThatMayNotBeChangedGoesWithAllThatIsInIt) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) RemoveAsAnOrdinaryUser();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tune
