// The loop around the real network: it learns, and it resumes bit for bit.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "models/data/synthetic.h"
#include "models/train/trainer.h"
#include "tests/models/training/fake_network.h"
#include "tests/models/training/small_training.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

constexpr int kTrainingPerClass = 12;

std::unique_ptr<Trainer> NewTrainer(int threads) {
  const Food11Options options = SmallTraining(/*batch_size=*/8);
  Result<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(options, SmallData(kTrainingPerClass), threads, [] { return 0.0; });
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return *std::move(trainer);
}

void RunToTheEnd(Trainer& trainer) {
  while (!trainer.finished()) ASSERT_TRUE(trainer.RunEpoch().ok());
}

TEST(RealNetwork, ResumesBitForBitInBothPhases) {
  for (const int threads : {1, 2}) {
    const std::unique_ptr<Trainer> whole = NewTrainer(threads);
    RunToTheEnd(*whole);
    for (const int stop_after : {1, 2}) {  // At the border of the phases, and after it.
      const TempFolder folder;
      const std::unique_ptr<Trainer> first = NewTrainer(threads);
      for (int i = 0; i < stop_after; ++i) ASSERT_TRUE(first->RunEpoch().ok());
      const Result<std::string> saved = first->SaveCheckpoint(folder.path());
      ASSERT_TRUE(saved.ok()) << saved.status().message();
      const std::unique_ptr<Trainer> second = NewTrainer(threads);
      const Status restored = second->RestoreCheckpoint(*saved);
      ASSERT_TRUE(restored.ok()) << restored.message();
      RunToTheEnd(*second);
      EXPECT_TRUE(
          SameTensors(*second->network().ExportWeights(), *whole->network().ExportWeights()));
      EXPECT_TRUE(
          SameTensors(*second->network().ExportOptimizer(), *whole->network().ExportOptimizer()));
      EXPECT_EQ(second->history().back().test_loss, whole->history().back().test_loss);
    }
  }
}

// By it an end for want of memory is told as the card's or the host's.
TEST(RealNetwork, SaysInItsRunsOptionsWhereItComputesWhenThatWasLeftToIt) {
  Food11Options options = SmallTraining(/*batch_size=*/8);
  options.device = DeviceKind::kAuto;
  const auto trainer = MakeTrainer(options, SmallData(kTrainingPerClass), 1, [] { return 0.0; });
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_NE((*trainer)->options().device, DeviceKind::kAuto);
  EXPECT_EQ((*trainer)->options().device, (*trainer)->network().options().device);
}

// A rank that fails so is no rank that others have lost.
TEST(RealNetwork, ItsWeightsFileThatCannotBeReadIsNotTakenForAnotherRank) {
  const TempFolder folder;
  Food11Options options = SmallTraining(/*batch_size=*/8);
  options.weights = folder / "around";
  std::filesystem::create_symlink("around", options.weights);  // Too many levels of links.
  const Status made =
      MakeTrainer(options, SmallData(kTrainingPerClass), 1, [] { return 0.0; }).status();
  EXPECT_EQ(made.code(), StatusCode::kInternal);
  EXPECT_NE(made.message().find(options.weights), std::string::npos) << made.message();
}

TEST(RealNetwork, StartsFromWeightsOfAFileWithAnotherHead) {
  const TempFolder folder;
  const std::unique_ptr<Trainer> trained = NewTrainer(1);
  ASSERT_TRUE(trained->RunEpoch().ok());
  const Result<std::string> saved = trained->SaveCheckpoint(folder.path());
  ASSERT_TRUE(saved.ok());
  Food11Options options = trained->options();
  options.weights = *saved + "/model.safetensors";
  const auto network = MakeNetwork(options, /*class_count=*/7, /*threads=*/1);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const std::vector<NamedTensor> before = *trained->network().ExportWeights();
  const std::vector<NamedTensor> after = *(*network)->ExportWeights();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].name, after[i].name);
    if (!before[i].name.starts_with("classifier")) {
      EXPECT_EQ(before[i].data, after[i].data);
    }
  }
  options.weights = folder / "none.safetensors";
  EXPECT_EQ(MakeNetwork(options, 7, 1).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tune::models
