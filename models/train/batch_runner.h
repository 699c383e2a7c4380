// Where a training loop's batches are made and run: images of a data set, by their numbers, through
// one network. The host's runner augments them in memory with the network's threads; a card's
// (models/cuda/) keeps the data set, or what has room of it, and does all of it there.
//
// Thread rule: one thread drives a runner and its network.
// Errors: the network's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"
#include "models/data/augment.h"
#include "models/data/dataset.h"
#include "models/mobilenet_v2.h"

namespace tune::models {

// Images of a split: of training those that are named, else those that lie from `begin` on.
struct BatchImages {
  Split split = Split::kTraining;
  int64_t begin = 0;  // Images of the pass that were before these.
  int64_t count = 0;
  std::span<const int64_t> images;  // (count), or empty.

  int64_t Number(int64_t place) const {
    return images.empty() ? begin + place : images[static_cast<size_t>(place)];
  }
};

// A step of a run: an optimizer step on images of the training split, as they look in an epoch
// (DrawAugmentation), or images of another one in evaluation mode, as they are.
struct BatchStep : BatchImages {
  // Of training: how.
  int epoch = 0;
  AugmentationOptions augmentation;
  TrainStepOptions options;
  // Those of the step after this one, for who fetches ahead; none at the end of a pass.
  BatchImages next;

  bool trains() const { return split == Split::kTraining; }
};

class BatchRunner {
 public:
  virtual ~BatchRunner() = default;

  virtual Result<BatchResult> Run(const BatchStep& step) = 0;
  // What a log should say of how it runs: lines without the last one's end, mostly none.
  virtual std::string Note() const { return ""; }
};

// Network and data set outlive the runner.
std::unique_ptr<BatchRunner> MakeHostBatchRunner(MobileNetV2& network, const Dataset& dataset);

// Means over a pass through a split.
struct Score {
  double loss = 0;
  double accuracy = 0;
  int64_t image_count = 0;
};

// Sums over the batches of a pass.
struct PassTotals {
  double loss_sum = 0;
  int64_t correct_count = 0;
  int64_t image_count = 0;

  void Add(const BatchResult& result, size_t count);
  Score ToScore() const;
};

// All `image_count` images of a split, at least one, in batches of `batch_size`, which the network
// must take.
Result<Score> EvaluateSplit(BatchRunner& batches, int64_t image_count, Split split, int batch_size);
// The same by the host's runner.
Result<Score> EvaluateSplit(MobileNetV2& network, const Dataset& dataset, Split split,
                            int batch_size);

}  // namespace tune::models
