// Several processes at one database: a second tuner, the writer's lock, readers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/posix/host_name.h"
#include "core/posix/process_end.h"
#include "tests/tuner/child_process.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/watched_syncs.h"
#include "tuner/sqlite/database_file.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Store, ASecondTunerIsRefusedAndToldWhoHoldsTheDatabase) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  auto store = OpenStore(path);
  const Status status = OpenError(path, Access::kCreate);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr("pid " + std::to_string(getpid())),
                                      HasSubstr("since 2026-11-21T09:30:00.125Z")));
  WriteSampleSweep(*store, "food11");
  ASSERT_TRUE(FindLockHolder(path).has_value());
  EXPECT_EQ(FindLockHolder(path)->experiment, "food11");
  EXPECT_EQ(FindLockHolder(path)->pid, getpid());
  store.reset();
  EXPECT_FALSE(FindLockHolder(path).has_value());
  EXPECT_TRUE(OpenError(path, Access::kCreate).ok());
}

// Containers with the host's network have its name, and process numbers of their own.
TEST(Store, AHolderInAnotherContainerOfTheSameNameIsFoundAlthoughItsPidIsNotThere) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const Result<WriterLock> lock = AcquireWriterLock(path, kSampleStart);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  const auto say = [&](const std::string& numbers) {
    WriteText(path + ".lock", R"({"pid":2000000000,"host":")" + HostName() +
                                  R"(","since_us":1,"experiment":"food11","numbers":")" + numbers +
                                  "\"}\n");
  };
  say("pid:[1]");
  const auto holder = FindLockHolder(path);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->experiment, "food11");
  EXPECT_FALSE(IsSeenHere(*holder));
  say(ProcessNumbers());
  EXPECT_FALSE(FindLockHolder(path).has_value()) << "it has ended";
}

TEST(Store, RefusesToWriteToADatabaseWithASecondName) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "food11");
  ASSERT_EQ(link(path.c_str(), (folder / "other.db").c_str()), 0);
  for (const std::string& name : {path, folder / "other.db"}) {
    for (const Access access : {Access::kWrite, Access::kCreate}) {
      const Status status = OpenError(name, access);
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(status.message(), AllOf(HasSubstr(name), HasSubstr("2 names (hard links)")));
    }
    EXPECT_TRUE(OpenError(name, Access::kRead).ok());
  }
  EXPECT_THAT(folder.List(), ElementsAre("other.db", "tune.db"));
  ASSERT_EQ(unlink((folder / "other.db").c_str()), 0);
  EXPECT_TRUE(OpenError(path, Access::kWrite).ok());
}

TEST(WriterLock, OfAKilledTunerIsWaitedFor) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  int taken[2], end[2];
  ASSERT_EQ(pipe(taken), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = AcquireWriterLock(path, kSampleStart);
    if (fork() == 0) {  // Keeps the lock as the kernel does that takes a process down.
      (void)!write(taken[1], "x", 1);
      char byte;
      (void)close(end[1]);
      (void)!read(end[0], &byte, 1);
      _exit(0);
    }
    raise(SIGKILL);
  }
  char byte;
  ASSERT_EQ(read(taken[0], &byte, 1), 1);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(FindLockHolder(path).has_value());
  std::thread ends([&] { (void)close(end[1]); });
  const auto lock = AcquireWriterLock(path, kSampleStart);
  ends.join();
  EXPECT_TRUE(lock.ok()) << lock.status().message();
  for (const int fd : {taken[0], taken[1], end[0]}) (void)close(fd);
}

// Such as tune note. Who has said that it works on a sweep stays.
TEST(WriterLock, WhoIsThereForAMomentIsWaitedFor) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  std::optional<WriterLock> brief = *AcquireWriterLock(path, kSampleStart);
  std::thread ends([&] { brief.reset(); });
  auto lock = AcquireWriterLock(path, kSampleStart);
  ends.join();
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  ASSERT_TRUE(lock->Announce("food11").ok());
  EXPECT_EQ(AcquireWriterLock(path, kSampleStart).status().code(), StatusCode::kUnavailable);
}

TEST(WriterLock, OfADeadTunerIsFree) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = AcquireWriterLock(path, kSampleStart);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(folder.List(), ElementsAre("tune.db.lock"));  // It is still there ...
  EXPECT_FALSE(FindLockHolder(path).has_value());           // ... and means nothing.
  {
    const auto lock = AcquireWriterLock(path, kSampleStart);
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    EXPECT_EQ(FindLockHolder(path)->pid, getpid());
  }
  EXPECT_THAT(folder.List(), IsEmpty());
}

// Else a loss of power leaves a lock that names a step of a sweep that is gone, and everybody who
// opens the database takes it for one that was cut. On disk the lock may still name a sweep that it
// does not name any more in memory.
TEST(WriterLock, TakesItsWitnessBackDurablyBeforeAnySweepIsDeleted) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const std::string folder_name = std::filesystem::path(folder.path()).filename().string();
  const auto store = OpenStore(path);
  const StoredExperiment earlier = WriteSampleSweep(*store, "earlier");
  const StoredExperiment later = WriteSampleSweep(*store, "later");
  {
    const WatchedSyncs syncs;
    ASSERT_TRUE(store->DeleteExperiment(earlier).ok());
    EXPECT_THAT(syncs.names(), ElementsAre("tune.db.lock", folder_name, "tune.db-wal"));
  }
  const std::optional<JournalEnd> committed = FindCommitted(path);
  ASSERT_TRUE(committed.has_value());  // It holds as before.
  EXPECT_EQ(committed->experiment, later.id.value);
  {
    const WatchedSyncs syncs;
    ASSERT_TRUE(store->DeleteExperiment(later).ok());
    EXPECT_THAT(syncs.names(), ElementsAre("tune.db.lock", folder_name, "tune.db-wal"));
  }
  EXPECT_FALSE(FindCommitted(path).has_value());
}

TEST(WriterLock, OnlyOneOfManyGetsIt) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  // Each child takes and gives back the lock many times; two at once would see the other's mark.
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (int got = 0; got < 200;) {
      const auto lock = AcquireWriterLock(path, kSampleStart);
      if (!lock.ok()) continue;
      const int mark = open((path + ".mark").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
      if (mark < 0) _exit(1);
      close(mark);
      unlink((path + ".mark").c_str());
      ++got;
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Reader, SeesTheLastCommitWhileAWriterIsInATransaction) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  WriteSampleSweep(*store, "s");
  const auto writer = Database::Open(path, Access::kWrite);
  ASSERT_TRUE(writer.ok());
  auto transaction = Transaction::Begin(**writer);
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE((*writer)->Run("UPDATE experiment_rows SET name = ?1", "changed").ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("changed"));
}

TEST(Reader, DoesNotKeepTheWriterWaiting) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  const auto reader = Database::Open(path, Access::kRead);
  auto query = (*reader)->PrepareQuery("SELECT number FROM trials");
  ASSERT_TRUE(*query->Step());  // In the middle of reading.
  EXPECT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, OneReport(5)).ok());
  EXPECT_TRUE(*query->Step());
}

// POSIX drops a process's locks on a file when it closes any descriptor of that file.
TEST(Store, KeepsItsLocksWhenItsFilesAreAskedWhetherTheyAreADatabase) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  WriteSampleSweep(*store, "s");
  const int shared_memory = open((path + "-shm").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(shared_memory, 0);
  const auto is_locked = [shared_memory] {
    struct flock question = {};
    question.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(shared_memory, F_OFD_GETLK, &question), 0);
    return question.l_type != F_UNLCK;
  };
  ASSERT_TRUE(is_locked());
  EXPECT_TRUE(IsTuneDatabase(path));
  for (const char* const ending : {"-wal", "-shm", "-journal", ".lock"}) {
    EXPECT_FALSE(IsTuneDatabase(path + ending)) << ending;
  }
  EXPECT_TRUE(is_locked());
  close(shared_memory);
}

TEST(Reader, LeavesNothingBesideADatabaseAtRest) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const std::string before = ReadText(path);
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
  EXPECT_EQ(ReadText(path), before);
}

TEST(Reader, ReadsAFileAndAFolderThatMayNotBeWritten) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  chmod(path.c_str(), 0444);
  chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              return Query(path, "SELECT name FROM experiments").at(0);
            }),
            "s");
  chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
}

TEST(Reader, MayNotWrite) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const auto reader = Database::Open(path, Access::kRead);
  EXPECT_FALSE((*reader)->Run("DELETE FROM experiment_rows").ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
}

}  // namespace
}  // namespace tune
