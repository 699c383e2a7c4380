// Sweeps that train on a card: the real programs, with a device in CUDA's place
// (tests/standin_cuda) and a library in NVML's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/e2e/other_trial_program.h"
#include "tests/standin_nvml/standin_machine.h"

namespace tune::testing {
namespace {

using ::testing::ContainsRegex;
using Rows = std::vector<std::string>;

constexpr int64_t kMiB = int64_t{1} << 20;

constexpr char kLoss[] = "json_extract(r.metrics, '$.val_loss')";
constexpr char kAllButTimes[] =
    "r.iteration, json_remove(r.metrics, '$.epoch_seconds', '$.images_per_second')";

class CardTraining : public ::testing::Test {
 protected:
  void HaveCard(int64_t bytes) { machine_.Device("GPU-1b2c", bytes, 0, "NVIDIA H100"); }

  std::string Space(const std::string& gpu, const std::string& more) const {
    return folder_.Write("space.yaml",
                         "trainable: food11\nmetric: val_loss\nmode: min\nsamples: 2\nseed: 3\n"
                         "resources: {cpu: 1, gpu: " +
                             gpu +
                             "}\nspace:\n  data: synthetic\n  width_mult: 0.35\n"
                             "  image_size: 32\n  batch_size: 64\n  precision: fp32\n"
                             "  initial_epochs: 1\n  patience: 100\n"
                             "  lr: {loguniform: [0.00001, 0.00003]}\n" +
                             more);
  }
  ProgramResult Tune(const std::vector<std::string>& arguments) const {
    return RunTune(folder_, arguments);
  }
  // What was learned, of the latest attempt that reported the iteration, in the order of trials.
  Rows Learned(const std::string& metrics, const std::string& db = "tune.db") const {
    return Query(folder_,
                 "select " + metrics +
                     " from reports r join trials t on t.id = r.trial order by t.number, "
                     "r.iteration, r.attempt",
                 db);
  }

  TestFolder folder_;
  const OtherTrialProgram programs_{folder_, "standin_trial_food11"};
  StandInMachine machine_{folder_ / "nvml"};
};

// Two trials as lanes of one array there, each of half a card.
TEST_F(CardTraining, LearnsWhatProcessorsLearn) {
  HaveCard(4096 * kMiB);
  const ProgramResult on_card =
      Tune({"run", Space("0.5", "  total_epochs: 2\n  device: cuda\n"), "--cpus", "2"});
  ASSERT_EQ(on_card.exit_status, 0) << on_card.err;
  EXPECT_EQ(Query(folder_, "select max(json_extract(metrics, '$.lanes')) from reports"),
            Rows{"2.0"});
  const ProgramResult on_cpu = Tune(
      {"run", Space("0.5", "  total_epochs: 2\n  device: cpu\n"), "--cpus", "2", "--db", "cpu.db"});
  ASSERT_EQ(on_cpu.exit_status, 0) << on_cpu.err;
  const Rows card = Learned(kLoss), cpu = Learned(kLoss, "cpu.db");
  ASSERT_EQ(card.size(), 4u);
  ASSERT_EQ(cpu.size(), 4u);
  for (size_t i = 0; i < card.size(); ++i) {
    EXPECT_NEAR(std::atof(card[i].c_str()), std::atof(cpu[i].c_str()), 1e-3) << i;
  }
}

TEST_F(CardTraining, GoesOnBitForBitWhereEverythingIsKilled) {
  HaveCard(4096 * kMiB);
  const std::string space = Space("1", "  total_epochs: 4\n  device: cuda\n");
  const ProgramResult whole = Tune({"run", space, "--samples", "1", "--db", "whole.db"});
  ASSERT_EQ(whole.exit_status, 0) << whole.err;
  {
    Program tune(folder_, "tune", {"run", space, "--samples", "1"});
    ASSERT_TRUE(tune.WaitForText("database tune.db"));
    while (Query(folder_, "select count(*) >= 2 from reports") != Rows{"1"}) {
    }
    tune.Signal(SIGKILL);
    EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
  }
  const ProgramResult resumed = Tune({"resume"});
  ASSERT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(Query(folder_, "select count(*) from attempts"), Rows{"2"});
  EXPECT_EQ(Learned(kAllButTimes), Learned(kAllButTimes, "whole.db"));
}

// The context is counted as 512 MiB; the network needs more than what is left of half a card.
TEST_F(CardTraining, TakesNoMoreThanItsShareAndIsTriedAgainWithALargerOne) {
  HaveCard(2 * (512 + 57) * kMiB);
  const ProgramResult ran =
      Tune({"run", Space("0.5", "  total_epochs: 1\n  device: cuda\n  lanes: 1\n"), "--cpus", "2",
            "--samples", "1"});
  EXPECT_EQ(ran.exit_status, 0) << ran.err;
  const Rows attempts = Query(folder_, "select outcome, error from attempts order by number");
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_THAT(attempts[0],
              ContainsRegex("^device_out_of_memory\\|[0-9]+ bytes more were asked for on the "
                            "processor in a device's place \\(device 0\\), with [0-9]+ of the "
                            "share's " +
                            std::to_string(57 * kMiB) + " bytes taken"));
  EXPECT_EQ(attempts[1], "completed|");
}

}  // namespace
}  // namespace tune::testing
