// One training run, a step at a time: what its network shall do next, what follows from the result.
// It draws the shuffle, keeps the schedule, the history and the best epoch, and knows when the run
// is over; who computes is another's business: a network of its own (trainer.h), or one lane among
// others (lane_array.h).
//
//   TUNE_RETURN_IF_ERROR(run.BeginEpoch());
//   while (run.is_in_epoch()) {
//     ... a network does run.NextStep() ...
//     TUNE_RETURN_IF_ERROR(run.Take(result));
//   }
//
// For `initial_epochs` only the head trains; then the backbone joins at fine_tune_lr, which doubles
// each epoch until it meets lr. Each epoch is shuffled anew; the last short batch is kept unless it
// is a single image (or, of several ranks, fewer than two images for each). The run ends after
// total_epochs, after `patience` epochs without a lower val_loss (the lab's early stopping watches
// it), or when a loss is no longer finite. The best epoch is the one that the options' rule says
// (best_epoch.h), the earliest on a tie: its weights are kept, and tested when the run ends.
//
// Thread rule: one thread. Errors: those of the network's tensors, and of files where it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

// Whose checkpoint a run goes on from.
enum class CheckpointOf {
  kThisRun,      // Its own, or one that was to be the same: all options are as they were.
  kOtherOptions  // Another run's, whose training goes on with these options.
};

class TrainingRun {
 public:
  // The dataset has the options' image size, training images for one batch at least and no empty
  // split; the tensors are those of a network that fits both, computes with `threads`, and outlives
  // the run. `batch_min`: the fewest images that are trained on.
  TrainingRun(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
              NetworkTensors& tensors, SecondsClock seconds, int threads,
              int batch_min = kImagesPerRankMin);

  // Requires !finished() and !is_in_epoch(). `lanes`: how many runs train as one with it.
  Status BeginEpoch(int lanes = 1);
  bool is_in_epoch() const { return pass_ != Pass::kNone; }
  // Requires is_in_epoch(). Valid until the next Take.
  BatchStep NextStep() const;
  // What came of it. With the last one the epoch's report is the history's last.
  Status Take(const BatchResult& result);

  bool finished() const { return !history_.empty() && history_.back().end != EndReason::kNone; }
  // Whether it has finished and its best epoch was never tested: what was restored is past a limit
  // of these options that it was not trained with.
  bool owes_test() const;
  // Requires owes_test(). As BeginEpoch: with the last step the history's last has the test.
  Status BeginTest();
  // Every epoch so far, restored ones too. When finished, the last one has the end's reason.
  const std::vector<EpochReport>& history() const { return history_; }
  int best_epoch() const { return best_epoch_; }
  const Food11Options& options() const { return options_; }

  // One line if what was restored was computed with another number of threads, on which the
  // rounding of sums depends: from there on the run is not what it would have been. Else "".
  std::string ThreadsNote() const;

  // Between epochs. Durable when it returns; the folder's path. `name`: empty: CheckpointName of
  // the last epoch. Errors are WriteCheckpoint's. Requires at least one epoch.
  Result<std::string> SaveCheckpoint(const std::string& parent, const std::string& name = "") const;

  // Goes on from there. Fails, with nothing changed, if the folder cannot be used (ReadCheckpoint's
  // errors; kDataLoss also for tensors of another network) or was made with other options or data
  // (kFailedPrecondition, naming the first that differs and both values). total_epochs and patience
  // may differ; of other options all may that are not fixed (food11_options.h). From another run's
  // checkpoint the best epoch is sought anew: an epoch of another run is no result of this one.
  Status RestoreCheckpoint(const std::string& folder, CheckpointOf of = CheckpointOf::kThisRun);

 private:
  enum class Pass { kNone, kTraining, kValidation, kTest };

  void BeginPass(Pass pass);
  Status EndPass();
  Status EndTraining();
  Status EndValidation();
  Status BeginTestPass();
  Status EndTest();
  int64_t PassImageCount() const;
  // Of this pass: a step's; none at its end.
  BatchImages ImagesFrom(int64_t begin) const;
  TrainStepOptions StepOptions(int epoch) const;
  std::vector<int64_t> Shuffled(int epoch) const;
  void NoteBest(const EpochReport& report);
  int EpochOfLowestLoss(const EpochReport& report) const;
  EndReason ReasonToEnd(const EpochReport& report) const;

  const Food11Options options_;
  const std::shared_ptr<const Dataset> dataset_;
  NetworkTensors& tensors_;
  const SecondsClock seconds_;
  const int threads_;
  const int batch_min_;
  int restored_threads_ = 0;  // 0: unknown, or nothing was restored.
  std::vector<EpochReport> history_;
  int best_epoch_ = 0;
  std::vector<NamedTensor> best_weights_;  // Empty if best_epoch_ is the last epoch, or 0.

  // The epoch that is under way.
  Pass pass_ = Pass::kNone;
  EpochReport report_;
  std::vector<int64_t> order_;  // The training images.
  int64_t begin_ = 0;           // Images of the pass that have been.
  int64_t step_count_ = 0;      // Steps likewise.
  PassTotals totals_;
  double started_ = 0;                  // By the clock.
  std::vector<NamedTensor> put_aside_;  // The last epoch's weights, while the best ones are tested.
};

// What the constructor requires of the data, checked (kInvalidArgument).
Status CheckData(const Food11Options& options, const Dataset& dataset, int world_size = 1);

}  // namespace tune::models
