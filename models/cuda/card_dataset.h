// A data set on a card, and what a step's images are there. For any Device of lane_network.h, so
// that it is tested without a card too.
//
// Thread rule: one thread, the device's. Errors: the device's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/status.h"
#include "models/cuda/augment.h"
#include "models/cuda/step_input.h"
#include "models/data/dataset.h"
#include "models/train/batch_runner.h"

namespace tune::models::cuda {

// The key of the dropout of the image at `place` of a batch.
inline uint64_t DropoutKey(uint64_t dropout_seed, size_t place) {
  return KeyedRandom(dropout_seed, "dropout", place).key();
}

// The place of a step's first image in the batch, of which it may be a share.
inline size_t FirstImage(const TrainStepOptions& options) {
  return options.share ? static_cast<size_t>(options.share->first_image) : 0;
}

// The data set lies on the card, 8-bit, all three splits; images are changed and normalised there.
template <class Device>
class CardDataset {
 public:
  // The device outlives it.
  static Result<CardDataset> Make(Device& device, std::shared_ptr<const Dataset> dataset) {
    CardDataset set(device, std::move(dataset));
    TUNE_RETURN_IF_ERROR(device.Finish());
    return Result<CardDataset>(std::move(set));
  }

  const uint8_t* Of(Split split) const { return sets_[static_cast<size_t>(split)].data(); }

  // What a step's images are. Appended.
  void AppendInputs(const BatchStep& step, std::vector<ImageInput>& inputs) const {
    const ImageSet& set = dataset_->split(step.split);
    for (int64_t i = 0; i < step.count; ++i) {
      ImageInput input;
      input.source = step.trains() ? step.images[static_cast<size_t>(i)] : step.begin + i;
      input.label = set.labels[static_cast<size_t>(input.source)];
      if (step.trains()) {
        input.dropout_key = DropoutKey(step.options.dropout_seed,
                                       FirstImage(step.options) + static_cast<size_t>(i));
        input.change = ToChange(DrawAugmentation(step.augmentation, step.epoch, input.source),
                                dataset_->image_size);
      }
      inputs.push_back(input);
    }
  }

 private:
  using Bytes = typename Device::template Array<uint8_t>;

  CardDataset(Device& device, std::shared_ptr<const Dataset> dataset)
      : dataset_(std::move(dataset)) {
    for (const Split split : kSplits) {
      const std::span<const uint8_t> pixels = dataset_->split(split).pixels;
      const int64_t size = static_cast<int64_t>(pixels.size());
      Bytes& set = sets_[static_cast<size_t>(split)];
      set = device.template New<uint8_t>(size);
      device.Upload(pixels.data(), size, set.data());
    }
  }

  std::shared_ptr<const Dataset> dataset_;
  std::array<Bytes, 3> sets_;  // (images, image_size, image_size, 3)
};

}  // namespace tune::models::cuda
