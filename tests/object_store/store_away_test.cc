// Sweeps whose object store is away, hangs or loses what it had, for a while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
  static void StartGateway() {
    FILE* const pipe = popen(std::getenv("TUNE_RGW_START"), "r");
    ASSERT_NE(pipe, nullptr);
    char pid[32] = {};
    ASSERT_NE(fgets(pid, sizeof pid, pipe), nullptr);
    ASSERT_EQ(pclose(pipe), 0);
    setenv("TUNE_RGW_GATEWAY", std::to_string(std::atoi(pid)).c_str(), 1);
  }
  void TearDown() override {
    if (!Answers()) StartGateway();
  }
};

TEST_F(StoreAway, TrialsWaitForItAndNothingIsLost) {
  TestFolder folder;
  const std::string space = Space("0.2");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  AwaitReports(tune, folder, 4);
  KillGateway();
  ASSERT_TRUE(
      tune.WaitForText("checkpoints wait, trials go on up to their next one: cannot write"));
  StartGateway();
  ASSERT_TRUE(tune.WaitForText("checkpoints are kept again"));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts group by 1"),
            std::vector<std::string>{"completed|3"});
  ExpectStoreIsWhatRowsSay(folder);
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
