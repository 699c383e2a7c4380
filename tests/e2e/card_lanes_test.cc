// How many trials of a card train as one is what was measured: over sweeps of one database, with
// the real programs, a library in the place of NVIDIA's that tells of a card, and a trial process
// that is as fast as a card may be (card_trial_main.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/other_trial_program.h"
#include "tests/standin_nvml/standin_machine.h"

namespace tune::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Rows = std::vector<std::string>;

constexpr int64_t kGiB = int64_t{1} << 30;

class CardLanes : public ::testing::Test {
 protected:
  CardLanes() { machine_.Device("GPU-1b2c", 80 * kGiB, kGiB, "NVIDIA H100"); }

  // Trials of which eight fit the card.
  std::string Space(const std::string& lanes = "") const {
    return folder_.Write("space.yaml",
                         "trainable: food11\nmetric: val_loss\nmode: min\nsamples: 8\nseed: 3\n"
                         "resources: {cpu: 1, gpu: 0.125}\n"
                         "space:\n  data: synthetic\n  device: cuda\n  total_epochs: 12\n"
                         "  lr: {loguniform: [0.0003, 0.01]}\n" +
                             lanes);
  }
  ProgramResult Tune(const std::vector<std::string>& arguments) const {
    return RunTune(folder_, arguments);
  }
  void Run(int max_concurrent) const {
    const ProgramResult result =
        Tune({"run", Space(), "--cpus", "8", "--max-concurrent", std::to_string(max_concurrent)});
    ASSERT_EQ(result.exit_status, 0) << result.err;
  }
  Rows MostLanes() const {
    return Query(folder_,
                 "select t.experiment, cast(max(json_extract(r.metrics, '$.lanes')) as int) from "
                 "reports r join trials t on t.id = r.trial group by 1 order by 1");
  }

  TestFolder folder_;
  const OtherTrialProgram programs_{folder_, "card_trial"};
  StandInMachine machine_{folder_ / "nvml"};
};

TEST_F(CardLanes, AreAsManyAsFitUntilFewerWereMeasuredToBeFaster) {
  Run(4);
  // Nobody knows anything of eight.
  EXPECT_THAT(Tune({"plan", Space(), "--cpus", "8"}).out,
              HasSubstr("lanes          up to 8 train as one on NVIDIA H100 of {"));
  Run(8);
  EXPECT_EQ(MostLanes(), (Rows{"1|4", "2|8"}));
  const ProgramResult plan = Tune({"plan", Space(), "--cpus", "8"});
  EXPECT_THAT(plan.out,
              HasSubstr("lanes          8 would fit on NVIDIA H100, but 4 train as one: "));
  EXPECT_THAT(plan.out, HasSubstr(" were slower (2310 against 2480 images/s); of {"));
  EXPECT_THAT(plan.out, HasSubstr("               4 as one: 2480 images/s together (the median"));
  EXPECT_THAT(plan.out, HasSubstr("               8 as one: 2310 images/s together (the median"));
  EXPECT_THAT(Tune({"plan", Space(), "--cpus", "8", "--format", "json"}).out,
              HasSubstr("\"device\":\"NVIDIA H100\",\"lanes_max\":8,\"lanes\":4,\"limit\":\""));

  const ProgramResult third = Tune({"run", Space(), "--cpus", "8"});
  ASSERT_EQ(third.exit_status, 0) << third.err;
  EXPECT_EQ(MostLanes(), (Rows{"1|4", "2|8", "3|4"}));
  EXPECT_THAT(third.err, ContainsRegex("at most 4 trials of .* train as one on NVIDIA H100: . were "
                                       "slower \\(2310 against 2480 images/s\\)"));
  EXPECT_EQ(Query(folder_, "select count(*) from attempts where outcome = 'completed'"),
            Rows{"24"});
  EXPECT_THAT(Tune({"status"}).out,
              ContainsRegex("lanes      4 train as one on NVIDIA H100: . were slower"));
  // The journal leads to the rows that are there.
  EXPECT_THAT(Tune({"doctor", "--db", folder_ / "tune.db"}).out,
              HasSubstr("ok       journal of space-3  comes to the same trials"));

  const ProgramResult asked = Tune({"plan", Space("  lanes: 8\n"), "--cpus", "8"});
  EXPECT_THAT(asked.out, HasSubstr("up to 8 train as one on NVIDIA H100"));
  EXPECT_THAT(asked.out, Not(HasSubstr("were slower")));
}

// What was known at its beginning is in its journal: a sweep that goes on decides by it, whatever
// became of the sweeps that measured it.
TEST_F(CardLanes, OfASweepThatGoesOnAreLimitedByWhatWasKnownWhenItBegan) {
  Run(4);
  Run(8);
  {
    Program tune(folder_, "tune", {"run", Space(), "--cpus", "8", "--samples", "60"});
    ASSERT_TRUE(tune.WaitForText("at most 4 trials"));
    WaitForRows(folder_,
                "select count(*) > 8 from reports r join trials t on t.id = r.trial "
                "where t.experiment = 3",
                {"1"});
    tune.Signal(SIGTERM);
    EXPECT_EQ(tune.Wait().exit_status, 143);
  }
  ASSERT_TRUE(Succeeded(Tune({"delete", "space", "--yes"})));
  ASSERT_TRUE(Succeeded(Tune({"delete", "space-2", "--yes"})));
  const ProgramResult resumed = Tune({"resume", "--cpus", "8"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(MostLanes(), Rows{"3|4"});
}

}  // namespace
}  // namespace tune::testing
