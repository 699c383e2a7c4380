#include "tuner/best_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>

#include "core/random.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"

namespace tune {
namespace {

using testing::ElementsAre;

constexpr TrialStatus kDone = TrialStatus::kTerminated;

std::vector<int64_t> Numbers(const std::vector<ConfigurationRuns>& ranked) {
  std::vector<int64_t> numbers;
  for (const ConfigurationRuns& runs : ranked) numbers.push_back(runs.number);
  return numbers;
}

TEST(BestConfiguration, IsTheOneWithTheBestMeanNotWithTheLuckiestRun) {
  const std::vector<tune::Run> runs = {
      {0, kDone, 0.99}, {1, kDone, 0.5}, {2, kDone, 0.7}, {3, kDone, 0.8}};
  const auto ranked = RankConfigurations(runs, 2, Mode::kMax);
  EXPECT_THAT(Numbers(ranked), ElementsAre(1, 0));
  EXPECT_DOUBLE_EQ(ranked[0].mean, 0.75);
  EXPECT_NEAR(*ranked[0].deviation, std::sqrt(0.005), 1e-12);
  EXPECT_THAT(ranked[0].trials, ElementsAre(2, 3));
  EXPECT_EQ(ranked[0].best_trial, 3);
  EXPECT_EQ(ranked[0].best, 0.8);
  EXPECT_EQ(ranked[0].worst, 0.7);
  EXPECT_EQ(Describe(ranked[0]), "mean 0.75 deviation 0.0707107 of 2 runs (trials 2, 3)");
  const auto least = RankConfigurations(runs, 2, Mode::kMin);
  EXPECT_THAT(Numbers(least), ElementsAre(0, 1));
  EXPECT_EQ(least[0].best_trial, 1);
}

TEST(BestConfiguration, HasAllOfItsRunsBeforeThoseOfWhichSomeFailed) {
  const std::vector<tune::Run> runs = {{0, kDone, 0.9}, {1, TrialStatus::kError, 0.9},
                                       {2, kDone, 0.9},  // Two of three.
                                       {3, kDone, 0.5}, {4, kDone, 0.5},
                                       {5, kDone, 0.5},  // All.
                                       {6, kDone, 1.0}, {7, TrialStatus::kError, {}},
                                       {8, kDone, {}}};  // One.
  const auto ranked = RankConfigurations(runs, 3, Mode::kMax);
  EXPECT_THAT(Numbers(ranked), ElementsAre(1, 0, 2));
  EXPECT_EQ(Describe(ranked[1]), "mean 0.9 deviation 0 of 2 of 3 runs (trials 0, 2)");
  EXPECT_EQ(Describe(ranked[2]), "mean 1 of 1 of 3 runs (trial 6)");
  EXPECT_THAT(Numbers(RankConfigurations(runs, 3, Mode::kMax, FailedTrials::kCount)),
              ElementsAre(0, 1, 2));
}

TEST(BestConfiguration, RunsThatTrainCountOnlyUntilOneHasEnded) {
  const std::vector<tune::Run> training = {{0, TrialStatus::kRunning, 0.9},
                                           {1, TrialStatus::kPending, {}}};
  EXPECT_EQ(RankConfigurations(training, 2, Mode::kMax)[0].mean, 0.9);
  const std::vector<tune::Run> ended = {{0, TrialStatus::kRunning, 0.9},
                                        {1, kDone, 0.5},
                                        {2, TrialStatus::kRunning, 0.95},
                                        {3, TrialStatus::kRunning, 0.95}};
  const auto ranked = RankConfigurations(ended, 2, Mode::kMax);
  EXPECT_THAT(Numbers(ranked), ElementsAre(0, 1));
  EXPECT_EQ(ranked[0].mean, 0.5);
}

TEST(BestConfiguration, OfManyTrialsTheFirstAreNamed) {
  std::vector<tune::Run> runs;
  for (int64_t i = 0; i < 20; ++i) runs.push_back({i, kDone, 1.0});
  EXPECT_EQ(Describe(RankConfigurations(runs, 20, Mode::kMax)[0]),
            "mean 1 deviation 0 of 20 runs (trials 0, 1, 2, 3, 4, 5, 6 and 13 more)");
}

// Random sweeps: what the database has as the best is the best by the rule.
TEST(BestTrial, TheQueryFindsTheOneOfTheRule) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    KeyedRandom random(seed, "best");
    const Mode mode = random.NextBelow(2) == 0 ? Mode::kMin : Mode::kMax;
    const TempFolder folder;
    const auto store = OpenStore(folder / "tune.db");
    NewExperiment wanted = SampleExperiment("s");
    wanted.mode = mode == Mode::kMin ? "min" : "max";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Metric values[] = {std::nullopt, 0.5, -2.0, 1e300, kInfinity, -kInfinity};
    const TrialRow* best = nullptr;
    Transition rows;
    for (int64_t number = 0; number < 9; ++number) {
      rows.new_trials.push_back(SampleTrial(number));
      TrialRow& trial = rows.new_trials.back().trial;
      trial.status = random.NextBelow(4) == 0 ? TrialStatus::kError : kDone;
      trial.best_value = values[random.NextBelow(std::size(values))];
      if (trial.best_value && !std::isfinite(*trial.best_value)) trial.best_value.reset();
      trial.best_iteration = 1;
    }
    for (const NewTrialRow& row : rows.new_trials) {
      const TrialRow& trial = row.trial;
      const bool wins = MayBeBest(trial) &&
                        (best == nullptr || IsBetter(*trial.best_value, *best->best_value, mode));
      if (wins) best = &trial;
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
    const auto database = OpenForQueries(folder / "tune.db");
    const auto sweep = FindSweep(**database, "s");
    ASSERT_TRUE(sweep.ok());
    const auto found = FindBestTrial(**database, *sweep);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->has_value(), best != nullptr);
    if (best != nullptr) {
      EXPECT_EQ((*found)->number, best->number.value);
    }
  }
}

// Random sweeps: the query over the database ranks as the rule does.
TEST(BestConfiguration, TheQueryRanksAsTheRule) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    KeyedRandom random(seed, "sweep");
    const int64_t repeat = 2 + static_cast<int64_t>(random.NextBelow(3));
    const Mode mode = random.NextBelow(2) == 0 ? Mode::kMin : Mode::kMax;
    const TempFolder folder;
    const auto store = OpenStore(folder / "tune.db");
    NewExperiment wanted = SampleExperiment("s");
    wanted.mode = mode == Mode::kMin ? "min" : "max";
    wanted.spec = R"({"name":"s","metric":"val_accuracy","mode":")" + wanted.mode +
                  R"(","search":{"algorithm":"random","repeat":)" + std::to_string(repeat) + "}}";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok());
    Transition rows;
    for (int64_t number = 0; number < 24; ++number) {
      rows.new_trials.push_back(SampleTrial(number));
      TrialRow& trial = rows.new_trials.back().trial;
      trial.status = random.NextBelow(4) == 0 ? TrialStatus::kError : kDone;
      // Few values, so that means are equal at times.
      if (random.NextBelow(6) > 0) trial.best_value = static_cast<double>(random.NextBelow(3));
      trial.best_iteration = 1;
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
    const auto database = OpenForQueries(folder / "tune.db");
    const auto sweep = FindSweep(**database, "s");
    ASSERT_TRUE(sweep.ok());
    EXPECT_EQ(sweep->repeat, repeat);
    const auto ranked = ReadConfigurationRuns(**database, *sweep);
    ASSERT_TRUE(ranked.ok());
    auto query = (*database)->Prepare(RankConfigurationsSql(sweep->id, repeat, mode));
    ASSERT_TRUE(query.ok()) << query.status().message();
    for (const ConfigurationRuns& runs : *ranked) {
      ASSERT_TRUE(*query->Step());
      EXPECT_EQ(query->Int(0), runs.number) << seed;
      EXPECT_EQ(query->Int(1), runs.count());
      EXPECT_NEAR(query->Real(2), runs.mean, 1e-12);
    }
    EXPECT_FALSE(*query->Step());
    const auto best = FindBestTrial(**database, *sweep);
    ASSERT_TRUE(best.ok());
    EXPECT_EQ((*best)->number, ranked->front().best_trial);
  }
}

}  // namespace
}  // namespace tune
