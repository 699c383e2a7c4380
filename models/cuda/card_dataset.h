// A data set on a card, and what a step's images are there. For any Device of lane_network.h, so
// that it is tested without a card too.
//
// Thread rule: one thread, the device's; a stream has one more. Errors: the device's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/status.h"
#include "models/cuda/augment.h"
#include "models/cuda/image_stream.h"
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

// The images of a step: `set` on the card, (images, image_size, image_size, 3), and which of them.
struct CardImages {
  const uint8_t* set = nullptr;
  std::vector<ImageInput> inputs;
};

// What the card has room for lies there, 8-bit, a split as a whole, the training split first; the
// others stream (image_stream.h). Images are changed and normalised on the card.
template <class Device>
class CardDataset {
 public:
  explicit CardDataset(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}

  // Decides anew which splits lie on the card, in the room that the network left; a step has at
  // most `images_max` images, over all its lanes. Called before the first step, and whenever the
  // device, which is kept, or its network is another one. kResourceExhausted where there is no room
  // to stream either.
  Status Place(Device& device, int64_t images_max) {
    EndStream();
    int64_t room = device.FreeBytes(), all_bytes = 0;
    for (const Split split : kSplits) {
      room += OnCard(split).size();
      all_bytes += BytesOf(split);
    }
    const bool streams = all_bytes > room;
    if (streams) room -= StreamBytes(*dataset_, images_max);
    std::array<bool, kSplits.size()> has_room = {};
    for (const Split split : kSplits) {
      has_room[Index(split)] = BytesOf(split) <= room;
      if (has_room[Index(split)]) {
        room -= BytesOf(split);
      } else {
        OnCard(split) = Bytes();
      }
    }
    for (const Split split : kSplits) {
      if (has_room[Index(split)] && OnCard(split).size() == 0) Upload(device, split);
    }
    if (streams) stream_ = std::make_unique<ImageStream<Device>>(device, dataset_, images_max);
    const Status placed = device.Finish();
    if (!placed.ok()) Clear();  // Some of it was not allocated.
    return placed;
  }
  // Before the device goes, or its network is made anew. What lies on the card stays there.
  void EndStream() { stream_.reset(); }
  // Nothing lies on the card until the next Place.
  void Clear() {
    EndStream();
    for (Bytes& set : sets_) set = Bytes();
  }

  // Of the steps of all lanes, which are alike, for what is asked of the device from now on. What
  // was asked of it for the call before is done.
  Result<CardImages> Bring(std::span<const BatchStep> steps) {
    CardImages images;
    for (const BatchStep& step : steps) AppendInputs(step, images.inputs);
    const Split split = steps.front().split;
    images.set = OnCard(split).data();
    if (!Streams(split)) return images;
    // What is evaluated is the same images for all.
    const auto lanes = steps.first(steps.front().trains() ? steps.size() : 1);
    StreamedImages now, next;
    for (const BatchStep& step : lanes) {
      Append(step, now);
      Append(step.next, next);
    }
    for (size_t i = 0; i < images.inputs.size(); ++i) {
      images.inputs[i].source = static_cast<int64_t>(i % now.numbers.size());
    }
    TUNE_ASSIGN_OR_RETURN(images.set, stream_->Bring(now, std::move(next)));
    return images;
  }

  // For people: what streams; empty where nothing does.
  std::string About() const {
    if (stream_ == nullptr) return "";
    std::string streamed;
    for (const Split split : kSplits) {
      if (!Streams(split)) continue;
      streamed += (streamed.empty() ? "" : ", ") + std::string(SplitName(split)) + " (" +
                  std::to_string((BytesOf(split) + 999'999) / 1'000'000) + " MB)";
    }
    return "there is no room for all images on the device; these stream to it: " + streamed;
  }
  // Null where nothing streams.
  const ImageStream<Device>* stream() const { return stream_.get(); }

 private:
  using Bytes = typename Device::template Array<uint8_t>;

  static size_t Index(Split split) { return static_cast<size_t>(split); }
  Bytes& OnCard(Split split) { return sets_[Index(split)]; }
  int64_t BytesOf(Split split) const {
    return static_cast<int64_t>(dataset_->split(split).pixels.size());
  }
  bool Streams(Split split) const { return sets_[Index(split)].size() < BytesOf(split); }

  void Upload(Device& device, Split split) {
    OnCard(split) = device.template New<uint8_t>(BytesOf(split));
    device.Upload(dataset_->split(split).pixels.data(), BytesOf(split), OnCard(split).data());
  }

  static void Append(const BatchImages& images, StreamedImages& streamed) {
    streamed.split = images.split;
    for (int64_t i = 0; i < images.count; ++i) streamed.numbers.push_back(images.Number(i));
  }

  void AppendInputs(const BatchStep& step, std::vector<ImageInput>& inputs) const {
    const ImageSet& set = dataset_->split(step.split);
    for (int64_t i = 0; i < step.count; ++i) {
      ImageInput input;
      input.source = step.Number(i);
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

  const std::shared_ptr<const Dataset> dataset_;
  std::array<Bytes, kSplits.size()> sets_;  // What lies on the card.
  std::unique_ptr<ImageStream<Device>> stream_;
};

}  // namespace tune::models::cuda
