// The lab's training loop for one configuration, an epoch at a time.
//
//   TUNE_ASSIGN_OR_RETURN(auto trainer, MakeTrainer(options, dataset, threads, seconds));
//   while (!trainer->finished()) {
//     TUNE_ASSIGN_OR_RETURN(EpochReport report, trainer->RunEpoch());
//     TUNE_ASSIGN_OR_RETURN(std::string folder, trainer->SaveCheckpoint(parent));
//     ... report; stop when told ...
//   }
//
// For `initial_epochs` only the head trains; then the backbone joins at fine_tune_lr, which doubles
// each epoch until it meets lr. Each epoch is shuffled anew; the last short batch is kept unless it
// is a single image. The run ends after total_epochs, after `patience` epochs without a lower
// val_loss, or when a loss is no longer finite. The best epoch is the one with the lowest val_loss
// (the lab's early stopping and checkpoint watch it), the earliest on a tie.
//
// Determinism: the same options, data and thread count give the same weights bit for bit, also
// across SaveCheckpoint, RestoreCheckpoint in another process, and on.
// Thread rule: one thread drives a Trainer; inside, it uses the network's number of threads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/mobilenet_v2.h"
#include "models/train/batch_runner.h"
#include "models/train/checkpoint.h"
#include "models/train/epoch_report.h"
#include "models/train/food11_options.h"

namespace tune::models {

// Seconds from any origin, for epoch_seconds; decides nothing.
using SecondsClock = std::function<double()>;

// Whose checkpoint a trainer goes on from.
enum class CheckpointOf {
  kThisRun,      // Its own, or one that was to be the same: all options are as they were.
  kOtherOptions  // Another run's, whose training goes on with these options.
};

class Trainer {
 public:
  // The dataset has the options' image size, at least two training images and no empty split; the
  // network fits both. `batches` runs this network on this data; null: in this process's memory.
  Trainer(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
          std::unique_ptr<MobileNetV2> network, SecondsClock seconds,
          std::unique_ptr<BatchRunner> batches = nullptr);

  // Requires !finished().
  Result<EpochReport> RunEpoch();
  bool finished() const { return !history_.empty() && history_.back().end != EndReason::kNone; }

  // Every epoch so far, restored ones too. When finished, the last one has the end's reason.
  const std::vector<EpochReport>& history() const { return history_; }
  int best_epoch() const { return best_epoch_; }
  const Food11Options& options() const { return options_; }
  MobileNetV2& network() { return *network_; }

  // Durable when it returns; the folder's path. `name`: empty: CheckpointName of the last epoch.
  // Errors are WriteCheckpoint's. Requires at least one epoch.
  Result<std::string> SaveCheckpoint(const std::string& parent, const std::string& name = "") const;

  // Goes on from there. Fails, with nothing changed, if the folder cannot be used (ReadCheckpoint's
  // errors; kDataLoss also for tensors of another network) or was made with other options or data
  // (kFailedPrecondition, naming the first that differs and both values). total_epochs and patience
  // may differ; of other options all may that are not fixed (food11_options.h).
  Status RestoreCheckpoint(const std::string& folder, CheckpointOf of = CheckpointOf::kThisRun);

 private:
  Result<Score> TrainPass(int epoch);
  Result<Score> EvaluateBest();
  Result<Score> EvaluatePass(Split split);
  TrainStepOptions StepOptions(int epoch) const;
  std::vector<int64_t> Shuffled(int epoch) const;
  void NoteBest(const EpochReport& report);
  EndReason ReasonToEnd(const EpochReport& report) const;

  const Food11Options options_;
  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<MobileNetV2> network_;
  const SecondsClock seconds_;
  const std::unique_ptr<BatchRunner> batches_;
  std::vector<EpochReport> history_;
  int best_epoch_ = 0;
  std::vector<NamedTensor> best_weights_;  // Empty if best_epoch_ is the last epoch, or 0.
};

// The network for the options, its weights drawn from the seed and, if options.weights names a
// file, loaded from it (the head may differ).
Result<std::unique_ptr<MobileNetV2>> MakeNetwork(const Food11Options& options, int class_count,
                                                 int threads);

// Network and trainer, with what the constructor requires checked (kInvalidArgument).
Result<std::unique_ptr<Trainer>> MakeTrainer(const Food11Options& options,
                                             std::shared_ptr<const Dataset> dataset, int threads,
                                             SecondsClock seconds);

}  // namespace tune::models
