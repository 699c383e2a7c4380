// Sweeps whose object store is away, hangs or loses what it had, for a while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/join_line.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreAway : public BucketSweep {
 protected:
  // Nobody listens there any more; Start makes it whole again.
  static void KillGateway() {
    kill(Stopped::Gateway(), SIGKILL);
    // A zombie's port is free.
    while (kill(Stopped::Gateway(), 0) == 0 && Answers()) {
    }
  }
  static bool Answers() {
    const std::string command = "curl -s -o /dev/null --max-time 5 " +
                                std::string(std::getenv("AWS_ENDPOINT_URL_S3")) + "/";
    return std::system(command.c_str()) == 0;
  }
  static void StartGateway() { StartAgain("TUNE_RGW_START", "TUNE_RGW_GATEWAY"); }
  void TearDown() override {
    if (!Answers()) StartGateway();
  }
};

TEST_F(StoreAway, TrialsWaitForItAndNothingIsLost) {
  ExpectItIsWaitedFor(KillGateway, StartGateway);
}

TEST_F(StoreAway, CtrlCDoesNotWaitForIt) {
  TestFolder folder;
  const std::string space = Space("0.03");
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    AwaitReports(tune, folder, 4);
    KillGateway();
    ASSERT_TRUE(tune.WaitForText("checkpoints wait"));
    tune.Signal(SIGINT);
    const ProgramResult result = tune.Wait();
    EXPECT_EQ(result.exit_status, 130) << result.err;
    EXPECT_THAT(result.out, HasSubstr("tune resume space"));
  }
  // Without the store it cannot go on, and says so.
  const ProgramResult away = RunTune(folder, {"resume"});
  EXPECT_EQ(away.exit_status, 1) << away.err;
  EXPECT_THAT(away.err, HasSubstr("checkpoint.storage: cannot write"));
  StartGateway();
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(StoreAway, OneThatHangsIsWaitedForAsOneThatIsGone) {
  TestFolder folder;
  const std::string space = Space("0.03");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  AwaitReports(tune, folder, 4);
  {
    const Stopped gateway;
    tune.Signal(SIGINT);
    EXPECT_EQ(tune.Wait().exit_status, 130);
  }
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
}

TEST_F(StoreAway, AStoreThatHangsIsReported) {
  TestFolder folder;
  const std::string space = Space("0.03");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  AwaitReports(tune, folder, 4);
  {
    const Stopped gateway;
    ASSERT_TRUE(tune.WaitForText("checkpoints wait"));
  }
  ASSERT_TRUE(tune.WaitForText("checkpoints are kept again"));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(StoreAway, AStoreThatHangsIsToldOfTogetherWithTheWorkerThatWaits) {
  TestFolder folder;
  const std::string space = Space("0.03");
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", space), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  TestFolder away;
  Program worker(away, "tune", join.Worker({"--cpus", "1", "--name", "far", "--cache", "cache"}));
  WaitForReports(folder, 2);
  {
    const Stopped gateway;
    ASSERT_TRUE(tune.WaitForText("checkpoints of far wait, trials go on up to their next one"));
  }
  ASSERT_TRUE(tune.WaitForText("checkpoints of far are kept again"));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
}

TEST_F(StoreAway, ACommandSaysWhatItWaitsForAndGivesAStoreUpThatHangs) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  const Stopped gateway;
  Program gc(folder, "tune", {"gc"});
  Program doctor(folder, "tune", {"doctor"});
  Program backup(folder, "tune", {"backup", "copy.db"});
  for (Program* const command : {&gc, &doctor, &backup}) {
    EXPECT_TRUE(command->WaitForText("waiting for the object store: cannot "));
  }
  for (Program* const command : {&gc, &backup}) EXPECT_EQ(command->Wait().exit_status, 1);
  const ProgramResult found = doctor.Wait();
  EXPECT_THAT(found.out, HasSubstr("look at it again later"));
}

// The last report of a trial waits for its checkpoint, so that all others are there then.
TEST_F(StoreAway, ReportsThatDoNotWaitGoOnWithoutIt) {
  TestFolder folder;
  const std::string space = Space("0.03", ", async: true");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  AwaitReports(tune, folder, 2);
  {
    const Stopped gateway;
    WaitForReports(folder, 8);
    const ProgramResult status = RunTune(folder, {"status"});
    EXPECT_THAT(status.out, HasSubstr("durable    trial 0 "));
    EXPECT_THAT(status.out, HasSubstr(" of 8\n"));
    ASSERT_TRUE(tune.WaitForText("checkpoints wait, trials go on: cannot write"));
  }
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts group by 1"),
            std::vector<std::string>{"completed|3"});
  EXPECT_EQ(
      Query(folder, "select count(*) from checkpoints where state = 'durable' and iteration = 9"),
      std::vector<std::string>{"3"});
  ExpectStoreIsWhatRowsSay(folder);
  const ProgramResult why = RunTune(folder, {"why", "0"});
  EXPECT_THAT(why.out, HasSubstr("durable        the checkpoints of iterations 9, of 9 reported"));
}

TEST_F(StoreAway, ATrialRepeatsWhatNoDurableCheckpointHasAndNothingIsDecidedAnew) {
  TestFolder folder;
  const std::string space = Space("0.03", ", async: true");
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    AwaitReports(tune, folder, 2);
    const Stopped gateway;
    WaitForReports(folder, 8);
    kill(tune.pid(), SIGKILL);
    tune.Wait();
  }
  const std::vector<std::string> decided =
      Query(folder, "select count(*) from reports where attempt = 1");
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  EXPECT_EQ(Query(folder, "select count(*) from reports where attempt = 1 and trial = 1"), decided);
  EXPECT_EQ(Query(folder,
                  "select count(*) > 0 from reports as a join reports as b using (trial, iteration)"
                  " where a.attempt = 1 and b.attempt = 2 and a.value = b.value"),
            std::vector<std::string>{"1"});
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(StoreAway, ATrialWhoseCheckpointItLostGoesOnFromAnEarlierOne) {
  TestFolder folder;
  const std::string space = Space("0.03", ", keep: 2");
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    AwaitReports(tune, folder, 4);
    kill(tune.pid(), SIGKILL);
    tune.Wait();
  }
  const std::vector<std::string> latest =
      Query(folder,
            "select path from checkpoints where state = 'durable' order by iteration desc limit 1");
  ASSERT_EQ(latest.size(), 1u);
  const std::string key = latest[0].substr(("s3://" + bucket_ + "/").size());
  ASSERT_TRUE(RemoveCheckpoint(*client_, key, {}).ok());
  LoseArtifacts(folder);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(Query(folder, "select path from checkpoints where state = 'corrupt'"), latest);
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
}

}  // namespace
}  // namespace tune::testing
