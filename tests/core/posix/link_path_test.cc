// The one name of a file, on a real file system.
#include "core/posix/link_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

TEST(FollowLinks, KeepsAPathWithoutLinksAsItIs) {
  const TempFolder folder;
  EXPECT_EQ(FollowLinks("no_such_file.db"), "no_such_file.db");
  EXPECT_EQ(FollowLinks(folder / "tune.db"), folder / "tune.db");
  WriteText(folder / "tune.db", "");
  EXPECT_EQ(FollowLinks(folder / "tune.db"), folder / "tune.db");
  EXPECT_EQ(FollowLinks(folder / "gone/tune.db"), folder / "gone/tune.db");
}

TEST(FollowLinks, NamesTheFileThatALinkLeadsTo) {
  const TempFolder folder;
  const std::string real = fs::canonical(folder.path()).string() + "/data/a.db";
  fs::create_directory(folder / "data");
  WriteText(folder / "data/a.db", "");
  fs::create_symlink("data/a.db", folder / "first.db");
  fs::create_symlink(folder / "first.db", folder / "second.db");
  EXPECT_EQ(FollowLinks(folder / "first.db"), real);
  EXPECT_EQ(FollowLinks(folder / "second.db"), real);
}

TEST(FollowLinks, NamesTheFileBelowALinkedFolder) {
  const TempFolder folder;
  const std::string real = fs::canonical(folder.path()).string();
  fs::create_directories(folder / "data/deep");
  fs::create_directory_symlink("data/deep", folder / "link");
  EXPECT_EQ(FollowLinks(folder / "link/a.db"), real + "/data/deep/a.db");
  EXPECT_EQ(FollowLinks(folder / "link/../a.db"), real + "/data/a.db");
}

TEST(FollowLinks, NamesAFileThatIsStillToBeMade) {
  const TempFolder folder;
  const std::string real = fs::canonical(folder.path()).string();
  fs::create_directory(folder / "data");
  fs::create_symlink("data/a.db", folder / "link.db");
  EXPECT_EQ(FollowLinks(folder / "link.db"), real + "/data/a.db");
}

TEST(FollowLinks, KeepsAPathThatCannotBeFollowed) {
  const TempFolder folder;
  fs::create_symlink("round.db", folder / "circle.db");
  fs::create_symlink("circle.db", folder / "round.db");
  EXPECT_EQ(FollowLinks(folder / "round.db"), folder / "round.db");
}

}  // namespace
}  // namespace tune
