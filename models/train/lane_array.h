// Several runs of one shape that train as one array, an epoch at a time, in step: a lane each. A
// run joins at the border of two epochs and leaves whenever it shall; each has its own schedule,
// randomness, history, checkpoints and failure, and what it computes is what it computes alone
// (lane_runner.h).
//
//   array.Add(options, resources) ...
//   array.BeginEpoch();
//   while (array.is_in_epoch()) {
//     for (const LaneArray::Ended& ended : array.Step()) {
//       ... report and save ended.run, or remove it ...
//     }
//   }
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/train/lane_runner.h"
#include "models/train/training_run.h"

namespace tune::models {

class LaneArray {
 public:
  LaneArray(std::shared_ptr<const Dataset> dataset, std::unique_ptr<LaneRunner> runner,
            SecondsClock seconds);

  // A run of the array's shape (LaneShape in food11_options.h) in a lane of its own, there until it
  // is removed. It begins with the next epoch, and may be restored before.
  Result<TrainingRun*> Add(const Food11Options& options, const LaneResources& resources);
  void Remove(const TrainingRun* run);
  int64_t size() const { return static_cast<int64_t>(lanes_.size()); }
  std::string Note() const { return runner_->Note(); }

  // A run whose epoch is over; without a report it has failed, and does no more.
  struct Ended {
    TrainingRun* run = nullptr;
    Result<EpochReport> report;
  };

  // Requires !is_in_epoch(). Of all runs that have not finished or failed.
  std::vector<Ended> BeginEpoch();
  // Whether any run is in the midst of one.
  bool is_in_epoch() const;
  // The next step of those runs whose steps are alike and come first: what trains before what
  // evaluates. So a run that is ahead (its loss became no number) waits where the others come to.
  std::vector<Ended> Step();

 private:
  struct Lane {
    NetworkTensors* tensors = nullptr;
    std::unique_ptr<TrainingRun> run;
    bool has_failed = false;
    bool is_in_epoch() const { return !has_failed && run->is_in_epoch(); }
  };

  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<LaneRunner> runner_;
  const SecondsClock seconds_;
  std::vector<Lane> lanes_;  // In the order in which they were added.
};

}  // namespace tune::models
