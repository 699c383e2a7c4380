// A trial that runs out of memory says so, and hurts itself alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/sanitized.h"
#include "tests/trial_runner/driven_trial.h"
#include "tests/trial_runner/message_samples.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class TrialMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes more memory than any limit here";
    std::string name = (fs::temp_directory_path() / "tune_memory_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    sweep_.experiment = "sweep";
    sweep_.base_dir = root_;
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  StartAttempt AttemptOf(int64_t number, int64_t memory_bytes, const std::string& config) const {
    StartAttempt start;
    start.ref = Ref(0, number, number);
    start.cpu_milli = 1000;
    start.config = config;
    start.artifact_dir = root_ + "/sweep/0";
    start.memory_bytes = memory_bytes;
    return start;
  }
  static std::string LimitsOf(int pid) {
    std::ostringstream text;
    text << std::ifstream("/proc/" + std::to_string(pid) + "/limits").rdbuf();
    return text.str();
  }

  std::string root_;
  SweepInfo sweep_;
};

TEST_F(TrialMemory, Food11SaysThatItsLimitIsTooSmallAndATrialWithinItRuns) {
  sweep_.trainable = R"("food11")";
  sweep_.metric = "val_accuracy";
  constexpr int64_t kLimit = 256 << 20;
  {
    DrivenTrial large("tune_trial_food11");
    large.Start(sweep_, AttemptOf(1, kLimit,
                                  R"({"data":"synthetic","image_size":128,"batch_size":512,)"
                                  R"("lr":0.01,"total_epochs":1})"));
    const TrialEnd end = large.Expect<TrialEnd>();
    EXPECT_EQ(end.outcome, Outcome::kOutOfMemory);
    EXPECT_EQ(end.detail, EndDetail::kNone);
    EXPECT_THAT(end.error, HasSubstr("memory"));
    EXPECT_THAT(end.error, HasSubstr("batch"));
  }
  DrivenTrial small("tune_trial_food11");
  small.Start(sweep_, AttemptOf(2, kLimit,
                                R"({"data":"synthetic","image_size":32,"width_mult":0.35,)"
                                R"("batch_size":32,"lr":0.01,"total_epochs":2})"));
  EXPECT_EQ(small.Expect<Report>().iteration, 1);
  EXPECT_THAT(LimitsOf(small.pid()),
              ContainsRegex("Max data size +" + std::to_string(kLimit) + " "));
}

// A failed `new` in the middle of an attempt; the process is another's next.
TEST_F(TrialMemory, AFailedAllocationEndsTheAttemptWithTheLimitInItsLine) {
  sweep_.trainable = R"({"curve":{"value":"t","iterations":3,"checkpoint_bytes":"512MiB"}})";
  sweep_.metric = "value";
  DrivenTrial trial("tune_trial");
  trial.Start(sweep_, AttemptOf(1, 64 << 20, "{}"));
  const TrialEnd end = trial.Expect<TrialEnd>();
  EXPECT_EQ(end.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(end.error,
            "no memory is left of the 67108864 bytes that a trial may have (resources.memory)");
  EXPECT_EQ(trial.Listen(), std::nullopt) << "the process ends too";
}

TEST_F(TrialMemory, ALimitHoldsForItsAttemptAlone) {
  sweep_.trainable = R"({"curve":{"value":"t"}})";
  sweep_.metric = "value";
  DrivenTrial trial("tune_trial");
  for (const int64_t limit : {int64_t{64} << 20, int64_t{128} << 20, int64_t{0}}) {
    trial.Start(sweep_, AttemptOf(1, limit, "{}"));
    EXPECT_TRUE(trial.Expect<Report>().final);
    EXPECT_EQ(trial.Expect<TrialEnd>().outcome, Outcome::kCompleted);
    EXPECT_THAT(LimitsOf(trial.pid()),
                ContainsRegex("Max data size +" +
                              (limit == 0 ? "unlimited" : std::to_string(limit)) + " "));
  }
}

TEST_F(TrialMemory, TheLogOfEachAttemptSaysItsLimit) {
  sweep_.trainable = R"({"curve":{"value":"t"}})";
  sweep_.metric = "value";
  DrivenTrial trial("tune_trial");
  for (const int64_t number : {1, 2}) {  // In one process, under one limit.
    trial.Start(sweep_, AttemptOf(number, 64 << 20, "{}"));
    EXPECT_TRUE(trial.Expect<Report>().final);
    EXPECT_EQ(trial.Expect<TrialEnd>().outcome, Outcome::kCompleted);
    EXPECT_THAT(trial.Printed(), HasSubstr("memory limit: 67108864 bytes\n")) << number;
  }
}

// What the two that ended held may not be free yet.
TEST_F(TrialMemory, TheLimitOfLanesIsNotLoweredWhileOneOfThemRunsOn) {
  sweep_.trainable = R"("food11")";
  sweep_.metric = "val_accuracy";
  constexpr int64_t kLimit = 512 << 20;
  constexpr char kConfig[] = R"({"data":"synthetic","image_size":32,"width_mult":0.35,)"
                             R"("batch_size":32,"total_epochs":1000,"patience":1000})";
  DrivenTrial trial("tune_trial_food11");
  const auto until = [&](int64_t lane, auto is_it) {
    while (true) {
      const OfLane<FromTrial> said = trial.ExpectOfLane();
      const bool is_report = std::holds_alternative<Report>(said.message);
      if (is_report) trial.AnswerLane(ReportAnswer::kContinue, said.lane);
      if (said.lane == lane && is_it(is_report)) return;
    }
  };
  const auto start = [&](int64_t lane) {
    trial.StartLane(sweep_, AttemptOf(lane, kLimit, kConfig), lane);
    until(lane, [](bool is_report) { return is_report; });
  };
  const auto end = [&](int64_t lane) {
    trial.EndLane(lane);
    until(lane, [](bool is_report) { return !is_report; });
  };
  for (const int64_t lane : {1, 2, 3}) start(lane);
  end(1);
  end(2);
  start(4);
  EXPECT_THAT(LimitsOf(trial.pid()),
              ContainsRegex("Max data size +" + std::to_string(3 * kLimit) + " "));
}

}  // namespace
}  // namespace tune
