// One epoch of a run is its best one: it is tested, kept and exported, and the files say which.

#include "models/train/best_epoch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/json.h"
#include "models/train/model_folder.h"
#include "tests/models/training/fake_run.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

using ::testing::HasSubstr;

TEST(BestEpochRule, GoesByTheMetricOfEveryEpoch) {
  const Metrics epoch = {{"val_loss", 0.5}, {"val_accuracy", 0.8}};
  EXPECT_EQ(BestEpochRule().metric(), "val_loss");
  EXPECT_TRUE(BestEpochRule().IsBetter(0.4, 0.5));
  const BestEpochRule accuracy("val_accuracy", Mode::kMax);
  EXPECT_EQ(accuracy.ValueOf(epoch), 0.8);
  EXPECT_TRUE(accuracy.IsBetter(0.5, 0.4));
  EXPECT_EQ(BestEpochRule("val_accuracy - val_loss", Mode::kMax).ValueOf(epoch), 0.8 - 0.5);
  EXPECT_EQ(accuracy.ValueOf({{"val_accuracy", std::nan("")}}), std::nullopt);
  EXPECT_EQ(accuracy.ValueOf({{"val_accuracy", INFINITY}}), std::nullopt);
  EXPECT_EQ(accuracy.ValueOf({{"val_loss", 0.5}}), std::nullopt);
  EXPECT_FALSE(accuracy.GoesByTime());
  EXPECT_TRUE(BestEpochRule("val_accuracy - 0.01 * epoch_seconds", Mode::kMax).GoesByTime());
  // What the last epoch alone reports, or none does, cannot choose.
  for (const char* metric : {"test_accuracy", "val_loss + test_loss", "f1", "3 +"}) {
    const BestEpochRule rule(metric, Mode::kMax);
    EXPECT_EQ(rule.metric(), "val_loss") << metric;
    EXPECT_TRUE(rule.IsBetter(0.4, 0.5)) << metric;
  }
}

// Five epochs whose losses climb from the first one on; the accuracy is highest in the third.
Food11Options RisingLosses() {
  Food11Options options = SmallOptions();
  options.lr = 3;
  options.fine_tune_lr = 3;
  options.initial_epochs = 0;
  options.total_epochs = 1000;
  options.patience = 4;
  return options;
}
Food11Options ByAccuracy() {
  Food11Options options = RisingLosses();
  options.best_epoch = BestEpochRule("val_accuracy", Mode::kMax);
  return options;
}

void Finish(TrialRun& run) {
  while (!run.trainer->finished()) run.Epoch();
}

TEST(BestEpoch, IsTheOneThatIsTested) {
  TrialRun run(ByAccuracy(), ThreeClasses());
  Finish(run);
  const std::vector<EpochReport>& history = run.trainer->history();
  const int best = run.trainer->best_epoch();
  ASSERT_EQ(history.size(), 5U);
  ASSERT_EQ(best, 3);
  for (const EpochReport& report : history) {
    EXPECT_LE(report.val_accuracy, history[2].val_accuracy);
  }
  EXPECT_EQ(history.back().test_epoch, best);
  Food11Options until_best = ByAccuracy();
  until_best.total_epochs = best;
  TrialRun again(until_best, ThreeClasses());
  Finish(again);
  EXPECT_EQ(again.trainer->history().back().test_loss, history.back().test_loss);
  TrialRun lowest(RisingLosses(), ThreeClasses());
  Finish(lowest);
  EXPECT_NE(lowest.trainer->best_epoch(), best);
  EXPECT_NE(lowest.trainer->history().back().test_loss, history.back().test_loss);
}

TEST(BestEpoch, LeavesPatienceToTheValidationLoss) {
  TrialRun by_loss(RisingLosses(), ThreeClasses());
  TrialRun by_accuracy(ByAccuracy(), ThreeClasses());
  Finish(by_loss);
  Finish(by_accuracy);
  EXPECT_EQ(by_accuracy.trainer->history().back().end, EndReason::kPatience);
  EXPECT_EQ(by_accuracy.trainer->history().size(), by_loss.trainer->history().size());
}

TEST(BestEpoch, IsTheSameAfterResumingFromAnyEpoch) {
  TrialRun whole(ByAccuracy(), ThreeClasses());
  Finish(whole);
  const int ended = static_cast<int>(whole.trainer->history().size());
  for (int k = 1; k < ended; ++k) {
    const TempFolder folder;
    TrialRun first(ByAccuracy(), ThreeClasses());
    first.Epochs(k);
    ASSERT_TRUE(first.trainer->SaveCheckpoint(folder.path()).ok());
    TrialRun second(ByAccuracy(), ThreeClasses());
    ASSERT_TRUE(second.trainer->RestoreCheckpoint(folder / CheckpointName(k)).ok());
    Finish(second);
    EXPECT_EQ(second.trainer->best_epoch(), whole.trainer->best_epoch()) << k;
    const EpochReport& last = second.trainer->history().back();
    EXPECT_EQ(last.test_epoch, whole.trainer->best_epoch());
    EXPECT_EQ(last.test_loss, whole.trainer->history().back().test_loss);
  }
}

// Earlier versions chose by val_loss, whatever the sweep's metric was.
TEST(BestEpoch, OfACheckpointByAnotherRuleIsOneWhoseWeightsItHas) {
  const TempFolder folder;
  TrialRun earlier(RisingLosses(), ThreeClasses());
  earlier.Epochs(3);
  ASSERT_EQ(earlier.trainer->best_epoch(), 1);
  ASSERT_TRUE(earlier.trainer->SaveCheckpoint(folder.path()).ok());
  earlier.Epoch();
  ASSERT_TRUE(earlier.trainer->SaveCheckpoint(folder.path()).ok());
  for (const auto& [epoch, best] : {std::pair(3, 3), std::pair(4, 1)}) {
    TrialRun resumed(ByAccuracy(), ThreeClasses());
    ASSERT_TRUE(resumed.trainer->RestoreCheckpoint(folder / CheckpointName(epoch)).ok());
    EXPECT_EQ(resumed.trainer->best_epoch(), best);
  }
}

TEST(BestEpoch, OfARunThatGoesOnFromAnotherIsItsOwn) {
  const TempFolder folder;
  Food11Options options = SmallOptions();
  options.best_epoch = BestEpochRule("train_accuracy", Mode::kMin);  // The first one, mostly.
  TrialRun other(options, ThreeClasses(32));
  other.Epochs(3);
  ASSERT_LT(other.trainer->best_epoch(), 3);
  ASSERT_TRUE(other.trainer->SaveCheckpoint(folder.path()).ok());
  options.lr = 0.02;
  TrialRun run(options, ThreeClasses(32));
  ASSERT_TRUE(
      run.trainer->RestoreCheckpoint(folder / CheckpointName(3), CheckpointOf::kOtherOptions).ok());
  Finish(run);
  EXPECT_GT(run.trainer->best_epoch(), 3);
  EXPECT_EQ(run.trainer->history().back().test_epoch, run.trainer->best_epoch());
}

Value ConfigIn(const std::string& folder) {
  Result<Value> config = ParseJson(ReadText(folder + "/config.json"));
  EXPECT_TRUE(config.ok());
  return config.ok() ? *config : Value::MakeMap();
}

TEST(ModelFolder, HasTheTestScoresOfItsOwnWeightsAndOfNoOthers) {
  const TempFolder folder;
  TrialRun run(ByAccuracy(), ThreeClasses());
  Finish(run);
  const EpochReport& last = run.trainer->history().back();
  ASSERT_LT(*last.test_epoch, last.epoch);
  ASSERT_TRUE(run.trainer->SaveCheckpoint(folder.path()).ok());
  const std::string checkpoint = folder / CheckpointName(last.epoch);

  ASSERT_EQ(*ExportModel(checkpoint, folder / "best", {*last.test_epoch}), *last.test_epoch);
  Value config = ConfigIn(folder / "best");
  EXPECT_EQ(*config.Find("epoch"), Value(*last.test_epoch));
  EXPECT_EQ(*config.Find("metrics")->Find("epoch"), Value(*last.test_epoch));
  EXPECT_EQ(*config.Find("metrics")->Find("test_loss"), Value(*last.test_loss));

  ASSERT_EQ(*ExportModel(checkpoint, folder / "last", {last.epoch}), last.epoch);
  config = ConfigIn(folder / "last");
  EXPECT_EQ(*config.Find("epoch"), Value(last.epoch));
  EXPECT_EQ(config.Find("metrics")->Find("test_loss"), nullptr);
  EXPECT_EQ(config.Find("metrics")->Find("test_epoch"), nullptr);
}

// The best epoch's own checkpoint was written before the test.
TEST(ModelFolder, TakesALaterTestOfTheSameEpoch) {
  const TempFolder folder;
  TrialRun run(ByAccuracy(), ThreeClasses());
  Finish(run);
  const EpochReport& last = run.trainer->history().back();
  const int best = *last.test_epoch;
  TrialRun until_best(ByAccuracy(), ThreeClasses());
  until_best.Epochs(best);
  ASSERT_TRUE(until_best.trainer->SaveCheckpoint(folder.path()).ok());
  const std::string checkpoint = folder / CheckpointName(best);
  Metrics tested = ToMetrics(run.trainer->history()[static_cast<size_t>(best - 1)]);
  tested.insert(tested.end(),
                {{"test_loss", *last.test_loss}, {"test_epoch", static_cast<double>(best)}});
  ASSERT_TRUE(ExportModel(checkpoint, folder / "a", {best, tested}).ok());
  EXPECT_EQ(*ConfigIn(folder / "a").Find("metrics")->Find("test_loss"), Value(*last.test_loss));

  for (auto& [name, value] : tested) {
    if (name == "val_loss") value += 1e-9;  // Another attempt's epoch.
  }
  ASSERT_TRUE(ExportModel(checkpoint, folder / "b", {best, tested}).ok());
  EXPECT_EQ(ConfigIn(folder / "b").Find("metrics")->Find("test_loss"), nullptr);
}

TEST(ModelFolder, HoldsTheBestEpochsWeightsOfACheckpoint) {
  const TempFolder folder;
  Food11Options options = SmallOptions();
  options.lr = 3;  // The best epoch is not the last one.
  options.fine_tune_lr = 3;
  options.initial_epochs = 0;
  options.patience = 3;
  options.total_epochs = 100;
  TrialRun run(options, ThreeClasses());
  while (!run.trainer->finished()) run.Epoch();
  Result<std::string> checkpoint = run.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_LT(run.trainer->best_epoch(), static_cast<int>(run.trainer->history().size()));

  const Result<int> exported = ExportModel(*checkpoint, folder / "best");
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(*exported, run.trainer->best_epoch());
  Result<Model> model = ReadModel(folder / "best");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->class_names, ThreeClasses()->class_names);
  EXPECT_EQ(model->image_size, 32);

  options.total_epochs = run.trainer->best_epoch();
  TrialRun until_best(options, ThreeClasses());
  while (!until_best.trainer->finished()) until_best.Epoch();
  EXPECT_TRUE(SameTensors(model->weights, *until_best.network->ExportWeights()));

  // A checkpoint is a model too.
  Result<Model> direct = ReadModel(*checkpoint);
  ASSERT_TRUE(direct.ok());
  EXPECT_TRUE(SameTensors(model->weights, direct->weights));
}

TEST(ModelFolder, SaysWhatIsExpectedWhereThereIsNoModel) {
  const TempFolder folder;
  const Result<Model> model = ReadModel(folder.path());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(model.status().message(), HasSubstr("config.json"));
}

}  // namespace
}  // namespace tune::models
