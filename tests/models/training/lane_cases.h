// What lanes must do whoever computes them: each run that is one lane of an array has the numbers
// that it has alone. Called with the host's lanes, and with a card's.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/data/synthetic.h"
#include "models/train/lane_array.h"
#include "models/train/safetensors.h"
#include "models/train/trainer.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {

// How close the numbers of a run among others are to those that it has alone. Where sums have
// another order, a batch norm over few pixels makes much of a rounding, and Adam whole steps of
// gradients that are rounding alone: there images are larger and learning rates smaller.
struct LaneCloseness {
  double tolerance = 0;  // Of losses. 0: the same bits, of the weights too.
  double rate = 1;       // Of the learning rates.
  int image_size = 32;
};
inline constexpr LaneCloseness kWithinRounding = {2e-3, 1e-3, 64};

inline std::shared_ptr<const Dataset> LaneData(const LaneCloseness& closeness = {}) {
  SyntheticOptions options;
  options.image_size = closeness.image_size;
  options.class_count = 3;
  options.training_per_class = 4;  // Batches of 5, 5 and 2.
  options.validation_per_class = 2;
  options.evaluation_per_class = 2;
  return std::make_shared<const Dataset>(MakeSynthetic(options));
}

inline Food11Options LaneOptions(uint64_t seed, const LaneCloseness& closeness = {}) {
  Food11Options options;
  options.batch_size = 5;
  options.image_size = closeness.image_size;
  options.width_mult = 0.35;
  options.precision = Precision::kFp32;
  options.lr = 0.01 * closeness.rate;
  options.fine_tune_lr = 0.001 * closeness.rate;
  options.total_epochs = 3;
  options.seed = seed;
  return options;
}

// How runs are run: as lanes, and alone.
struct LaneWorld {
  std::function<std::unique_ptr<LaneRunner>(std::shared_ptr<const Dataset>)> lanes;
  std::function<std::unique_ptr<Trainer>(const Food11Options&, std::shared_ptr<const Dataset>)>
      alone;
  LaneCloseness closeness;
};

struct LaneTest {
  explicit LaneTest(const LaneWorld& made)
      : world(made),
        data(LaneData(made.closeness)),
        array(data, made.lanes(data), [] { return 0.0; }) {}

  Food11Options Options(uint64_t seed) const { return LaneOptions(seed, world.closeness); }
  TrainingRun* Add(const Food11Options& options, int64_t device_bytes = 0) {
    Result<TrainingRun*> run = array.Add(options, {1, device_bytes});
    EXPECT_TRUE(run.ok()) << run.status().message();
    return *run;
  }
  void Begin() { EXPECT_TRUE(array.BeginEpoch().empty()); }
  // To the end of the epoch, from wherever it is. Runs that have failed, with the reason.
  std::map<const TrainingRun*, Status> EndEpoch() {
    std::map<const TrainingRun*, Status> failed;
    while (array.is_in_epoch()) {
      for (const LaneArray::Ended& ended : array.Step()) {
        if (!ended.report.ok()) failed.emplace(ended.run, ended.report.status());
      }
    }
    return failed;
  }
  void Epoch() {
    Begin();
    EXPECT_TRUE(EndEpoch().empty());
  }

  // What it came to is what it comes to alone.
  void ExpectAsAlone(const TrainingRun& run, const std::string& name) {
    const std::unique_ptr<Trainer> trainer = world.alone(run.options(), data);
    while (trainer->history().size() < run.history().size()) ASSERT_TRUE(trainer->RunEpoch().ok());
    const auto same = [this](double a, double b) {
      return std::abs(a - b) <= world.closeness.tolerance || (std::isnan(a) && std::isnan(b));
    };
    for (size_t i = 0; i < run.history().size(); ++i) {
      const EpochReport& lane = run.history()[i];
      const EpochReport& single = trainer->history()[i];
      const std::string where = name + " epoch " + std::to_string(lane.epoch);
      EXPECT_PRED2(same, lane.train_loss, single.train_loss) << where;
      EXPECT_PRED2(same, lane.val_loss, single.val_loss) << where;
      if (world.closeness.tolerance > 0) continue;
      EXPECT_PRED2(same, lane.train_accuracy, single.train_accuracy) << where;
      EXPECT_PRED2(same, lane.val_accuracy, single.val_accuracy) << where;
      EXPECT_EQ(lane.test_loss, single.test_loss) << where;
      EXPECT_EQ(lane.test_accuracy, single.test_accuracy) << where;
      EXPECT_EQ(lane.end, single.end) << where;
    }
    if (world.closeness.tolerance > 0) return;
    const TempFolder folder;
    const Result<std::string> a = run.SaveCheckpoint(folder.path());
    const Result<std::string> b = trainer->SaveCheckpoint(folder.path());
    ASSERT_TRUE(a.ok() && b.ok());
    const Result<CheckpointState> lane = ReadCheckpoint(*a), single = ReadCheckpoint(*b);
    ASSERT_TRUE(lane.ok() && single.ok());
    ExpectSameTensors(lane->weights, single->weights, name);
    ExpectSameTensors(lane->optimizer, single->optimizer, name);
    ExpectSameTensors(lane->best_weights, single->best_weights, name);
  }

  static void ExpectSameTensors(const std::vector<NamedTensor>& a,
                                const std::vector<NamedTensor>& b, const std::string& name) {
    ASSERT_EQ(a.size(), b.size()) << name;
    for (size_t i = 0; i < a.size(); ++i) {
      bool same = a[i].data.size() == b[i].data.size();
      for (size_t k = 0; same && k < a[i].data.size(); ++k) {
        same =
            a[i].data[k] == b[i].data[k] || (std::isnan(a[i].data[k]) && std::isnan(b[i].data[k]));
      }
      EXPECT_TRUE(same) << name << " " << a[i].name;
    }
  }

  const LaneWorld world;
  const std::shared_ptr<const Dataset> data;
  LaneArray array;
};

// The head alone beside the whole network, other step sizes, dropout, weight decay, augmentation
// and lengths: one ends before the others, and they go on without it.
inline void LanesOfAllPhasesAreAsAlone(const LaneWorld& world) {
  LaneTest test(world);
  Food11Options head = test.Options(1), whole = test.Options(2), shorter = test.Options(3);
  head.initial_epochs = 2;
  whole.lr *= 0.3;
  whole.dropout_probability = 0.1;
  whole.weight_decay = 0.1;
  whole.augmentation = 0;
  shorter.total_epochs = 1;
  std::vector<TrainingRun*> runs = {test.Add(head), test.Add(whole), test.Add(shorter)};
  test.Epoch();
  EXPECT_EQ(runs[0]->history()[0].lanes, 3);
  ASSERT_TRUE(runs[2]->finished());
  test.ExpectAsAlone(*runs[2], "the shorter one");
  test.array.Remove(runs[2]);
  while (!runs[0]->finished() || !runs[1]->finished()) test.Epoch();
  EXPECT_EQ(runs[0]->history()[2].lanes, 2);
  test.ExpectAsAlone(*runs[0], "the head alone");
  test.ExpectAsAlone(*runs[1], "the whole network");
}

// One joins between epochs, from a checkpoint; one leaves in the middle of one.
inline void LanesJoinAndLeaveWithoutATrace(const LaneWorld& world) {
  const TempFolder folder;
  LaneTest test(world);
  const std::unique_ptr<Trainer> before = world.alone(test.Options(3), test.data);
  ASSERT_TRUE(before->RunEpoch().ok());
  const Result<std::string> checkpoint = before->SaveCheckpoint(folder.path());
  ASSERT_TRUE(checkpoint.ok());

  TrainingRun* const leaves = test.Add(test.Options(1));
  TrainingRun* const stays = test.Add(test.Options(2));
  test.Epoch();
  TrainingRun* const joins = test.Add(test.Options(3));
  ASSERT_TRUE(joins->RestoreCheckpoint(*checkpoint).ok());
  test.Begin();
  EXPECT_TRUE(test.array.Step().empty());
  test.array.Remove(leaves);
  EXPECT_TRUE(test.EndEpoch().empty());
  EXPECT_EQ(joins->history().size(), 2u);
  test.Epoch();
  test.ExpectAsAlone(*stays, "the one that stays");
  test.ExpectAsAlone(*joins, "the one that joins");
}

// A run whose loss becomes no number ends with its epoch, as it does alone; its neighbour does not
// notice.
inline void ALaneThatDivergesHurtsItselfAlone(const LaneWorld& world) {
  const TempFolder folder;
  LaneTest test(world);
  const std::string weights = folder / "no_numbers.safetensors";
  std::vector<NamedTensor> tensors =
      *world.alone(test.Options(1), test.data)->network().ExportWeights();
  for (NamedTensor& tensor : tensors) {
    if (tensor.name == "classifier.1.bias") tensor.data.assign(3, std::nanf(""));
  }
  std::ofstream(weights, std::ios::binary) << SerializeSafetensors(tensors);
  Food11Options wild = test.Options(1);
  wild.weights = weights;
  TrainingRun* const diverges = test.Add(wild);
  TrainingRun* const neighbour = test.Add(test.Options(2));
  test.Epoch();
  EXPECT_EQ(diverges->history().back().end, EndReason::kDiverged);
  EXPECT_FALSE(std::isfinite(diverges->history().back().train_loss));
  test.ExpectAsAlone(*diverges, "the one that diverges");
  test.array.Remove(diverges);
  while (!neighbour->finished()) test.Epoch();
  test.ExpectAsAlone(*neighbour, "its neighbour");
}

}  // namespace tune::models
