// How long a sweep still takes, on recorded sweeps.
#include "tuner/cli/words/time_left.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tune {
namespace {

// When a trial of a recorded sweep began and ended, in milliseconds, and how many iterations it
// trained meanwhile.
struct RecordedTrial {
  int64_t begin;
  int64_t end;
  int64_t iterations;
};

struct RecordedSweep {
  std::string name;
  std::vector<int64_t> rungs;
  std::optional<int64_t> longest;
  std::optional<double> rung_share;
  std::vector<RecordedTrial> trials;

  int64_t end() const {
    int64_t end = 0;
    for (const RecordedTrial& trial : trials) end = std::max(end, trial.end);
    return end;
  }
  // What was known at that time.
  SweepPace At(int64_t ms) const {
    SweepPace pace{{}, static_cast<int64_t>(trials.size()), rungs, longest, rung_share};
    for (const RecordedTrial& trial : trials) {
      if (trial.begin > ms) continue;
      const bool is_over = trial.end <= ms;
      const int64_t ran = (is_over ? trial.end : ms) - trial.begin;
      pace.trials.push_back({is_over ? TrialPace::State::kOver : TrialPace::State::kRunning,
                             trial.iterations * ran / (trial.end - trial.begin),
                             Milliseconds(ran)});
    }
    return pace;
  }
};

// asha with a reduction_factor of 3, four trials at a time.
RecordedSweep Asha() {
  return {"asha",
          {3, 9, 27, 81},
          81,
          1.0 / 3,
          {{0, 2734, 81},    {0, 2737, 81},    {0, 129, 3},      {0, 129, 3},      {129, 228, 3},
           {129, 441, 9},    {228, 341, 3},    {341, 642, 9},    {441, 539, 3},    {539, 643, 3},
           {642, 765, 3},    {643, 948, 9},    {765, 1655, 27},  {948, 3661, 81},  {1655, 1759, 3},
           {1759, 2704, 27}, {2704, 2802, 3},  {2734, 2834, 3},  {2737, 3034, 9},  {2802, 2899, 3},
           {2834, 5537, 81}, {2899, 3001, 3},  {3001, 3099, 3},  {3034, 3931, 27}, {3099, 3393, 9},
           {3393, 3489, 3},  {3489, 3598, 3},  {3598, 6271, 81}, {3661, 3767, 3},  {3767, 3866, 3},
           {3866, 3964, 3},  {3931, 6634, 81}, {3964, 4267, 9},  {4267, 4385, 3},  {4385, 4489, 3},
           {4489, 4590, 3},  {4590, 4697, 3},  {4697, 7353, 81}, {5537, 5638, 3},  {5638, 5936, 9},
           {5936, 6053, 3},  {6053, 6365, 9},  {6271, 6382, 3},  {6365, 6467, 3},  {6382, 6665, 9},
           {6467, 6566, 3},  {6566, 7478, 27}, {6634, 6730, 3}}};
}

// The same scheduler up to 27, with trials that train at different speeds, and some that fail.
RecordedSweep Uneven() {
  return {"uneven",
          {1, 3, 9, 27},
          27,
          1.0 / 3,
          {{0, 4992, 27},   {0, 262, 1},     {0, 3892, 27},   {0, 1046, 4},     {262, 486, 1},
           {486, 709, 1},   {709, 912, 1},   {912, 2251, 5},  {1046, 4954, 27}, {2251, 2476, 1},
           {2476, 2966, 3}, {2966, 3151, 1}, {3151, 3274, 1}, {3274, 3490, 1},  {3490, 3650, 1},
           {3650, 3896, 1}, {3892, 4043, 1}, {3896, 4007, 1}, {4007, 5445, 9},  {4043, 4158, 1},
           {4158, 4322, 1}, {4322, 4992, 3}, {4954, 5084, 1}, {4992, 5216, 1}}};
}

// Every trial is trained to its end, which only the trainable knows; three at a time.
RecordedSweep Fifo() {
  return {"fifo",
          {},
          std::nullopt,
          std::nullopt,
          {{0, 1447, 10},
           {0, 2591, 10},
           {0, 1195, 10},
           {1195, 2324, 10},
           {1447, 2746, 10},
           {2324, 4251, 10},
           {2591, 3937, 10},
           {2746, 4267, 10},
           {3937, 5015, 10},
           {4251, 5524, 10},
           {4267, 5752, 10},
           {5015, 6907, 10}}};
}

class TimeLeftOf : public testing::TestWithParam<RecordedSweep> {};

TEST_P(TimeLeftOf, HoldsTheRealEndMostOfTheTime) {
  const RecordedSweep& sweep = GetParam();
  int64_t told = 0, held = 0;
  for (int64_t ms = 100; ms < sweep.end() - 100; ms += 50) {
    const auto left = EstimateTimeLeft(sweep.At(ms));
    if (!left) continue;
    const double real = static_cast<double>(sweep.end() - ms) / 1000;
    ++told;
    held += left->low.seconds() <= real && real <= left->high.seconds() ? 1 : 0;
    // Also where it does not, the range is not far from it.
    EXPECT_LT(left->low.seconds(), 1.6 * real + 0.2) << ms;
    EXPECT_GT(left->high.seconds(), real / 1.6 - 0.2) << ms;
  }
  EXPECT_GT(told, (sweep.end() - 200) / 50 / 2);
  EXPECT_GE(held * 10, told * 6) << held << " of " << told;
}

TEST_P(TimeLeftOf, DoesNotJump) {
  const RecordedSweep& sweep = GetParam();
  std::optional<double> before;
  for (int64_t ms = 500; ms < sweep.end() - 300; ms += 50) {
    const auto left = EstimateTimeLeft(sweep.At(ms));
    if (!left) continue;
    const double middle = (left->low.seconds() + left->high.seconds()) / 2;
    if (before) {
      EXPECT_LT(middle, 1.8 * *before + 0.2) << ms;
      EXPECT_GT(middle, *before / 1.8 - 0.2) << ms;
    }
    before = middle;
  }
}

TEST_P(TimeLeftOf, ComesDownToNothing) {
  const RecordedSweep& sweep = GetParam();
  const auto late = EstimateTimeLeft(sweep.At(sweep.end() - 150));
  ASSERT_TRUE(late.has_value());
  EXPECT_LT(late->low.seconds(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(Recorded, TimeLeftOf, testing::Values(Asha(), Uneven(), Fifo()),
                         [](const auto& sweep) { return sweep.param.name; });

TEST(TimeLeft, IsNotToldWhereNobodyCanKnow) {
  SweepPace pace = Fifo().At(1000);
  EXPECT_EQ(EstimateTimeLeft(pace), std::nullopt) << "no trial has ended: how long is one?";
  pace.longest = 10;
  EXPECT_TRUE(EstimateTimeLeft(pace).has_value());
  pace.samples = -1;
  EXPECT_EQ(EstimateTimeLeft(pace), std::nullopt) << "no limit of samples";
  EXPECT_EQ(EstimateTimeLeft(SweepPace()), std::nullopt);
  pace = Fifo().At(100'000);
  EXPECT_EQ(EstimateTimeLeft(pace), std::nullopt) << "nothing runs";
}

TEST(TimeLeft, ATrialThatIsAloneAndKnownNeedsWhatItHasLeft) {
  SweepPace pace{{{TrialPace::State::kRunning, 5, Seconds(50)}}, 1, {}, 10, {}};
  const auto left = EstimateTimeLeft(pace);
  ASSERT_TRUE(left.has_value());
  EXPECT_GT(left->low.seconds(), 35);
  EXPECT_LT(left->high.seconds(), 60);
}

TEST(TimeLeft, OfManyTrialsThatWaitIsScaledFromSome) {
  SweepPace pace = Asha().At(6000);
  pace.samples = 100'000;
  const auto left = EstimateTimeLeft(pace);
  ASSERT_TRUE(left.has_value());
  // 48 trials took 7.5 s.
  EXPECT_GT(left->high.seconds(), 100'000 / 48 * 7.5 / 2);
  EXPECT_LT(left->low.seconds(), 100'000 / 48 * 7.5 * 2);
}

TEST(TimeLeft, IsSaidAsAPersonWould) {
  const auto said = [](double low, double high) {
    return Describe(TimeLeft{Seconds(low), Seconds(high)});
  };
  EXPECT_EQ(said(0.2, 1), "seconds left");
  EXPECT_EQ(said(11, 28), "10 to 30 s left");
  EXPECT_EQ(said(50, 140), "50 s to 2 min left");
  EXPECT_EQ(said(125, 250), "2 to 4 min left");
  EXPECT_EQ(said(125, 130), "about 2 min left");
  EXPECT_EQ(said(5'000, 9'000), "83 min to 2.5 h left");
  EXPECT_EQ(said(100'000, 300'000), "28 h to 3.5 d left");
}

// A program that reports a hundred steps every 20 seconds, shortly before its second report.
TEST(TimeLeft, StepsThatAreReportedByTheHundredAreNoSlownessInBetween) {
  SweepPace pace{{}, 1, {}, 1000, std::nullopt};
  pace.trials.push_back({TrialPace::State::kRunning, 100, Seconds(39.0), Seconds(20.0)});
  const auto left = EstimateTimeLeft(pace);
  ASSERT_TRUE(left.has_value());
  EXPECT_LT(left->low.seconds(), 161);
  EXPECT_GT(left->high.seconds(), 161);
  EXPECT_LT(left->high.seconds(), 200);
}

}  // namespace
}  // namespace tune
