// tune cluster with real heads and workers, and a script in the place of a cloud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "core/json.h"
#include "tests/e2e/cluster_files.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A head in the background is ended with its workers, whatever became of the test.
class ClusterTest : public ::testing::Test {
 protected:
  ~ClusterTest() override {
    for (const char* const trouble : {"fail", "refuse", "late", "hang", "silent", "lie"}) {
      std::filesystem::remove(folder_ / trouble);
    }
    Tune({"cluster", "down", "cluster.yaml", "--now", "--wait", "60s"});
    EndHead(folder_);
  }

  ProgramResult Tune(const std::vector<std::string>& arguments) const {
    return RunTune(folder_, arguments);
  }
  Value State() const {
    const ProgramResult status = Tune({"cluster", "status", "cluster.yaml", "--format", "json"});
    const Result<Value> state = ParseJson(status.out);
    return state.ok() ? *state : Value::MakeMap();
  }
  // Until the first pool's `key` is `count`.
  void WaitForPool(const std::string& key, int64_t count) const {
    for (;;) {
      const Value state = State();
      const Value* const pools = state.Find("pools");
      if (pools != nullptr && *pools->AsList().front().Find(key) == Value(count)) return;
    }
  }

  // Names of machines, in the order of these calls.
  std::vector<std::string> Called(const std::string& wanted) const {
    std::vector<std::string> names;
    std::istringstream calls(folder_.Read("calls"));
    for (std::string verb, name; calls >> verb >> name;) {
      if (verb == wanted) names.push_back(name);
    }
    return names;
  }
  std::vector<std::string> Created() const { return Called("create"); }

  TestFolder folder_;
  Cloud cloud_{folder_};
};

TEST_F(ClusterTest, WorkersComeForWorkAndGoWhenThereIsNoneAndDownLeavesNothing) {
  cloud_.WriteFile("    max: 3\n    idle: 1s\n");
  const ProgramResult up = Tune({"cluster", "up"});
  ASSERT_EQ(up.exit_status, 0) << up.err;
  EXPECT_THAT(up.out, HasSubstr("the cluster test is up"));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 3\n    seconds: 0.05\n", "samples: 12\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Query(folder_, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"12"});
  WaitForPool("joined", 0);
  WaitForPool("draining", 0);
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  EXPECT_THAT(folder_.Read("calls"), HasSubstr("create tune-test-"));
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_THAT(down.out, HasSubstr("is down: the engines have nothing left of it"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tune.db.lock"));
  const ProgramResult again = Tune({"cluster", "down"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
}

TEST_F(ClusterTest, RunBringsAClusterUpAndDownAgainAndLeavesOneThatWasUp) {
  cloud_.WriteFile("    max: 2\n");
  folder_.Write("space.yaml", CurveSweep("    iterations: 3\n", "samples: 4\n"));
  const ProgramResult run = Tune({"run", "space.yaml", "--cluster", "cluster.yaml", "--name", "a"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the cluster test is down"));
  EXPECT_EQ(Query(folder_, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"4"});
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tune.db.lock"));
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  const ProgramResult again =
      Tune({"run", "space.yaml", "--cluster", "cluster.yaml", "--name", "b"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_TRUE(Succeeded(Tune({"cluster", "status"})));
}

TEST_F(ClusterTest, InterruptedRunTakesItsClusterDownAndItsSweepGoesOnWithTheNext) {
  cloud_.WriteFile("    max: 2\n");
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 100000\n    seconds: 0.05\n    checkpoint_bytes: 100\n",
                           "samples: 1\ncheckpoint: {every: 1}\n"));
  Program run(folder_, "tune", {"run", "space.yaml", "--cluster", "cluster.yaml"});
  ASSERT_TRUE(run.WaitForText("the head runs"));
  WaitForReports(folder_, 3);
  run.Signal(SIGINT);
  const ProgramResult ended = run.Wait();
  EXPECT_EQ(ended.exit_status, 130) << ended.err;
  EXPECT_THAT(ended.err,
              HasSubstr("is interrupted; it goes on with: tune cluster up cluster.yaml"));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  WaitForRows(folder_, "select from_iteration >= 3 from attempts where outcome = 'running'", {"1"});
}

TEST_F(ClusterTest, ClusterOfTwoRunsStaysUpUntilBothSweepsAreOver) {
  cloud_.WriteFile("    max: 2\n");
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 100000\n    seconds: 0.05\n", "samples: 1\n"));
  const auto run = [this](const std::string& name) {
    return std::vector<std::string>{"run",          "space.yaml", "--cluster",
                                    "cluster.yaml", "--name",     name};
  };
  Program a(folder_, "tune", run("a"));
  ASSERT_TRUE(a.WaitForText("attached to a"));
  Program b(folder_, "tune", run("b"));
  ASSERT_TRUE(b.WaitForText("attached to b"));
  ASSERT_TRUE(Succeeded(Tune({"stop", "a", "--now"})));
  EXPECT_THAT(a.Wait().err, HasSubstr("the sweep b is not over"));
  EXPECT_TRUE(Succeeded(Tune({"cluster", "status"})));
  ASSERT_TRUE(Succeeded(Tune({"stop", "b", "--now"})));
  EXPECT_THAT(b.Wait().err, HasSubstr("the cluster test is down"));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tune.db.lock"));
}

TEST_F(ClusterTest, UpWaitsForTheMinimumAndShowsEachRequest) {
  cloud_.WriteFile("    min: 2\n    max: 3\n");
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 0) << up.err;
  EXPECT_THAT(up.err, HasSubstr("-vm-1  joined"));
  EXPECT_THAT(up.err, HasSubstr("-vm-2  joined"));
  EXPECT_THAT(cloud_.Machines(), SizeIs(2));
  const ProgramResult status = Tune({"cluster", "status"});
  EXPECT_EQ(status.exit_status, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("cluster test"));
  const ProgramResult again = Tune({"cluster", "up"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("the head runs"));
  EXPECT_THAT(cloud_.Machines(), SizeIs(2));
}

TEST_F(ClusterTest, MachineThatCannotBeMadeIsSaidWithTheEnginesWordsAndTriedAgainLater) {
  folder_.Write("refuse", "the quota of 0 machines is reached\n");
  cloud_.WriteFile("    min: 1\n");
  EXPECT_TRUE(
      Says(folder_, {"cluster", "up"}, {"-vm-1  failed: up: the quota of 0 machines is reached"}));
  // It rests for ten seconds.
  EXPECT_THAT(Created(), SizeIs(1));
  std::filesystem::remove(folder_ / "refuse");
  const ProgramResult again = Tune({"cluster", "up"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("-vm-2  joined"));
}

TEST_F(ClusterTest, WorkerThatNeverJoinsIsGivenUpAndSaid) {
  folder_.Write("stillborn", "");
  cloud_.WriteFile("    min: 1\n    max: 1\n    join_timeout: 1s\n");
  EXPECT_TRUE(Says(folder_, {"cluster", "up"},
                   {"its machine runs, and its worker has not joined within 1.0 s"}));
}

TEST_F(ClusterTest, HeadThatIsKilledFindsItsWorkersAgainAndStartsNoneTwice) {
  cloud_.WriteFile("    min: 2\n    max: 2\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 40\n    seconds: 0.05\n", "samples: 2\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForReports(folder_, 3);
  const std::vector<std::string> before = cloud_.Machines();
  KillHead(folder_);
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 0) << up.err;
  EXPECT_EQ(cloud_.Machines(), before);
  EXPECT_THAT(Created(), SizeIs(2));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  // Their workers went on meanwhile.
  EXPECT_EQ(Query(folder_, "select count(*) from attempts"), std::vector<std::string>{"2"});
}

// Their workers come back one after the other, and there is more to do than all of them can.
TEST_F(ClusterTest, HeadThatIsKilledAsksForNoMoreThanItsMaximum) {
  cloud_.WriteFile("    max: 2\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 100000\n    seconds: 0.05\n", "samples: 20\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForPool("joined", 2);
  WaitForReports(folder_, 4);
  for (int i = 0; i < 3; ++i) {
    KillHead(folder_);
    ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
    WaitForPool("joined", 2);
  }
  EXPECT_THAT(Created(), SizeIs(2));
  EXPECT_THAT(cloud_.Machines(), SizeIs(2));
}

TEST_F(ClusterTest, HeadThatIsKilledWhileItAsksHasAsManyMachinesInTheEndAndAsksForNoneTwice) {
  cloud_.WriteFile("    min: 3\n    max: 3\n    join_timeout: 2s\n");
  for (int i = 0; i < 5; ++i) {
    Tune({"cluster", "up", "cluster.yaml", "--wait", "0s"});
    KillHead(folder_);
  }
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 0) << up.err;
  EXPECT_THAT(cloud_.Machines(), SizeIs(3));
  const std::vector<std::string> created = Created();
  EXPECT_EQ(std::set<std::string>(created.begin(), created.end()).size(), created.size());
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
}

TEST_F(ClusterTest, DownGivesBackWhatAKilledHeadHasLeft) {
  cloud_.WriteFile("    min: 2\n    max: 2\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  KillHead(folder_);
  ProgramResult status = Tune({"cluster", "status"});
  EXPECT_EQ(status.exit_status, 1);
  EXPECT_THAT(status.err, HasSubstr("tune cluster down gives back what it has left"));
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
}

TEST_F(ClusterTest, FileThatWasEditedWhileNoHeadLivedLosesNoMachine) {
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  KillHead(folder_);
  std::string file = folder_.Read("cluster.yaml");
  for (const std::string verb : {"create", "delete", "list"}) {
    const std::string vm = "./vm, " + verb;
    file.replace(file.find(vm), vm.size(), "/bin/true, " + verb);  // Another project, as it were.
  }
  folder_.Write("cluster.yaml", file);
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 2);
  EXPECT_THAT(up.err, HasSubstr("pools.vm.command.up differs from what the cluster was up with, "
                                "and the pool vm has 1 worker, which would be lost"));
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_TRUE(Succeeded(down));
  EXPECT_THAT(down.err, HasSubstr("pools.vm.command.up has changed since the cluster came up"));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
}

TEST_F(ClusterTest, DownGivesBackAMachineThatAppearsAfterItsHeadWasKilled) {
  folder_.Write("late", "");
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  Tune({"cluster", "up", "cluster.yaml", "--wait", "0s"});
  while (Called("waits").empty()) {
  }
  KillHead(folder_);
  Program down(folder_, "tune", {"cluster", "down"});
  while (Called("deleted").empty()) {  // Else this one may give back the machine.
  }
  std::filesystem::remove(folder_ / "late");
  const ProgramResult ended = down.Wait();
  EXPECT_TRUE(Succeeded(ended));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
  EXPECT_THAT(Called("delete"), SizeIs(2)) << "before it appeared, and after: " << ended.err;
}

TEST_F(ClusterTest, UpThatHangsIsSaidAndCalledOffByDown) {
  folder_.Write("hang", "");
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  EXPECT_TRUE(Says(folder_, {"cluster", "up"},
                   {"-vm-1  asking: its engine has not answered for more than 5 s"}));
  // Whether the cloud makes a machine of it is waited for.
  EXPECT_TRUE(Succeeded(Tune({"cluster", "down"})));
  EXPECT_THAT(Called("delete"), SizeIs(1));
}

TEST_F(ClusterTest, ListThatEndsWithZeroAndPrintsAnErrorEmptiesNoCloud) {
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("lie", "ERROR: the token has expired\n");
  EXPECT_TRUE(Says(folder_, {"cluster", "down"}, {"list: read 'ERROR: the token has expired'"}));
  std::filesystem::remove(folder_ / "lie");
  EXPECT_TRUE(Succeeded(Tune({"cluster", "down"})));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
}

TEST_F(ClusterTest, ListThatHangsIsSaidByUpAndByStatus) {
  folder_.Write("silent", "");
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  EXPECT_TRUE(
      Says(folder_, {"cluster", "up"},
           {"pool vm  is asked what is there: its engine has not answered for more than 5 s"}));
  EXPECT_THAT(Tune({"cluster", "status"}).out, HasSubstr("has not answered for more than 5 s"));
}

TEST_F(ClusterTest, ClusterWithoutAnActionSaysWhichThereAre) {
  const ProgramResult said = Tune({"cluster"});
  EXPECT_EQ(said.exit_status, 2);
  EXPECT_THAT(said.err, HasSubstr("the action is missing; expected up, which starts the head and "
                                  "its pools, status, which shows them, or down"));
}

TEST_F(ClusterTest, SecondHeadForAClusterFileIsRefused) {
  cloud_.WriteFile("    max: 2\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  const ProgramResult other = Tune({"--db", folder_ / "other.db", "cluster", "up", "cluster.yaml"});
  EXPECT_EQ(other.exit_status, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("another head has this cluster"));
}

TEST_F(ClusterTest, TrialThatWaitsForAPoolIsNotGivenUp) {
  folder_.Write("fail", "the cloud is closed\n");
  cloud_.WriteFile("    max: 1\n");
  const ProgramResult up = Tune({"cluster", "up", "cluster.yaml", "--wait", "0s"});
  ASSERT_EQ(up.exit_status, 1) << up.err;
  EXPECT_THAT(up.err, HasSubstr("the pools did not get their minimum of workers within 0 ms"));
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 1\n", "samples: 1\nlimits: {unplaceable: 300ms}\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  while (State().Find("waiting")->AsList().empty()) {
  }
  EXPECT_THAT(Tune({"queue", "--format", "json"}).out, HasSubstr("the cloud is closed"));
  std::filesystem::remove(folder_ / "fail");
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Query(folder_, "select status from trials"), std::vector<std::string>{"TERMINATED"});
}

TEST_F(ClusterTest, ChangedNumbersOfALivingClusterAreAppliedAndOtherChangesAreRefused) {
  cloud_.WriteFile("    max: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  cloud_.WriteFile("    min: 2\n    max: 3\n");
  const ProgramResult more = Tune({"cluster", "up"});
  EXPECT_TRUE(Succeeded(more));
  EXPECT_THAT(more.err, HasSubstr("changed: pools.vm.min: 2 instead of 0\n"));
  EXPECT_THAT(more.err, HasSubstr("changed: pools.vm.max: 3 instead of 1\n"));
  EXPECT_THAT(cloud_.Machines(), SizeIs(2));
  cloud_.WriteFile("    min: 1\n    max: 3\n    spot: true\n");
  const ProgramResult other = Tune({"cluster", "up"});
  EXPECT_EQ(other.exit_status, 2);
  EXPECT_THAT(other.err, HasSubstr("cluster.yaml: differs from what the cluster is up with: "
                                   "pools.vm.spot; while it is up, min, max, idle and "
                                   "join_timeout of pools can change"));
  EXPECT_THAT(Tune({"cluster", "status", "cluster.yaml", "--format", "json"}).out,
              HasSubstr("\"min\":2,\"max\":3"));
}

TEST_F(ClusterTest, StatusAndDownDoWithoutAFileThatIsBrokenOrGone) {
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("cluster.yaml", "pools: {vm\n");
  const ProgramResult status = Tune({"cluster", "status"});
  EXPECT_TRUE(Succeeded(status));
  EXPECT_THAT(status.err, HasSubstr("goes on with the file as it was when the cluster test came "
                                    "up"));
  EXPECT_EQ(Tune({"cluster", "up"}).exit_status, 2);
  std::filesystem::remove(folder_ / "cluster.yaml");
  EXPECT_EQ(Tune({"cluster", "down", "other.yaml"}).exit_status, 2);
  KillHead(folder_);
  EXPECT_TRUE(Succeeded(Tune({"cluster", "down", "cluster.yaml"})));
  EXPECT_THAT(cloud_.Machines(), IsEmpty());
}

TEST_F(ClusterTest, SeveralThatBringItUpAtATimeFindTheHeadOfOneOfThem) {
  cloud_.WriteFile("    min: 1\n    max: 1\n");
  Program first(folder_, "tune", {"cluster", "up"});
  Program second(folder_, "tune", {"cluster", "up"});
  Program third(folder_, "tune", {"cluster", "up"});
  for (Program* const up : {&first, &second, &third}) {
    const ProgramResult result = up->Wait();
    EXPECT_TRUE(Succeeded(result));
    EXPECT_THAT(result.err, HasSubstr("the head runs (pid "));
    EXPECT_THAT(result.err, Not(HasSubstr("another head")));
  }
  EXPECT_THAT(cloud_.Machines(), SizeIs(1));
}

TEST_F(ClusterTest, MistakeInTheFileIsToldAndNothingIsStarted) {
  folder_.Write("cluster.yaml", "pools: {vm: {comand: {}}}\n");
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 2);
  EXPECT_THAT(up.err, HasSubstr("cluster.yaml:1:14: unknown key 'pools.vm.comand'; did you mean "
                                "'command'?"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tune.db"));
}

}  // namespace
}  // namespace tune::testing
