// Runs as lanes of one array on the CPU.
#include "models/train/lane_array.h"

#include "tests/models/training/lane_cases.h"

namespace tune::models {
namespace {

LaneWorld OnTheHost() {
  LaneWorld world;
  world.lanes = [](std::shared_ptr<const Dataset> data) {
    const NetworkOptions options = NetworkOptionsOf(LaneOptions(0), data->class_count(), 1);
    return MakeHostLaneRunner(options, std::move(data));
  };
  world.alone = [](const Food11Options& options, std::shared_ptr<const Dataset> data) {
    Result<std::unique_ptr<Trainer>> trainer =
        MakeTrainer(options, std::move(data), 1, [] { return 0.0; });
    EXPECT_TRUE(trainer.ok()) << trainer.status().message();
    return *std::move(trainer);
  };
  return world;
}

TEST(Lanes, OfAllPhasesAreAsAlone) { LanesOfAllPhasesAreAsAlone(OnTheHost()); }
TEST(Lanes, JoinAndLeaveWithoutATrace) { LanesJoinAndLeaveWithoutATrace(OnTheHost()); }
TEST(Lanes, ThatDivergeHurtThemselvesAlone) { ALaneThatDivergesHurtsItselfAlone(OnTheHost()); }

TEST(Lanes, RefuseARunThatCannotBeOneAndGoOn) {
  LaneTest test(OnTheHost());
  TrainingRun* const run = test.Add(LaneOptions(1));
  Food11Options absent = LaneOptions(2);
  absent.weights = "/nonexistent.safetensors";
  const Result<TrainingRun*> refused = test.array.Add(absent, {});
  EXPECT_EQ(refused.status().code(), StatusCode::kNotFound) << refused.status().message();
  EXPECT_EQ(test.array.size(), 1);
  test.Epoch();
  EXPECT_EQ(run->history().size(), 1u);
}

TEST(LaneShape, IsThatOfTheNetworkTheDataAndTheDevice) {
  const std::string shape = LaneShape(LaneOptions(1));
  Food11Options other = LaneOptions(2);
  other.lr = 0.5;
  other.fine_tune_lr = 0.25;
  other.dropout_probability = 0.75;
  other.initial_epochs = 7;
  other.total_epochs = 70;
  other.patience = 7;
  other.weight_decay = 0.5;
  other.augmentation = 0.5;
  other.weights = "some.safetensors";
  EXPECT_EQ(LaneShape(other), shape);
  const std::vector<std::function<void(Food11Options&)>> changes = {
      [](Food11Options& o) { o.batch_size = 6; },
      [](Food11Options& o) { o.image_size = 64; },
      [](Food11Options& o) { o.width_mult = 0.5; },
      [](Food11Options& o) { o.device = DeviceKind::kCuda; },
      [](Food11Options& o) { o.precision = Precision::kBf16; },
      [](Food11Options& o) { o.data = "elsewhere"; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Food11Options changed = LaneOptions(1);
    changes[i](changed);
    EXPECT_NE(LaneShape(changed), shape) << i;
  }
}

}  // namespace
}  // namespace tune::models
