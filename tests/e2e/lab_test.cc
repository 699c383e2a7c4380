// The lab of docs/LAB.md on machines of their own: a head, two nodes with a GPU each, and a laptop
// that sees neither's disk, in network namespaces.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

// A script that knows nothing of tune.
constexpr char kTrain[] = R"(import os, sys
data = os.environ["FOOD11_DATA_DIR"]
print("training on", data, "with GPU", os.environ.get("CUDA_VISIBLE_DEVICES"))
for epoch in range(1, 4):
    print(f"Epoch {epoch}: val_accuracy {0.5 + epoch / 10:.2f}")
)";

// The same with reports and checkpoints; where there is a gate, a FIFO, its sixth epoch waits for
// somebody to open that.
constexpr char kTrainWithReports[] = R"(import json, os, pathlib
import tune
config = tune.config()
state = {"epoch": 0, "loss": 4.0 + config["dropout"]}
if tune.restored():
    state = json.loads(pathlib.Path(tune.restored()).read_text())
    print("goes on from epoch", state["epoch"])
for epoch in range(state["epoch"] + 1, config["epochs"] + 1):
    state = {"epoch": epoch, "loss": state["loss"] * 0.8}
    if epoch == 6 and "LAB_GATE" in os.environ:
        open(os.environ["LAB_GATE"]).close()
    pathlib.Path("state.json").write_text(json.dumps(state))
    tune.report(val_accuracy=1 / (1 + state["loss"]), checkpoint="state.json")
)";

constexpr char kSpace[] = R"(trainable:
  command: [python3, train_with_reports.py]
metric: val_accuracy
mode: max
seed: 11
space:
  epochs: 8
  dropout: {uniform: [0.1, 0.8]}
resources: {cpu: 2, gpu: 1}
)";

class Lab : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoNetwork(); !why.empty()) GTEST_SKIP() << why;
    rig_ = std::make_unique<NetworkRig>();
    setenv("XDG_CACHE_HOME", (laptop_ / "cache").c_str(), 1);
    laptop_.Write("train.py", kTrain);
    laptop_.Write("train_with_reports.py", kTrainWithReports);
    StartHead();
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  void StartHead() {
    const std::string host = rig_->tuner_host();
    head_ = std::make_unique<Program>(
        head_home_, "tune",
        Rows{"head", "--cpus", "0", "--lease", "5s", "--listen", host + ":0", "--http",
             host + ":" + std::to_string(FreePorts(1)[0])},
        rig_->tuner_network());
    ASSERT_TRUE(head_->WaitForLine([&](const std::string& line) {
      if (const JoinLine join = ParseJoinLine(line); !join.token.empty()) join_ = join;
      const size_t at = line.find(": https://");
      if (at != std::string::npos) address_ = line.substr(at + 2, line.find('\n') - at - 2);
      return at != std::string::npos;
    }));
    ASSERT_NE(join_.token, "");
  }
  std::unique_ptr<Program> StartNode(const std::string& name) {
    std::filesystem::create_directory(nodes_ / name);
    auto node = std::make_unique<Program>(
        nodes_, "tune",
        join_.Worker({"--name", name, "--cpus", "8", "--gpus", "1", "--cache", nodes_ / name}),
        rig_->worker_network(), head_home_.path());
    EXPECT_TRUE(node->WaitForText("joined"));
    return node;
  }
  // On the laptop.
  Rows There(const Rows& arguments) const {
    Rows all = {"--head", address_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  ProgramResult Ask(const Rows& arguments) const {
    return Program(laptop_, "tune", There(arguments), rig_->worker_network(), head_home_.path())
        .Wait();
  }

  std::unique_ptr<NetworkRig> rig_;
  TestFolder head_home_;
  TestFolder nodes_;
  TestFolder laptop_;
  std::string address_;
  JoinLine join_;
  std::unique_ptr<Program> head_;
};

TEST_F(Lab, AScriptThatKnowsNothingOfItRunsOnANode) {
  const auto node = StartNode("node1");
  const ProgramResult ran = Ask({"submit", "--cpus", "8", "--gpus", "1", "--env",
                                 "FOOD11_DATA_DIR=/mnt/Food-11", "--", "python3", "train.py"});
  EXPECT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("training on /mnt/Food-11"));
  EXPECT_THAT(ran.out, HasSubstr("Epoch 3: val_accuracy 0.80"));
  EXPECT_THAT(Ask({"jobs"}).out, HasSubstr("SUCCEEDED"));
}

TEST_F(Lab, TwoGpusWhereNoNodeHasTwoAreToldAndNotWaitedForInSilence) {
  const auto node1 = StartNode("node1");
  const auto node2 = StartNode("node2");
  EXPECT_EQ(Ask({"submit", "--no-wait", "--name", "big", "--cpus", "8", "--gpus", "2", "--",
                 "python3", "train.py"})
                .out,
            "big\n");
  EXPECT_THAT(Ask({"queue"}).out, HasSubstr("it needs cpu: 8, gpu: 2; node1 has 8 CPUs, 1 GPU"));
  EXPECT_THAT(Ask({"jobs", "--format", "csv"}).out, HasSubstr("waits_for_resources"));
  EXPECT_TRUE(Succeeded(Ask({"stop", "big"})));
  const ProgramResult given_up = Ask(
      {"submit", "--unplaceable", "1s", "--cpus", "8", "--gpus", "2", "--", "python3", "train.py"});
  EXPECT_EQ(given_up.exit_status, 3);
  EXPECT_THAT(given_up.err, HasSubstr("can_never_run"));
}

TEST_F(Lab, ThreeHalvesOfAGpuRunAtATimeOnTwoNodes) {
  const auto node1 = StartNode("node1");
  const auto node2 = StartNode("node2");
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_EQ(Ask({"submit", "--no-wait", "--name", name, "--cpus", "4", "--gpus", "0.5", "--",
                   "sleep", "1000"})
                  .out,
              name + "\n");
  }
  WaitForRows(head_home_, "select count(*) from trials where status = 'RUNNING'", {"3"});
  EXPECT_EQ(Query(head_home_,
                  "select max(n) from (select count(*) as n from attempts as a join workers as w"
                  " on w.id = a.worker group by w.name)"),
            Rows{"2"});
}

TEST_F(Lab, ATrialGoesOnFromItsCheckpointWhenItsNodeIsLost) {
  auto node1 = StartNode("node1");
  laptop_.Write("space.yaml", kSpace);
  const std::string gate = nodes_ / "gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  EXPECT_EQ(
      Ask({"submit", "space.yaml", "--name", "one", "--set", "trainable.env.LAB_GATE=" + gate}).out,
      "one\n");
  WaitForRows(head_home_, "select max(iteration) from reports", {"5"});
  const auto node2 = StartNode("node2");
  // The machine is gone, with its disk.
  node1->Signal(SIGKILL);
  node1->Wait();
  std::filesystem::remove_all(nodes_ / "node1");
  // From now on whoever opens it for reading does not wait.
  const FileDescriptor opened(open(gate.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(opened.is_open());
  EXPECT_TRUE(Succeeded(Ask({"attach", "one"})));
  EXPECT_EQ(Query(head_home_, "select status, iterations from trials"), Rows{"TERMINATED|8"});
  EXPECT_EQ(Query(head_home_,
                  "select a.number, a.from_iteration, w.name from attempts as a"
                  " join workers as w on w.id = a.worker order by a.number"),
            (Rows{"1|0|node1", "2|5|node2"}));
  EXPECT_EQ(Query(head_home_, "select count(*), count(distinct iteration) from reports"),
            Rows{"8|8"});
  EXPECT_THAT(Ask({"logs", "one/0"}).out, HasSubstr("goes on from epoch 5"));
}

TEST_F(Lab, TheSweepStopsPoorTrialsAndItsBestModelComesToTheLaptop) {
  const auto node1 = StartNode("node1");
  const auto node2 = StartNode("node2");
  laptop_.Write("space.yaml",
                std::string(kSpace) +
                    "scheduler: {asha: {max_t: 8, grace_period: 1, reduction_factor: 2}}\n");
  const ProgramResult ran = Ask({"run", "space.yaml", "--samples", "16"});
  EXPECT_TRUE(Succeeded(ran));
  EXPECT_THAT(ran.out, HasSubstr("space FINISHED: 16 trials"));
  EXPECT_EQ(Query(head_home_, "select count(*) > 0 from trials where stop_reason = 'scheduler'"),
            Rows{"1"});
  EXPECT_TRUE(Succeeded(Ask({"best", "space", "--export", "model"})));
  EXPECT_THAT(laptop_.Read("model/config.json"), HasSubstr("dropout"));
}

}  // namespace
}  // namespace tune::testing
