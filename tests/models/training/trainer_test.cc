#include "models/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "models/data/augment.h"
#include "tests/models/training/fake_network.h"
#include "tests/models/training/fake_run.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

using ::testing::HasSubstr;

TEST(Trainer, TrainsTheHeadAloneThenTheBackboneAtDoublingStepsUntilItMeetsTheHead) {
  TrialRun run(SmallOptions(), ThreeClasses());
  run.Epochs(6);
  // 24 training images in batches of 8: three steps an epoch.
  ASSERT_EQ(run.network->steps.size(), 18U);
  std::vector<double> backbone;
  for (size_t epoch = 0; epoch < 6; ++epoch) {
    const TrainStepOptions& step = run.network->steps[3 * epoch].options;
    EXPECT_EQ(step.head_lr, 0.01);
    backbone.push_back(step.train_backbone ? step.backbone_lr : 0);
  }
  EXPECT_THAT(backbone, ::testing::ElementsAre(0, 0, 0.001, 0.002, 0.004, 0.008));
}

TEST(Trainer, NeverTrainsTheBackboneFasterThanTheHead) {
  Food11Options options = SmallOptions();
  options.initial_epochs = 0;
  options.fine_tune_lr = 0.5;
  TrialRun run(options, ThreeClasses());
  run.Epoch();
  EXPECT_EQ(run.network->steps[0].options.backbone_lr, options.lr);
}

TEST(Trainer, KeepsTheLastShortBatchButDropsASingleImage) {
  Food11Options options = SmallOptions();
  options.batch_size = 10;  // 24 = 10 + 10 + 4.
  TrialRun short_batch(options, ThreeClasses());
  short_batch.Epoch();
  ASSERT_EQ(short_batch.network->steps.size(), 3U);
  EXPECT_EQ(short_batch.network->steps[2].batch, 4);

  options.batch_size = 23;  // 24 = 23 + 1.
  TrialRun single(options, ThreeClasses());
  single.Epoch();
  ASSERT_EQ(single.network->steps.size(), 1U);
  EXPECT_EQ(single.network->steps[0].batch, 23);
}

TEST(Trainer, ShufflesEachEpochByItsSeedAlone) {
  TrialRun a(SmallOptions(), ThreeClasses());
  TrialRun b(SmallOptions(), ThreeClasses());
  Food11Options other_seed = SmallOptions();
  other_seed.seed = 6;
  TrialRun c(other_seed, ThreeClasses());
  a.Epochs(2);
  b.Epochs(2);
  c.Epochs(2);
  EXPECT_TRUE(SameTensors(*a.network->ExportWeights(), *b.network->ExportWeights()));
  EXPECT_FALSE(SameTensors(*a.network->ExportWeights(), *c.network->ExportWeights()));
  EXPECT_NE(a.network->steps[0].middle_pixel, a.network->steps[3].middle_pixel);
  EXPECT_NE(a.network->steps[0].options.dropout_seed, a.network->steps[1].options.dropout_seed);
}

TEST(Trainer, PreparesTheSameBatchesWithAThreadToSpare) {
  TrialRun one(SmallOptions(), ThreeClasses(), /*threads=*/1);
  TrialRun two(SmallOptions(), ThreeClasses(), /*threads=*/2);
  one.Epochs(3);
  two.Epochs(3);
  EXPECT_TRUE(SameTensors(*one.network->ExportWeights(), *two.network->ExportWeights()));
}

TEST(Trainer, LearnsTheSyntheticData) {
  Food11Options options = SmallOptions();
  options.total_epochs = 15;
  TrialRun run(options, ThreeClasses(32));
  const EpochReport first = run.Epoch();
  while (!run.trainer->finished()) run.Epoch();
  const EpochReport& last = run.trainer->history().back();
  EXPECT_LT(last.train_loss, first.train_loss);
  EXPECT_GT(last.val_accuracy, 0.5);  // A third is chance.
}

TEST(Trainer, ReportsTimesByTheClockItWasGiven) {
  TrialRun run(SmallOptions(), ThreeClasses());
  const EpochReport report = run.Epoch();
  // The clock moves by half a second at each look: at the start, after training, at the end.
  EXPECT_EQ(report.epoch_seconds, 1.0);
  EXPECT_EQ(report.images_per_second, 24 / 0.5);
}

TEST(Trainer, EndsAfterAllEpochsWithTheTestScoreOfTheBestEpoch) {
  TrialRun run(SmallOptions(), ThreeClasses());
  while (!run.trainer->finished()) run.Epoch();
  const std::vector<EpochReport>& history = run.trainer->history();
  ASSERT_EQ(history.size(), 6U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(history[i].end, EndReason::kNone);
    EXPECT_FALSE(history[i].test_accuracy.has_value());
  }
  EXPECT_EQ(history[5].end, EndReason::kAllEpochs);
  ASSERT_TRUE(history[5].test_accuracy.has_value());

  // The same run stopped at its best epoch has the same test score.
  const int best = run.trainer->best_epoch();
  EXPECT_EQ(history[5].test_epoch, best);
  for (const EpochReport& report : history) {
    EXPECT_GE(report.val_loss, history[static_cast<size_t>(best - 1)].val_loss);
  }
  Food11Options until_best = SmallOptions();
  until_best.total_epochs = best;
  TrialRun again(until_best, ThreeClasses());
  while (!again.trainer->finished()) again.Epoch();
  EXPECT_EQ(again.trainer->history().back().test_loss, history[5].test_loss);
}

TEST(Trainer, LosesPatienceWhenTheValidationLossDoesNotFall) {
  Food11Options options = SmallOptions();
  options.lr = 3;  // Far too large: the loss climbs after some epoch.
  options.fine_tune_lr = 3;
  options.initial_epochs = 0;
  options.total_epochs = 1000;
  options.patience = 3;
  TrialRun run(options, ThreeClasses());
  while (!run.trainer->finished()) run.Epoch();
  const std::vector<EpochReport>& history = run.trainer->history();
  EXPECT_EQ(history.back().end, EndReason::kPatience);
  EXPECT_EQ(history.back().epoch, run.trainer->best_epoch() + 3);
  EXPECT_TRUE(history.back().test_loss.has_value());
}

TEST(Trainer, EndsWithTheReasonDivergedWhenALossIsNoNumber) {
  TrialRun run(SmallOptions(), ThreeClasses());
  run.network->diverge_after = 5;  // In the second epoch's second step.
  run.Epoch();
  const EpochReport report = run.Epoch();
  EXPECT_TRUE(std::isnan(report.train_loss));
  EXPECT_EQ(report.end, EndReason::kDiverged);
  EXPECT_FALSE(report.test_loss.has_value());
  EXPECT_TRUE(run.trainer->finished());
  EXPECT_EQ(run.network->steps.size(), 5U);
  EXPECT_EQ(run.trainer->best_epoch(), 1);
}

// Train k epochs, save, go on in another trainer: the same as never having stopped. For every k, so
// also across the border of the phases (after the second epoch).
TEST(Trainer, ResumesBitForBitFromAnyEpoch) {
  TrialRun whole(SmallOptions(), ThreeClasses());
  while (!whole.trainer->finished()) whole.Epoch();
  for (int k = 1; k < 6; ++k) {
    const TempFolder folder;
    std::string checkpoint;
    {
      TrialRun first(SmallOptions(), ThreeClasses());
      first.Epochs(k);
      Result<std::string> saved = first.trainer->SaveCheckpoint(folder.path());
      ASSERT_TRUE(saved.ok()) << saved.status().message();
      checkpoint = *saved;
    }
    TrialRun second(SmallOptions(), ThreeClasses());
    const Status restored = second.trainer->RestoreCheckpoint(checkpoint);
    ASSERT_TRUE(restored.ok()) << restored.message();
    EXPECT_EQ(second.trainer->history().size(), static_cast<size_t>(k));
    while (!second.trainer->finished()) second.Epoch();
    EXPECT_TRUE(SameTensors(*second.network->ExportWeights(), *whole.network->ExportWeights()));
    EXPECT_TRUE(SameTensors(*second.network->ExportOptimizer(), *whole.network->ExportOptimizer()));
    EXPECT_EQ(second.trainer->best_epoch(), whole.trainer->best_epoch());
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(second.trainer->history()[i].train_loss, whole.trainer->history()[i].train_loss);
      EXPECT_EQ(second.trainer->history()[i].val_loss, whole.trainer->history()[i].val_loss);
    }
    EXPECT_EQ(second.trainer->history().back().test_loss,
              whole.trainer->history().back().test_loss);
  }
}

TEST(Trainer, ResumesInTheMidstOfItsPatience) {
  Food11Options options = SmallOptions();
  options.lr = 3;
  options.fine_tune_lr = 3;
  options.initial_epochs = 0;
  options.total_epochs = 1000;
  options.patience = 4;
  TrialRun whole(options, ThreeClasses());
  while (!whole.trainer->finished()) whole.Epoch();
  const int ended = static_cast<int>(whole.trainer->history().size());

  const TempFolder folder;
  TrialRun first(options, ThreeClasses());
  first.Epochs(ended - 2);  // Two epochs of patience are used up.
  ASSERT_TRUE(first.trainer->SaveCheckpoint(folder.path()).ok());
  TrialRun second(options, ThreeClasses());
  ASSERT_TRUE(second.trainer->RestoreCheckpoint(folder / CheckpointName(ended - 2)).ok());
  while (!second.trainer->finished()) second.Epoch();
  EXPECT_EQ(second.trainer->history().size(), static_cast<size_t>(ended));
  EXPECT_EQ(second.trainer->history().back().end, EndReason::kPatience);
  // The best epoch's weights came through the checkpoint.
  EXPECT_EQ(second.trainer->history().back().test_loss, whole.trainer->history().back().test_loss);
}

TEST(Trainer, KnowsAfterResumingThatItHadFinished) {
  const TempFolder folder;
  Food11Options options = SmallOptions();
  options.total_epochs = 2;
  TrialRun first(options, ThreeClasses());
  first.Epochs(2);
  ASSERT_TRUE(first.trainer->SaveCheckpoint(folder.path()).ok());
  TrialRun second(options, ThreeClasses());
  ASSERT_TRUE(second.trainer->RestoreCheckpoint(folder / "checkpoint_000002").ok());
  EXPECT_TRUE(second.trainer->finished());
  EXPECT_EQ(second.trainer->history().back().test_loss, first.trainer->history().back().test_loss);

  options.total_epochs = 3;  // The limit was raised: it goes on.
  TrialRun third(options, ThreeClasses());
  ASSERT_TRUE(third.trainer->RestoreCheckpoint(folder / "checkpoint_000002").ok());
  EXPECT_FALSE(third.trainer->finished());
}

TEST(Trainer, TestsTheBestEpochOfWhatWasAlreadyPastItsLimitWhenItWasRestored) {
  Food11Options options = SmallOptions();
  options.total_epochs = 3;
  TrialRun whole(options, ThreeClasses());
  whole.Epochs(3);
  EXPECT_FALSE(whole.trainer->run().owes_test());

  const TempFolder folder;
  TrialRun first(SmallOptions(), ThreeClasses());
  first.Epochs(3);
  ASSERT_TRUE(first.trainer->SaveCheckpoint(folder.path()).ok());
  EXPECT_FALSE(first.trainer->run().owes_test()) << "it has not finished";
  options.total_epochs = 2;
  TrialRun second(options, ThreeClasses());
  ASSERT_TRUE(second.trainer->RestoreCheckpoint(folder / "checkpoint_000003").ok());
  EXPECT_TRUE(second.trainer->finished());
  ASSERT_TRUE(second.trainer->run().owes_test());
  const auto report = second.trainer->RunTest();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->epoch, 3);
  EXPECT_EQ(report->test_loss, whole.trainer->history().back().test_loss);
  EXPECT_EQ(report->test_epoch, whole.trainer->best_epoch());
  EXPECT_EQ(second.trainer->history().size(), 3U);
  EXPECT_TRUE(second.trainer->finished());
  EXPECT_FALSE(second.trainer->run().owes_test());
  EXPECT_TRUE(SameTensors(*second.network->ExportWeights(), *first.network->ExportWeights()));
}

TEST(Trainer, RefusesACheckpointOfOtherOptionsOrDataAndSaysWhich) {
  const TempFolder folder;
  TrialRun first(SmallOptions(), ThreeClasses());
  first.Epoch();
  Result<std::string> checkpoint = first.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());

  Food11Options other = SmallOptions();
  other.lr = 0.02;
  TrialRun other_lr(other, ThreeClasses());
  const Status lr = other_lr.trainer->RestoreCheckpoint(*checkpoint);
  EXPECT_EQ(lr.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(lr.message(), HasSubstr("another lr (0.01, now 0.02)"));

  TrialRun other_data(SmallOptions(), ThreeClasses(9));
  const Status data = other_data.trainer->RestoreCheckpoint(*checkpoint);
  EXPECT_EQ(data.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(data.message(), HasSubstr("other data"));
}

TEST(Trainer, ChangesItsImagesAsStronglyAsItIsAsked) {
  const std::shared_ptr<const Dataset> data = ThreeClasses();
  const ImageSet& set = data->split(Split::kTraining);
  std::vector<float> plain(set.pixels.size());
  Normalize(set.pixels, plain);
  const size_t image_floats = plain.size() / static_cast<size_t>(set.count());
  const auto is_some_image = [&](double augmentation) {
    Food11Options options = SmallOptions();
    options.augmentation = augmentation;
    TrialRun run(options, data);
    run.Epochs(1);
    const float seen = run.network->steps.front().middle_pixel;
    for (size_t middle = image_floats / 2; middle < plain.size(); middle += image_floats) {
      if (plain[middle] == seen) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_some_image(0));
  EXPECT_FALSE(is_some_image(3));
}

TEST(Trainer, GoesOnFromAnotherRunsCheckpointUnderItsOwnOptions) {
  const TempFolder folder;
  TrialRun first(SmallOptions(), ThreeClasses());
  first.Epochs(3);
  const Result<std::string> checkpoint = first.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());

  Food11Options other = SmallOptions();
  other.batch_size = 6;
  other.dropout_probability = 0.25;
  other.weight_decay = 0.1;
  other.lr = 0.02;
  other.fine_tune_lr = 0.004;
  other.initial_epochs = 1;
  other.seed = 6;
  TrialRun second(other, ThreeClasses());
  const Status restored =
      second.trainer->RestoreCheckpoint(*checkpoint, CheckpointOf::kOtherOptions);
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_TRUE(SameTensors(*second.network->ExportWeights(), *first.network->ExportWeights()));
  EXPECT_TRUE(SameTensors(*second.network->ExportOptimizer(), *first.network->ExportOptimizer()));
  EXPECT_EQ(second.Epoch().epoch, 4);
  const FakeNetwork::Step& step = second.network->steps.front();
  EXPECT_EQ(step.batch, 6);
  EXPECT_EQ(step.options.dropout_probability, 0.25);
  EXPECT_EQ(step.options.weight_decay, 0.1);
  EXPECT_EQ(step.options.head_lr, 0.02);
  EXPECT_EQ(step.options.backbone_lr, 0.016);  // The third epoch with the backbone: twice doubled.

  // From its own checkpoint it goes on as any run.
  const Result<std::string> own = second.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(own.ok());
  TrialRun third(other, ThreeClasses());
  EXPECT_TRUE(third.trainer->RestoreCheckpoint(*own).ok());
}

TEST(Trainer, RefusesAnotherRunsCheckpointOfAnotherNetworkOrOtherData) {
  const TempFolder folder;
  TrialRun first(SmallOptions(), ThreeClasses());
  first.Epoch();
  const Result<std::string> checkpoint = first.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());

  Food11Options other = SmallOptions();
  other.width_mult = 0.5;
  TrialRun other_width(other, ThreeClasses());
  const Status width =
      other_width.trainer->RestoreCheckpoint(*checkpoint, CheckpointOf::kOtherOptions);
  EXPECT_EQ(width.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(width.message(), HasSubstr("another width_mult (1.0, now 0.5)"));

  TrialRun other_data(SmallOptions(), ThreeClasses(9));
  const Status data =
      other_data.trainer->RestoreCheckpoint(*checkpoint, CheckpointOf::kOtherOptions);
  EXPECT_THAT(data.message(), HasSubstr("other data"));
}

// Whose data hash covered the files that were left out, too.
TEST(Trainer, GoesOnFromACheckpointOfAnEarlierVersion) {
  const TempFolder folder;
  TrialRun first(SmallOptions(), ThreeClasses());
  first.Epoch();
  const Result<std::string> checkpoint = first.trainer->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  auto data = std::make_shared<Dataset>(*ThreeClasses());
  data->hash_with_skipped = data->hash;
  data->hash += 1;
  TrialRun second(SmallOptions(), data);
  EXPECT_TRUE(second.trainer->RestoreCheckpoint(*checkpoint).ok());
  data->hash_with_skipped += 2;
  EXPECT_THAT(second.trainer->RestoreCheckpoint(*checkpoint).message(), HasSubstr("other data"));
}

TEST(Trainer, LeavesACheckpointOfTheSameEpochAlone) {
  const TempFolder folder;
  Food11Options options = SmallOptions();
  TrialRun first(options, ThreeClasses());
  first.Epoch();
  ASSERT_TRUE(first.trainer->SaveCheckpoint(folder.path()).ok());
  options.seed = 9;
  TrialRun second(options, ThreeClasses());
  second.Epoch();
  const Result<std::string> beside = second.trainer->SaveCheckpoint(folder.path());
  const Result<std::string> named = second.trainer->SaveCheckpoint(folder.path(), "of_another");
  ASSERT_TRUE(beside.ok() && named.ok());
  EXPECT_EQ(*named, folder / "of_another");
  const Result<CheckpointState> old = ReadCheckpoint(folder / "checkpoint_000001");
  const Result<CheckpointState> read = ReadCheckpoint(*beside);
  ASSERT_TRUE(old.ok() && read.ok());
  EXPECT_EQ(old->options.seed, SmallOptions().seed);
  EXPECT_EQ(read->options.seed, 9U);
}

}  // namespace
}  // namespace tune::models
