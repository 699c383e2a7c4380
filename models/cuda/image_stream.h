// Images of a data set on their way to a card that has no room for them all: those of one step lie
// in one of two slots there, those of the next are gathered into memory that the card reads by
// itself, and copied to the other slot, while it computes. For any Device of lane_network.h.
//
// Thread rule: one thread, the device's; it gathers in a thread of its own. Errors: the device's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/status.h"
#include "models/data/dataset.h"

namespace tune::models::cuda {

// By their numbers in the split.
struct StreamedImages {
  Split split = Split::kTraining;
  std::vector<int64_t> numbers;

  bool operator==(const StreamedImages&) const = default;
};

inline int64_t ImageBytes(const Dataset& dataset) {
  return int64_t{3} * dataset.image_size * dataset.image_size;
}
// What an ImageStream takes of a card's memory.
inline int64_t StreamBytes(const Dataset& dataset, int64_t images_max) {
  return 2 * images_max * ImageBytes(dataset);
}

template <class Device>
class ImageStream {
 public:
  // For at most so many images at a time. The device outlives it, and its status tells whether
  // there was memory.
  ImageStream(Device& device, std::shared_ptr<const Dataset> dataset, int64_t images_max)
      : device_(device),
        dataset_(std::move(dataset)),
        image_bytes_(ImageBytes(*dataset_)),
        copies_(device) {
    for (Slot& slot : slots_) {
      slot.staged = device.template NewOnHost<uint8_t>(images_max * image_bytes_);
      slot.on_card = device.template New<uint8_t>(images_max * image_bytes_);
    }
    if (device.status().ok()) gatherer_ = std::thread([this] { Gather(); });
  }
  ~ImageStream() {
    if (!gatherer_.joinable()) return;
    AwaitGatherer();
    ask_.release();  // For nothing: it ends.
    gatherer_.join();
  }

  // Where images lie on the card, each after the other, for what is asked of the device from now
  // on. Then those of the next call are sent for, if any are named. What was asked of the device
  // for the call before is done.
  Result<const uint8_t*> Bring(const StreamedImages& now, StreamedImages next) {
    AwaitGatherer();
    TUNE_RETURN_IF_ERROR(device_.status());
    Slot& slot = slots_[slot_of_next_];
    if (slot.images == now) {
      ++ahead_count_;
    } else {
      slot.images = now;
      Send(slot);
      ++late_count_;
    }
    device_.WaitFor(copies_);
    TUNE_RETURN_IF_ERROR(device_.status());
    slot_of_next_ = 1 - slot_of_next_;
    slots_[slot_of_next_].images = std::move(next);
    is_gathering_ = !slots_[slot_of_next_].images.numbers.empty();
    if (is_gathering_) ask_.release();
    return slot.on_card.data();
  }

  // Steps whose images were sent for ahead, and others.
  int64_t ahead_count() const { return ahead_count_; }
  int64_t late_count() const { return late_count_; }

 private:
  struct Slot {
    typename Device::template HostArray<uint8_t> staged;
    typename Device::template Array<uint8_t> on_card;
    StreamedImages images;
  };

  void Send(const Slot& slot) {
    const std::vector<int64_t>& numbers = slot.images.numbers;
    const int64_t bytes = static_cast<int64_t>(numbers.size()) * image_bytes_;
    TUNE_CHECK(bytes <= slot.staged.size());
    uint8_t* to = slot.staged.data();
    for (const int64_t number : numbers) {
      const std::span<const uint8_t> image = dataset_->image(slot.images.split, number);
      to = std::copy(image.begin(), image.end(), to);
    }
    copies_.Start(slot.staged.data(), bytes, slot.on_card.data());
  }

  // The gatherer has the slot of the next step, and the copies, while is_gathering_.
  void Gather() {
    for (ask_.acquire(); is_gathering_; ask_.acquire()) {
      Send(slots_[slot_of_next_]);
      sent_.release();
    }
  }
  void AwaitGatherer() {
    if (is_gathering_) sent_.acquire();
    is_gathering_ = false;
  }

  Device& device_;
  const std::shared_ptr<const Dataset> dataset_;
  const int64_t image_bytes_;
  std::array<Slot, 2> slots_;
  typename Device::Copies copies_;  // Ends before the slots.
  size_t slot_of_next_ = 0;
  bool is_gathering_ = false;  // Changed while the gatherer waits.
  std::binary_semaphore ask_{0}, sent_{0};
  std::thread gatherer_;
  int64_t ahead_count_ = 0;
  int64_t late_count_ = 0;
};

}  // namespace tune::models::cuda
