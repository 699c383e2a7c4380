// The lab's training loop for one configuration, an epoch at a time: one run (training_run.h) with
// a network of its own.
//
//   TUNE_ASSIGN_OR_RETURN(auto trainer, MakeTrainer(options, dataset, threads, seconds));
//   while (!trainer->finished()) {
//     TUNE_ASSIGN_OR_RETURN(EpochReport report, trainer->RunEpoch());
//     TUNE_ASSIGN_OR_RETURN(std::string folder, trainer->SaveCheckpoint(parent));
//     ... report; stop when told ...
//   }
//
// Determinism: the same options, data, thread count and number of ranks give the same weights bit
// for bit, also across SaveCheckpoint, RestoreCheckpoint in another process, and on.
// Thread rule: one thread drives a Trainer; inside, it uses the network's number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/mobilenet_v2.h"
#include "models/ranks/all_reduce.h"
#include "models/train/batch_runner.h"
#include "models/train/training_run.h"

namespace tune::models {

class Trainer {
 public:
  // The dataset has the options' image size, no empty split, and training images for one batch at
  // least; the network fits both. `batches` runs this network on this data; null: in this process's
  // memory. `world_size`: the ranks that share each batch.
  Trainer(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
          std::unique_ptr<MobileNetV2> network, SecondsClock seconds,
          std::unique_ptr<BatchRunner> batches = nullptr, int world_size = 1);

  // The first epoch begins by comparing with the other ranks, which do so too, what must be alike
  // (rank_check.h). `ranks` outlives the trainer.
  void CheckAgainst(AllReduce& ranks) { unchecked_ranks_ = &ranks; }

  // Requires !finished().
  Result<EpochReport> RunEpoch();
  // Requires run().owes_test(): the last epoch's report, with the test.
  Result<EpochReport> RunTest();
  MobileNetV2& network() { return *network_; }
  std::string Note() const { return batches_->Note(); }

  // The run (training_run.h), and what is its own.
  const TrainingRun& run() const { return run_; }
  bool finished() const { return run_.finished(); }
  const std::vector<EpochReport>& history() const { return run_.history(); }
  int best_epoch() const { return run_.best_epoch(); }
  const Food11Options& options() const { return run_.options(); }
  Result<std::string> SaveCheckpoint(const std::string& parent,
                                     const std::string& name = "") const {
    return run_.SaveCheckpoint(parent, name);
  }
  Status RestoreCheckpoint(const std::string& folder, CheckpointOf of = CheckpointOf::kThisRun) {
    return run_.RestoreCheckpoint(folder, of);
  }

 private:
  Result<EpochReport> RunSteps();

  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<MobileNetV2> network_;
  const std::unique_ptr<BatchRunner> batches_;
  TrainingRun run_;
  AllReduce* unchecked_ranks_ = nullptr;  // Null: there is nobody to compare with any more.
};

// Of one of `world_size` ranks.
NetworkOptions NetworkOptionsOf(const Food11Options& options, int class_count, int threads,
                                int world_size = 1);

// What a wish comes to for ranks that train together, on each of which this is called: with kAuto
// all compute on cards, if each has one, or none does. Errors are PlaceDevice's and AllReduce's.
Result<PlacedDevice> AgreeOnDevice(DeviceKind wanted, AllReduce& ranks);

// From the file that options.weights names, if it does (the head may differ). kInternal: it cannot
// be read now.
Status LoadWeights(const Food11Options& options, NetworkTensors& tensors);

// The network for the options, its weights drawn from the seed or loaded.
Result<std::unique_ptr<MobileNetV2>> MakeNetwork(const Food11Options& options, int class_count,
                                                 int threads, int world_size = 1);

// Network and trainer, with what the constructor requires checked (kInvalidArgument). `ranks`:
// those that train this together, each with a trainer of its own, all options and data alike, which
// the first epoch checks (kFailedPrecondition); null: one alone. It outlives the trainer. The
// trainer's options say what kAuto came to (AgreeOnDevice).
Result<std::unique_ptr<Trainer>> MakeTrainer(const Food11Options& options,
                                             std::shared_ptr<const Dataset> dataset, int threads,
                                             SecondsClock seconds, AllReduce* ranks = nullptr);

}  // namespace tune::models
