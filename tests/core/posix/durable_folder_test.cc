// A folder that is there whole or not at all: the order of its steps on a real file system, watched
// and disturbed at the system's own calls, which this program defines anew.
#include "core/posix/durable_folder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/posix/durable_file.h"

namespace {

namespace fs = std::filesystem;

struct Call {
  std::string what;  // mkdir, write, fsync, syncfs, rename
  std::string path;
  std::string to;  // Of a rename.
};

// The calls below `root` in their order. Call number `fail_at` (from 0) fails with `error`.
struct Watch {
  std::string root;
  std::vector<Call> calls;
  int fail_at = -1;
  int error = ENOSPC;
};
Watch* watch = nullptr;

std::string PathOf(int fd) {
  char path[4096];
  const ssize_t length =
      readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

// Whether the call may go on.
bool Note(const char* what, const std::string& path, const std::string& to = "") {
  if (watch == nullptr || !path.starts_with(watch->root)) return true;
  const bool fails = static_cast<int>(watch->calls.size()) == watch->fail_at;
  watch->calls.push_back({what, path, to});
  if (fails) errno = watch->error;
  return !fails;
}

}  // namespace

// In place of the C library's.
extern "C" {
int fsync(int fd) { return Note("fsync", PathOf(fd)) ? int(syscall(SYS_fsync, fd)) : -1; }
int syncfs(int fd) noexcept {
  return Note("syncfs", PathOf(fd)) ? int(syscall(SYS_syncfs, fd)) : -1;
}
int mkdir(const char* path, mode_t mode) noexcept {
  return Note("mkdir", path) ? int(syscall(SYS_mkdirat, AT_FDCWD, path, mode)) : -1;
}
int rename(const char* from, const char* to) noexcept {
  return Note("rename", from, to) ? int(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
                                  : -1;
}
ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t count,
                        unsigned flags) {
  return Note("write", PathOf(to))
             ? syscall(SYS_copy_file_range, from, from_at, to, to_at, count, flags)
             : -1;
}
ssize_t write(int fd, const void* bytes, size_t count) {
  return Note("write", PathOf(fd)) ? syscall(SYS_write, fd, bytes, count) : -1;
}
}

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DurableFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tune_durable_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    watched_.root = root_;
  }
  void TearDown() override {
    watch = nullptr;
    fs::remove_all(root_);
  }

  Result<std::string> Make(const std::string& parent, const std::string& name) {
    TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(parent, name));
    TUNE_RETURN_IF_ERROR(folder.Write("a", "first"));
    TUNE_RETURN_IF_ERROR(folder.Write("b", "second"));
    return folder.Commit();
  }
  // A copy of root_/model.
  Result<std::string> MakeCopy(const std::string& parent, const std::string& name) {
    TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(parent, name));
    TUNE_RETURN_IF_ERROR(folder.MakeFolder("data"));
    TUNE_RETURN_IF_ERROR(folder.Copy("data/model", root_ + "/model"));
    return folder.Commit();
  }
  std::vector<std::string> Names(const std::string& folder) {
    std::set<std::string> names;
    if (!fs::exists(folder)) return {};
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return {names.begin(), names.end()};
  }
  std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string root_;
  Watch watched_;
};

// What a loss of power after `count` calls leaves at the worst: names whose folder was synced since
// they were made, contents that were synced since they were written.
struct Survivors {
  std::set<std::string> names;  // Present paths.
  std::set<std::string> whole;  // Files whose contents are safe, by the path they have now.
};

Survivors AfterPowerLoss(const std::vector<Call>& calls, size_t count) {
  std::set<std::string> seen;  // What the running system shows.
  Survivors safe;
  const auto renamed = [](const std::set<std::string>& paths, const Call& call) {
    std::set<std::string> moved;
    for (const std::string& path : paths) {
      const bool is_below = path == call.path || path.starts_with(call.path + "/");
      moved.insert(is_below ? call.to + path.substr(call.path.size()) : path);
    }
    return moved;
  };
  for (size_t i = 0; i < count; ++i) {
    const Call& call = calls[i];
    if (call.what == "mkdir") seen.insert(call.path);
    if (call.what == "write") {
      seen.insert(call.path);
      safe.whole.erase(call.path);
    }
    if (call.what == "rename") {
      seen = renamed(seen, call);
      safe.whole = renamed(safe.whole, call);
      // The new name is not safe yet; at the worst the old one is lost too.
      std::erase_if(safe.names, [&](const std::string& path) { return path == call.path; });
      safe.names = renamed(safe.names, call);
    }
    if (call.what == "syncfs") {
      safe.names.insert(seen.begin(), seen.end());
      safe.whole.insert(seen.begin(), seen.end());
    }
    if (call.what == "fsync") {
      for (const std::string& path : seen) {
        if (fs::path(path).parent_path() == call.path) safe.names.insert(path);
      }
      if (seen.contains(call.path)) safe.whole.insert(call.path);
    }
  }
  return safe;
}

TEST_F(DurableFolderTest, SurvivesALossOfPowerOnceItIsCommittedAndIsNeverThereInPart) {
  watch = &watched_;
  const Result<std::string> made = Make(root_ + "/sweep/7", "checkpoint_000005");
  watch = nullptr;
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(*made, root_ + "/sweep/7/checkpoint_000005");
  EXPECT_EQ(Text(*made + "/a") + Text(*made + "/b"), "firstsecond");
  EXPECT_THAT(Names(root_ + "/sweep/7"), ElementsAre("checkpoint_000005"));

  const std::vector<Call>& calls = watched_.calls;
  for (size_t count = 0; count <= calls.size(); ++count) {
    const Survivors safe = AfterPowerLoss(calls, count);
    const bool has_name = safe.names.contains(*made);
    const bool is_whole = safe.names.contains(*made + "/a") && safe.whole.contains(*made + "/a") &&
                          safe.names.contains(*made + "/b") && safe.whole.contains(*made + "/b");
    if (has_name) {
      EXPECT_TRUE(is_whole) << "after " << count << " calls";
    }
    if (count < calls.size()) continue;
    EXPECT_TRUE(has_name);
    EXPECT_TRUE(safe.names.contains(root_ + "/sweep"));
    EXPECT_TRUE(safe.names.contains(root_ + "/sweep/7"));
  }
  // The name could be found before the loss as soon as it was given: all of it was safe by then.
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].what != "rename") continue;
    const Survivors before = AfterPowerLoss(calls, i);
    for (const char* const file : {"/a", "/b"}) {
      EXPECT_TRUE(before.names.contains(calls[i].path + file));
      EXPECT_TRUE(before.whole.contains(calls[i].path + file));
    }
  }
}

TEST_F(DurableFolderTest, LeavesNothingBehindWhereverTheDiskIsFull) {
  watch = &watched_;
  ASSERT_TRUE(Make(root_ + "/sweep/7", "checkpoint_000001").ok());
  const int call_count = static_cast<int>(watched_.calls.size());
  ASSERT_GT(call_count, 8);
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    for (int at = 0; at < call_count; ++at) {
      watch = nullptr;
      fs::remove_all(root_ + "/sweep");
      watched_.calls.clear();
      watched_.fail_at = at;
      watched_.error = error;
      watch = &watched_;
      const Result<std::string> made = Make(root_ + "/sweep/7", "checkpoint_000001");
      watch = nullptr;
      ASSERT_FALSE(made.ok()) << at;
      const StatusCode expected =
          error == EIO ? StatusCode::kUnavailable : StatusCode::kResourceExhausted;
      EXPECT_EQ(made.status().code(), expected) << at << ": " << made.status().message();
      EXPECT_THAT(made.status().message(), HasSubstr(root_));
      EXPECT_THAT(Names(root_ + "/sweep/7"), IsEmpty()) << "failed at call " << at;
    }
  }
}

TEST_F(DurableFolderTest, WhatIsCopiedIsSafeBeforeTheFolderHasItsName) {
  fs::create_directories(root_ + "/model/deep");
  const std::string large(3 << 20, 'x');
  std::ofstream(root_ + "/model/weights") << large;
  std::ofstream(root_ + "/model/deep/state") << "s";
  watch = &watched_;
  const Result<std::string> made = MakeCopy(root_ + "/sweep", "checkpoint_000005");
  watch = nullptr;
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(Text(*made + "/data/model/weights"), large);
  EXPECT_EQ(Text(*made + "/data/model/deep/state"), "s");
  const std::vector<Call>& calls = watched_.calls;
  int rename_count = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].what != "rename") continue;
    ++rename_count;
    const Survivors before = AfterPowerLoss(calls, i);
    for (const char* const name : {"/data", "/data/model", "/data/model/weights",
                                   "/data/model/deep", "/data/model/deep/state"}) {
      EXPECT_TRUE(before.names.contains(calls[i].path + name)) << name;
    }
    for (const char* const file : {"/data/model/weights", "/data/model/deep/state"}) {
      EXPECT_TRUE(before.whole.contains(calls[i].path + file)) << file;
    }
  }
  EXPECT_EQ(rename_count, 1);
  EXPECT_TRUE(AfterPowerLoss(calls, calls.size()).names.contains(*made));
}

// One sync each would take a checkpoint of thousands of files half a minute.
TEST_F(DurableFolderTest, ManyFilesThatAreCopiedAreSyncedTogetherBeforeTheFolderHasItsName) {
  fs::create_directories(root_ + "/model/deep");
  std::set<std::string> files;
  for (int i = 0; i < 200; ++i) {
    const std::string name = (i % 2 == 0 ? "/" : "/deep/") + std::to_string(i);
    std::ofstream(root_ + "/model" + name) << i;
    files.insert("/data/model" + name);
  }
  watch = &watched_;
  const Result<std::string> made = MakeCopy(root_ + "/sweep", "checkpoint_000005");
  watch = nullptr;
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::vector<Call>& calls = watched_.calls;
  int sync_count = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    sync_count += calls[i].what == "fsync" ? 1 : 0;
    if (calls[i].what != "rename") continue;
    const Survivors before = AfterPowerLoss(calls, i);
    for (const std::string& file : files) {
      EXPECT_TRUE(before.names.contains(calls[i].path + file)) << file;
      EXPECT_TRUE(before.whole.contains(calls[i].path + file)) << file;
    }
  }
  EXPECT_LT(sync_count, 20);
  const auto at = std::find_if(calls.begin(), calls.end(),
                               [](const Call& call) { return call.what == "syncfs"; });
  ASSERT_NE(at, calls.end());
  const auto fail_at = static_cast<int>(at - calls.begin());
  fs::remove_all(root_ + "/sweep");
  watched_.calls.clear();
  watched_.fail_at = fail_at;
  watch = &watched_;
  const Result<std::string> failed = MakeCopy(root_ + "/sweep", "checkpoint_000005");
  watch = nullptr;
  EXPECT_EQ(failed.status().code(), StatusCode::kResourceExhausted)
      << "a write that failed is told";
}

TEST_F(DurableFolderTest, AFileIsReplacedAsAWholeAndNoFileOfAnotherNameWithIt) {
  const std::string path = root_ + "/report.html";
  ASSERT_TRUE(WriteFileSynced(path, "old").ok());
  ASSERT_TRUE(WriteFileSynced(path + ".part", "of a person").ok());
  watch = &watched_;
  const Status replaced = ReplaceFileSynced(path, "new");
  watch = nullptr;
  ASSERT_TRUE(replaced.ok()) << replaced.message();
  EXPECT_EQ(Text(path), "new");
  EXPECT_EQ(Text(path + ".part"), "of a person");
  EXPECT_THAT(Names(root_), ElementsAre("report.html", "report.html.part"));
  std::vector<std::string> calls;
  for (const Call& call : watched_.calls) calls.push_back(call.what + " " + call.path);
  EXPECT_THAT(calls, ElementsAre("write " + path + ".part-2", "fsync " + path + ".part-2",
                                 "rename " + path + ".part-2", "fsync " + root_));

  for (int fail_at = 0; fail_at < 3; ++fail_at) {
    watched_.calls.clear();
    watched_.fail_at = fail_at;
    watch = &watched_;
    const Status failed = ReplaceFileSynced(path, "newer");
    watch = nullptr;
    EXPECT_FALSE(failed.ok()) << fail_at;
    EXPECT_EQ(Text(path), "new") << fail_at;
    EXPECT_THAT(Names(root_), ElementsAre("report.html", "report.html.part")) << fail_at;
  }
}

TEST_F(DurableFolderTest, CopiesHolesAsHoles) {
  constexpr off_t kBytes = 64 << 20;
  const std::string from = root_ + "/sparse";
  std::ofstream(from) << "begin";
  ASSERT_EQ(truncate(from.c_str(), kBytes), 0);
  std::fstream(from, std::ios::in | std::ios::out | std::ios::binary).seekp(kBytes / 2) << "middle";
  const Status copied = CopyFile(from, root_ + "/copy", /*is_synced=*/true);
  ASSERT_TRUE(copied.ok()) << copied.message();
  struct stat info = {};
  ASSERT_EQ(stat((root_ + "/copy").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, kBytes);
  EXPECT_LT(info.st_blocks * 512, kBytes / 8);
  EXPECT_EQ(Text(root_ + "/copy"), Text(from));
}

TEST_F(DurableFolderTest, ACopyThatFindsNoRoomLeavesNothingBehind) {
  fs::create_directories(root_ + "/model/deep");
  std::ofstream(root_ + "/model/weights") << "weights";
  std::ofstream(root_ + "/model/deep/state") << "s";
  watch = &watched_;
  ASSERT_TRUE(MakeCopy(root_ + "/sweep", "checkpoint_000001").ok());
  const int call_count = static_cast<int>(watched_.calls.size());
  ASSERT_GT(call_count, 12);
  for (int at = 0; at < call_count; ++at) {
    watch = nullptr;
    fs::remove_all(root_ + "/sweep");
    watched_.calls.clear();
    watched_.fail_at = at;
    watch = &watched_;
    const Result<std::string> made = MakeCopy(root_ + "/sweep", "checkpoint_000001");
    watch = nullptr;
    ASSERT_FALSE(made.ok()) << at;
    EXPECT_EQ(made.status().code(), StatusCode::kResourceExhausted) << made.status().message();
    EXPECT_THAT(Names(root_ + "/sweep"), IsEmpty()) << "failed at call " << at;
  }
}

// Between file systems of different kinds, and where the kernel is too old for it.
TEST_F(DurableFolderTest, CopiesThroughMemoryWhereTheFileSystemCannot) {
  std::ofstream(root_ + "/model") << std::string(3 << 20, 'x');
  watched_.fail_at = 0;
  watched_.error = EXDEV;
  watch = &watched_;
  const Status copied = CopyFile(root_ + "/model", root_ + "/copy", /*is_synced=*/true);
  watch = nullptr;
  EXPECT_TRUE(copied.ok()) << copied.message();
  EXPECT_EQ(Text(root_ + "/copy"), Text(root_ + "/model"));
}

TEST_F(DurableFolderTest, CopiesOverWhatWasThereWhateverItsLength) {
  for (const char* const text : {"longer than what follows", "short", ""}) {
    std::ofstream(root_ + "/model") << text;
    ASSERT_TRUE(CopyFile(root_ + "/model", root_ + "/copy", /*is_synced=*/true).ok());
    EXPECT_EQ(Text(root_ + "/copy"), text);
  }
  EXPECT_FALSE(CopyFile(root_ + "/nothing", root_ + "/copy", /*is_synced=*/true).ok());
}

TEST_F(DurableFolderTest, ACopyOfAProgramMayBeRunAndThatOfOtherFilesMayNot) {
  const auto is_program = [](const std::string& path) {
    return (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
  };
  std::ofstream(root_ + "/model") << "#!/bin/sh\n";
  ASSERT_TRUE(CopyFile(root_ + "/model", root_ + "/plain", /*is_synced=*/true).ok());
  fs::permissions(root_ + "/model", fs::perms::owner_exec, fs::perm_options::add);
  ASSERT_TRUE(CopyFile(root_ + "/model", root_ + "/program", /*is_synced=*/true).ok());
  EXPECT_FALSE(is_program(root_ + "/plain"));
  EXPECT_TRUE(is_program(root_ + "/program"));
}

TEST_F(DurableFolderTest, TwoOfOneNameStandSideBySide) {
  const Result<std::string> first = Make(root_, "checkpoint_000005");
  const Result<std::string> second = Make(root_, "checkpoint_000005");
  const Result<std::string> third = Make(root_, "checkpoint_000005");
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_THAT(Names(root_),
              ElementsAre("checkpoint_000005", "checkpoint_000005-2", "checkpoint_000005-3"));
  EXPECT_EQ(*third, root_ + "/checkpoint_000005-3");
}

TEST_F(DurableFolderTest, OneThatIsBeingWrittenIsLeftAloneAndOneOfTheDeadIsNot) {
  {
    Result<DurableFolder> living = DurableFolder::Begin(root_, "checkpoint_000005");
    ASSERT_TRUE(living.ok());
    ASSERT_TRUE(living->Write("a", "first").ok());
    fs::create_directory(root_ + "/checkpoint_000004.tmp");
    std::ofstream(root_ + "/checkpoint_000004.tmp/a") << "half";
    RemoveAbandonedFolders(root_);
    EXPECT_THAT(Names(root_), ElementsAre("checkpoint_000005.tmp"));

    // Another writer of the same name takes another folder.
    ASSERT_TRUE(Make(root_, "checkpoint_000005").ok());
    const Result<std::string> committed = living->Commit();
    ASSERT_TRUE(committed.ok()) << committed.status().message();
    EXPECT_EQ(Text(*committed + "/a"), "first");
    EXPECT_THAT(Names(root_), ElementsAre("checkpoint_000005", "checkpoint_000005-2"));
  }
  Result<DurableFolder> given_up = DurableFolder::Begin(root_, "checkpoint_000006");
  ASSERT_TRUE(given_up.ok());
  { const DurableFolder gone = *std::move(given_up); }
  EXPECT_THAT(Names(root_), ElementsAre("checkpoint_000005", "checkpoint_000005-2"));
}

// The writer is killed in the middle; its folder is taken over.
TEST_F(DurableFolderTest, TakesOverWhatAKilledProcessLeft) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    Result<DurableFolder> folder = DurableFolder::Begin(root_, "checkpoint_000005");
    const bool is_written = folder.ok() && folder->Write("a", "half").ok();
    TUNE_CHECK(is_written && write(ready[1], "x", 1) == 1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  RemoveAbandonedFolders(root_);
  EXPECT_THAT(Names(root_), ElementsAre("checkpoint_000005.tmp")) << "its writer lives";
  kill(pid, SIGKILL);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);

  const Result<std::string> made = Make(root_, "checkpoint_000005");
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(Names(root_), ElementsAre("checkpoint_000005"));
  EXPECT_EQ(Text(*made + "/a"), "first");
  close(ready[0]);
  close(ready[1]);
}

TEST_F(DurableFolderTest, SaysWhatIsInTheWay) {
  std::ofstream(root_ + "/file") << "x";
  const Result<std::string> made = Make(root_ + "/file", "checkpoint_000001");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), HasSubstr("cannot create " + root_ + "/file"));
}

}  // namespace
}  // namespace tune
