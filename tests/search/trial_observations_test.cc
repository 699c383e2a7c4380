#include "search/trial_observations.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

constexpr TrialNumber kFirst{0};

TrialObservations Make(std::vector<Mode> modes, SearchRules rules = SearchRules::kFrom14) {
  const auto space = SearchSpace::Parse(*ParseJson(R"({"x": {"uniform": [0, 1]}})"));
  TrialObservations observations(
      SearchProblem{.space = *space, .modes = std::move(modes), .rules = rules});
  Configuration configuration;
  configuration.Set("x", Value(0.5));
  observations.Add(kFirst, configuration);
  return observations;
}

TEST(TrialObservations, ATrialThatNobodyStoppedIsWhole) {
  const auto is_whole = [](bool is_stopped, bool failed, SearchRules rules) {
    TrialObservations observations = Make({Mode::kMin}, rules);
    const Metric value = 1;
    if (is_stopped) observations.OnStopped(kFirst);
    observations.OnTrialEnded(kFirst, {&value, 1}, failed);
    return observations.trials()[0].is_whole;
  };
  EXPECT_TRUE(is_whole(false, false, SearchRules::kFrom14));
  EXPECT_FALSE(is_whole(true, false, SearchRules::kFrom14));
  EXPECT_FALSE(is_whole(false, true, SearchRules::kFrom14));
  EXPECT_FALSE(is_whole(false, false, SearchRules::kFrom13)) << "a sweep of an older build";
}

TEST(TrialObservations, TheBestReportCountsAndIsTurnedSoThatLowerIsBetter) {
  TrialObservations observations = Make({Mode::kMax});
  const Metric values[] = {0.3, 0.7, std::nullopt, 0.6};
  for (int64_t i = 0; i < 4; ++i) observations.OnReport(kFirst, i + 1, {&values[i], 1});
  observations.OnTrialEnded(kFirst, {&values[3], 1}, false);
  const ObservedTrial& trial = observations.trials()[0];
  EXPECT_EQ(trial.losses, Losses{-0.7});
  EXPECT_EQ(trial.iterations(), 4);
  EXPECT_EQ(trial.state, ObservedTrial::State::kEnded);
}

TEST(TrialObservations, AFailedTrialCountsForNothing) {
  TrialObservations observations = Make({Mode::kMin});
  const Metric value = 0.3;
  observations.OnReport(kFirst, 1, {&value, 1});
  observations.OnTrialEnded(kFirst, {&value, 1}, true);
  EXPECT_TRUE(observations.trials()[0].losses.empty());
}

TEST(TrialObservations, AFailedTrialThatIsOpenedAgainRunsAndCountsForWhatItReported) {
  TrialObservations observations = Make({Mode::kMin});
  const ObservedTrial& trial = observations.trials()[0];
  const Metric values[] = {0.3, 0.4, 0.5};
  observations.OnReport(kFirst, 1, {&values[0], 1});
  observations.OnTrialEnded(kFirst, {&values[0], 1}, true);
  observations.OnReopened(kFirst);
  EXPECT_EQ(trial.state, ObservedTrial::State::kRunning);
  EXPECT_EQ(trial.losses, Losses{0.3});
  observations.OnReport(kFirst, 2, {&values[1], 1});
  observations.OnTrialEnded(kFirst, {&values[2], 1}, false);
  EXPECT_EQ(trial.losses, Losses{0.3});
  EXPECT_EQ(trial.state, ObservedTrial::State::kEnded);
  EXPECT_TRUE(trial.is_whole);
}

// The mean of runs that are repeated, of which one had failed.
TEST(TrialObservations, WhatATrialCameToCountsNoMoreOnceItIsOpenedAgain) {
  TrialObservations observations = Make({Mode::kMax});
  const ObservedTrial& trial = observations.trials()[0];
  const Metric before = 0.9;
  const Metric after = 0.6;
  observations.OnTrialEnded(kFirst, {&before, 1}, false);
  observations.OnReopened(kFirst);
  EXPECT_TRUE(trial.losses.empty());
  observations.OnTrialEnded(kFirst, {&after, 1}, false);
  EXPECT_EQ(trial.losses, Losses{-0.6});
}

TEST(TrialObservations, OfSeveralObjectivesTheLastWholeReportCounts) {
  TrialObservations observations = Make({Mode::kMin, Mode::kMax});
  const Metric first[] = {1.0, 2.0};
  const Metric second[] = {3.0, 1.0};
  const Metric third[] = {0.0, std::nullopt};
  observations.OnReport(kFirst, 1, first);
  observations.OnReport(kFirst, 2, second);
  observations.OnReport(kFirst, 3, third);
  EXPECT_EQ(observations.trials()[0].losses, (Losses{3.0, -1.0}));
}

TEST(TrialObservations, TheBestReportKeepsTheLimitsOrViolatesThemLeast) {
  TrialObservations observations = Make({Mode::kMax});
  const Metric reports[][3] = {
      {0.9, 0.5, -1.0}, {0.4, 0.1, 0.2}, {0.2, -0.1, -0.2}, {0.8, 0.1, -1.0}};
  observations.OnReport(kFirst, 1, reports[0]);
  observations.OnReport(kFirst, 2, reports[1]);
  EXPECT_EQ(observations.trials()[0].losses, Losses{-0.4});
  EXPECT_NEAR(observations.trials()[0].violation, 0.3, 1e-12);
  EXPECT_FALSE(observations.trials()[0].is_feasible());
  observations.OnReport(kFirst, 3, reports[2]);
  observations.OnTrialEnded(kFirst, reports[3], false);
  const ObservedTrial& trial = observations.trials()[0];
  EXPECT_EQ(trial.losses, Losses{-0.2});
  EXPECT_EQ(trial.margins, (std::vector<Metric>{-0.1, -0.2}));
  EXPECT_TRUE(trial.is_feasible());
}

TEST(TrialObservations, KnowsWhichConfigurationsWereHad) {
  const TrialObservations observations = Make({Mode::kMin});
  Configuration configuration;
  configuration.Set("x", Value(0.5));
  EXPECT_TRUE(observations.Has(configuration));
  configuration.Set("x", Value(0.25));
  EXPECT_FALSE(observations.Has(configuration));
}

}  // namespace
}  // namespace tune
