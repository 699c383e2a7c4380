// A retrained sweep is the earlier one's space file with its best configurations, whole.
#include "tuner/retrain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/tuner/instant_sweep.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/look/retrain_rows.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

Value DocumentOf(const std::string& yaml) {
  const auto document = ParseYaml(yaml);
  EXPECT_TRUE(document.ok()) << document.status().message();
  return *document;
}

Configuration ConfigurationOf(double x) {
  Configuration configuration;
  configuration.Set("net/x", Value(x));
  configuration.Set("width", Value(4));
  return configuration;
}

Value Retrained(const std::string& yaml, std::optional<int64_t> max_t, int64_t runs = 2) {
  const Value document = DocumentOf(yaml);
  const auto space = SearchSpace::Parse(*document.Find("space"));
  EXPECT_TRUE(space.ok()) << space.status().message();
  return RetrainDocument(document, *space, max_t,
                         {"s-retrain", 5, {ConfigurationOf(0.5), ConfigurationOf(0.25)}, runs});
}

constexpr char kSpace[] = "name: s\nspace: {net: {x: {uniform: [0, 1]}}, width: 4}\n";

TEST(Retrain, TriesEachConfigurationAsOftenAsItIsRun) {
  const Value document = Retrained(kSpace, std::nullopt);
  EXPECT_EQ(ToJson(*document.Find("points")), R"([{"net/x":0.5},{"net/x":0.25}])");
  EXPECT_EQ(ToJson(*document.Find("search")), R"({"algorithm":"random","repeat":2})");
  EXPECT_EQ(*document.Find("samples"), Value(2));
  EXPECT_EQ(*document.Find("name"), Value("s-retrain"));
  EXPECT_EQ(*document.Find("seed"), Value(5));
}

TEST(Retrain, NothingEndsATrialEarly) {
  const Value document = Retrained(std::string(kSpace) +
                                       "search: {algorithm: tpe}\nfrom: other\n"
                                       "until: {no_gain: 5 trials}\n"
                                       "scheduler: {asha: {max_t: 20}}\n"
                                       "limits: {sweep_time: 1h, trial_time: 2h}\n",
                                   20);
  EXPECT_EQ(*document.Find("scheduler"), Value("fifo"));
  EXPECT_EQ(*document.Find("search")->Find("algorithm"), Value("random"));
  EXPECT_EQ(document.Find("from"), nullptr);
  EXPECT_EQ(document.Find("until"), nullptr);
  EXPECT_EQ(ToJson(*document.Find("limits")), R"({"trial_time":"2h"})");
  // It would train on beyond what the scheduler allowed.
  EXPECT_EQ(ToJson(*document.Find("stop")), R"({"training_iteration":20})");
}

TEST(Retrain, ASweepThatFollowedOthersFollowsNoneAgain) {
  const Value document = Retrained(std::string(kSpace) + "after: [prepare]\n", std::nullopt);
  EXPECT_EQ(document.Find("after"), nullptr);
}

TEST(Retrain, AGridIsNotGoneThroughAgain) {
  const Value document =
      Retrained("name: s\nspace: {net: {x: {grid_search: [0.25, 0.5]}}, width: 4}\n", std::nullopt);
  EXPECT_EQ(ToJson(*document.Find("space")), R"({"net":{"x":{"choice":[0.25,0.5]}},"width":4})");
}

TEST(Retrain, AStopThatComesSoonerStays) {
  const std::string stop = "stop: {training_iteration: 7, loss: 0.1}\n";
  EXPECT_EQ(ToJson(*Retrained(kSpace + stop, 20).Find("stop")),
            R"({"training_iteration":7,"loss":0.1})");
  EXPECT_EQ(ToJson(*Retrained(kSpace + stop, 5).Find("stop")),
            R"({"training_iteration":5,"loss":0.1})");
}

TEST(Retrain, DrawsOtherThingsThanTheSweepBefore) {
  EXPECT_NE(RetrainSeed(7), 7u);
  EXPECT_EQ(RetrainSeed(7), RetrainSeed(7));
  EXPECT_LT(RetrainSeed(7), uint64_t{1} << 53);
}

TEST(Retrain, TheBestConfigurationsComeFirstAndOnce) {
  TempFolder folder(true);
  testing::WriteInstantSweep({.samples = 20, .iterations = 5}, folder.path());
  const auto database = OpenForQueries(folder.path() + "/tune.db");
  ASSERT_TRUE(database.ok()) << database.status().message();
  const auto sweep = FindSweep(**database, "");
  ASSERT_TRUE(sweep.ok());
  const auto best = ReadBestConfigurations(**database, *sweep, 3);
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(best->size(), 3u);
  // Lower is better in that sweep.
  EXPECT_LE((*best)[0].values.at(0), (*best)[1].values.at(0));
  EXPECT_LE((*best)[1].values.at(0), (*best)[2].values.at(0));
  EXPECT_EQ(FindBestTrial(**database, *sweep)->value().number, (*best)[0].trial);
  EXPECT_EQ(ReadBestConfigurations(**database, *sweep, 100)->size(), 20u);
  EXPECT_EQ(ReadRetrained(**database, *sweep)->size(), 20u);
}

TEST(Retrain, AConfigurationThatSeveralTrialsHadCountsByTheirMean) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const auto experiment = store->CreateExperiment(SampleExperiment("s"));  // Higher is better.
    ASSERT_TRUE(experiment.ok());
    Transition rows;
    // lr 0.1 has 0.9 and 0.1, lr 0.2 has 0.6 and 0.7; one trial of 0.3 has nothing.
    const double values[] = {0.9, 0.6, 0.1, 0.7};
    for (int64_t number = 0; number < 5; ++number) {
      NewTrialRow row = SampleTrial(number);
      row.configuration = SampleTrial(number < 4 ? number % 2 : 2).configuration;
      if (number < 4) row.trial.best_value = values[number];
      row.trial.best_iteration = 1;
      rows.new_trials.push_back(row);
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto database = OpenForQueries(path);
  const auto sweep = FindSweep(**database, "s");
  const auto best = ReadBestConfigurations(**database, *sweep, 9);
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(best->size(), 2u);
  EXPECT_EQ((*best)[0].trial, 3);
  EXPECT_NEAR((*best)[0].values.at(0), 0.65, 1e-12);
  EXPECT_EQ((*best)[0].configuration.Find("lr")->AsDouble(), 0.2);
  EXPECT_EQ((*best)[1].trial, 0);
  EXPECT_NEAR((*best)[1].values.at(0), 0.5, 1e-12);
}

TEST(Retrain, TheMeanLeavesOutRunsThatFailedOrHaveNotEnded) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const auto experiment = store->CreateExperiment(SampleExperiment("s"));
    ASSERT_TRUE(experiment.ok());
    Transition rows;
    const std::pair<TrialStatus, double> runs[] = {{TrialStatus::kTerminated, 0.9},
                                                   {TrialStatus::kError, 0.3},
                                                   {TrialStatus::kTerminated, 0.8},
                                                   {TrialStatus::kRunning, 0.1}};
    for (int64_t number = 0; number < 4; ++number) {
      NewTrialRow row = SampleTrial(number);
      row.configuration = SampleTrial(0).configuration;
      row.trial.status = runs[number].first;
      row.trial.best_value = runs[number].second;
      row.trial.best_iteration = 1;
      rows.new_trials.push_back(row);
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto database = OpenForQueries(path);
  const auto sweep = FindSweep(**database, "s");
  const auto retrained = ReadRetrained(**database, *sweep);
  ASSERT_TRUE(retrained.ok()) << retrained.status().message();
  ASSERT_EQ(retrained->size(), 1u);
  EXPECT_THAT(retrained->front().values, ::testing::ElementsAre(0.9, 0.8));
  EXPECT_EQ(retrained->front().trial_count, 4);
  EXPECT_EQ(retrained->front().failed_count, 1);
}

TEST(Retrain, MeanAndDeviationAreThoseOfASample) {
  RetrainedConfiguration one;
  EXPECT_EQ(one.mean(), std::nullopt);
  one.values = {1, 3};
  EXPECT_EQ(one.mean(), 2);
  EXPECT_EQ(one.deviation(), std::sqrt(2.0));
  one.values = {1};
  EXPECT_EQ(one.deviation(), std::nullopt);
}

}  // namespace
}  // namespace tune
