// An allocator's cap: what of a device's memory a card may take, where it has a share of the device
// alone. Who asks for more is refused, and hurts nobody else.
//
// Thread rule: one thread, the card's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace tune::models::cuda {

class MemoryBudget {
 public:
  // What a process takes of a device before it allocates anything: its context, its kernels. It is
  // counted as a part of the share (about what drivers of 2025 take on an H100).
  static constexpr int64_t kContextBytes = int64_t{512} << 20;

  // 0: no cap.
  explicit MemoryBudget(int64_t bytes_max = 0) : bytes_max_(bytes_max) {}

  // kResourceExhausted, with what was asked for, what is taken and the cap.
  Status Take(int64_t bytes, const std::string& device) {
    if (bytes_max_ > 0 && bytes > bytes_max_ - taken_) {
      return ResourceExhausted(std::to_string(bytes) + " bytes more were asked for on " + device +
                               ", with " + std::to_string(taken_) + " of the share's " +
                               std::to_string(bytes_max_) +
                               " bytes taken; a smaller batch, or a larger gpu or gpu_memory");
    }
    taken_ += bytes;
    return OkStatus();
  }
  void GiveBack(int64_t bytes) { taken_ -= bytes; }

  int64_t taken() const { return taken_; }
  // What may still be taken; without a cap more than any device has.
  int64_t left() const {
    return bytes_max_ > 0 ? std::max<int64_t>(0, bytes_max_ - taken_) : int64_t{1} << 60;
  }
  // From now on. What is taken stays taken.
  void SetMax(int64_t bytes_max) { bytes_max_ = bytes_max; }

 private:
  int64_t bytes_max_;
  int64_t taken_ = 0;
};

// The cap of a process with this part of a device's memory: what is left of it beside the context,
// at least one byte; 0 of 0.
int64_t CapOfShare(int64_t bytes);
// The same of a text ("20000000000", as TUNE_GPU_MEMORY_BYTES has it; empty, or no number: no cap).
MemoryBudget BudgetOfShare(const std::string& bytes);

}  // namespace tune::models::cuda
