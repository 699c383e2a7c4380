// Which trials gain something (tuner/gain_watch.h).
#include "tuner/gain_watch.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr std::optional<int64_t> kTwo = 2;

TEST(GainWatch, CountsTrialsInARowThatAreNoBetter) {
  GainWatch watch;
  watch.OnTrialEnded(TrialNumber{0}, {0.5}, 0, kTwo);
  watch.OnTrialEnded(TrialNumber{1}, {0.5}, 0, kTwo);
  EXPECT_EQ(watch.without_gain(), 1) << "an equal one is no gain";
  watch.OnTrialEnded(TrialNumber{2}, {0.4}, 0, kTwo);
  EXPECT_EQ(watch.without_gain(), 0);
  EXPECT_EQ(watch.last_gain(), TrialNumber{2});
  watch.OnTrialEnded(TrialNumber{3}, {}, 0, kTwo);
  EXPECT_FALSE(watch.is_over());
  watch.OnTrialEnded(TrialNumber{4}, {0.9}, 0, kTwo);
  EXPECT_TRUE(watch.is_over());
  watch.OnTrialEnded(TrialNumber{5}, {0.1}, 0, kTwo);
  EXPECT_TRUE(watch.is_over()) << "it stays so, whatever those that still run come to";
  watch.Restart();
  EXPECT_FALSE(watch.is_over());
}

TEST(GainWatch, WhatIsExpectedToBeGainedEndsItUntilMoreIsAskedFor) {
  GainWatch watch;
  EXPECT_FALSE(watch.is_over());
  watch.OnRegretMet();
  EXPECT_TRUE(watch.is_over());
  EXPECT_TRUE(watch.heeds_regret());
  watch.Restart();
  EXPECT_FALSE(watch.is_over());
  EXPECT_FALSE(watch.heeds_regret());
}

TEST(GainWatch, WithoutANumberItIsNeverOver) {
  GainWatch watch;
  for (int64_t n = 0; n < 100; ++n) watch.OnTrialEnded(TrialNumber{n}, {0.5}, 0, std::nullopt);
  EXPECT_EQ(watch.without_gain(), 99);
  EXPECT_FALSE(watch.is_over());
}

TEST(GainWatch, ASmallerViolationIsAGainAndABetterInfeasibleResultIsNone) {
  GainWatch watch;
  watch.OnTrialEnded(TrialNumber{0}, {0.5}, 0.3, kTwo);
  watch.OnTrialEnded(TrialNumber{1}, {0.9}, 0.2, kTwo);
  watch.OnTrialEnded(TrialNumber{2}, {2}, 0, kTwo);
  EXPECT_EQ(watch.last_gain(), TrialNumber{2});
  watch.OnTrialEnded(TrialNumber{3}, {0.1}, 0.1, kTwo);
  EXPECT_EQ(watch.without_gain(), 1);
}

TEST(GainWatch, OfSeveralObjectivesWhatNothingBeatsOrEqualsIsAGain) {
  GainWatch watch;
  watch.OnTrialEnded(TrialNumber{0}, {1, 3}, 0, kTwo);
  watch.OnTrialEnded(TrialNumber{1}, {3, 1}, 0, kTwo);
  EXPECT_EQ(watch.last_gain(), TrialNumber{1});
  watch.OnTrialEnded(TrialNumber{2}, {3, 3}, 0, kTwo);
  watch.OnTrialEnded(TrialNumber{3}, {1, 3}, 0, kTwo);
  EXPECT_TRUE(watch.is_over());
}

}  // namespace
}  // namespace tune
