// Runs of one configuration that do not differ are told once.
#include "tuner/repeated_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/trial_seed.h"

namespace tune {
namespace {

using testing::HasSubstr;

void Report(RepeatedRuns& runs, int64_t trial, std::initializer_list<double> values) {
  int64_t iteration = 0;
  for (const double value : values) runs.OnReport(TrialNumber{trial}, ++iteration, value);
}

TEST(RepeatedRuns, ThoseThatReportTheSameAreToldOnce) {
  RepeatedRuns runs(3);
  for (int64_t trial = 3; trial < 6; ++trial) Report(runs, trial, {0.5, 0.7});
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{3}, false));
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{5}, false));
  EXPECT_THAT(
      runs.OnTrialEnded(TrialNumber{4}, false).value_or(""),
      HasSubstr("trials 3 to 5 are runs of one configuration and reported exactly the same"));
  for (int64_t trial = 0; trial < 3; ++trial) Report(runs, trial, {0.5});
  for (int64_t trial = 0; trial < 3; ++trial) {
    EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{trial}, false));
  }
}

TEST(RepeatedRuns, ThoseThatDifferAnywhereAreNotTold) {
  RepeatedRuns runs(2);
  Report(runs, 0, {0.5, 0.7});
  Report(runs, 1, {0.5, 0.71});
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{0}, false));
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{1}, false));
}

TEST(RepeatedRuns, RunsThatWereStoppedEarlierAreComparedAsFarAsTheyCame) {
  RepeatedRuns runs(2);
  Report(runs, 0, {0.5, 0.7, 0.8});
  Report(runs, 1, {0.5, 0.7});
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{1}, false));
  EXPECT_TRUE(runs.OnTrialEnded(TrialNumber{0}, false));
}

TEST(RepeatedRuns, WhatFailedOrNeverReportedTellsNothing) {
  RepeatedRuns runs(2);
  Report(runs, 0, {0.5});
  Report(runs, 1, {0.5});
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{0}, true));
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{1}, false));
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{2}, false));
  EXPECT_FALSE(runs.OnTrialEnded(TrialNumber{3}, false));
}

TEST(TrialSeed, EachTrialHasItsOwnAndEachRepetitionToo) {
  EXPECT_NE(TrialSeed(7, TrialNumber{0}, 1), TrialSeed(7, TrialNumber{1}, 1));
  EXPECT_NE(TrialSeed(7, TrialNumber{0}, 1), TrialSeed(8, TrialNumber{0}, 1));
  EXPECT_NE(TrialSeed(7, TrialNumber{0}, 3), TrialSeed(7, TrialNumber{1}, 3));
  EXPECT_EQ(TrialSeed(7, TrialNumber{1}, 3), TrialSeed(7, TrialNumber{4}, 3));
  for (int64_t n = 0; n < 1000; ++n) EXPECT_LT(TrialSeed(7, TrialNumber{n}, 1), 1u << 31);
}

}  // namespace
}  // namespace tune
