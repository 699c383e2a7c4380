// Sweeps whose object store is Swift: it knows no conditional writes, and answers 503 where its
// disk is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  static void StartObjects() { StartAgain("TUNE_SWIFT_START_OBJECTS", "TUNE_RGW_OSD"); }
};

TEST_F(BusyStore, OneThatAnswers503IsWaitedForAndNothingIsLost) {
  ExpectItIsWaitedFor(KillObjects, StartObjects);
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
