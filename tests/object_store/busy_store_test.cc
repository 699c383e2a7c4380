// Sweeps whose object store is Swift: it knows no conditional writes, and answers 503 where its
// disk is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;

class BusyStore : public BucketSweep {
 protected:
  // From now on what would read or write an object is answered with 503.
  static void KillObjects() { kill(std::atoi(std::getenv("TUNE_RGW_OSD")), SIGKILL); }
  static void StartObjects() {
    FILE* const pipe = popen(std::getenv("TUNE_SWIFT_START_OBJECTS"), "r");
    ASSERT_NE(pipe, nullptr);
    char pid[32] = {};
    ASSERT_NE(fgets(pid, sizeof pid, pipe), nullptr);
    ASSERT_EQ(pclose(pipe), 0);
    setenv("TUNE_RGW_OSD", std::to_string(std::atoi(pid)).c_str(), 1);
  }
};

TEST_F(BusyStore, OneThatAnswers503IsWaitedForAndNothingIsLost) {
  TestFolder folder;
  const std::string space = Space("0.2");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  AwaitReports(tune, folder, 4);
  KillObjects();
  ASSERT_TRUE(
      tune.WaitForText("checkpoints wait, trials go on up to their next one: cannot write"));
  StartObjects();
  ASSERT_TRUE(tune.WaitForText("checkpoints are kept again"));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts group by 1"),
            std::vector<std::string>{"completed|3"});
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(BusyStore, ACommandSaysWhatTheStoreAnsweredAndNothingIsHalfDone) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  KillObjects();
  const ProgramResult away = RunTune(folder, {"best", "--export", "best"});
  EXPECT_EQ(away.exit_status, 1);
  EXPECT_THAT(away.err, HasSubstr("ServiceUnavailable (Please reduce your request rate.)"));
  StartObjects();
  EXPECT_TRUE(Succeeded(RunTune(folder, {"best", "--export", "best"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
  EXPECT_EQ(Keys(), std::vector<std::string>());
}

TEST_F(BusyStore, OneWithoutConditionalWritesIsToldAtTheStart) {
  TestFolder folder;
  const ProgramResult ran = RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))});
  ASSERT_TRUE(Succeeded(ran));
  EXPECT_THAT(ran.err, HasSubstr("takes no notice of If-None-Match"));
  ExpectStoreIsWhatRowsSay(folder);
  // One that is there is noticed all the same.
  TestFolder other;
  const ProgramResult again = RunTune(other, {"run", other.Write("space.yaml", Space("0"))});
  EXPECT_EQ(again.exit_status, 2);
  EXPECT_THAT(again.err, HasSubstr("belongs to another sweep"));
}

}  // namespace
}  // namespace tune::testing
