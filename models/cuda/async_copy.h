// Numbers on their way from a card's memory to a block's shared memory (cp.async; CUDA C++
// Programming Guide, "Asynchronous Data Copies"): more of them than a thread has registers for, so
// that a thread that works along a row seldom waits.
//
// A thread asks for copies, closes a group of them, and awaits all groups but its latest: what was
// not awaited may not be there, and what was asked for may be there already. So on the processor
// each third copy is made at once, the others when they are awaited and no sooner: a kernel that
// forgets to wait, or asks for something in a place that it still reads, does not get far.
//
// Thread rule: each thread awaits its own copies.
#pragma once

#include "models/cuda/number.h"

#if defined(__CUDACC__)
#include <cuda_pipeline.h>
#endif
#if !defined(__CUDA_ARCH__)
#include <cstring>
#include <deque>
#endif

namespace tune::models::cuda {

#if !defined(__CUDA_ARCH__)
class HostCopies {
 public:
  static HostCopies& OfThread() {
    static thread_local HostCopies copies;
    return copies;
  }
  void Ask(const void* from, void* to, size_t bytes) {
    copies_.push_back({from, to, bytes});
    ++open_;
    turn_ = (turn_ + 1) % 3;
    if (turn_ == 0) std::memcpy(to, from, bytes);
  }
  void Close() {
    groups_.push_back(open_);
    open_ = 0;
  }
  void AwaitAllBut(size_t latest) {
    for (; groups_.size() > latest; groups_.pop_front()) {
      for (int i = 0; i < groups_.front(); ++i, copies_.pop_front()) {
        std::memcpy(copies_.front().to, copies_.front().from, copies_.front().bytes);
      }
    }
  }

 private:
  struct Copy {
    const void* from;
    void* to;
    size_t bytes;
  };
  std::deque<Copy> copies_;
  std::deque<int> groups_;
  int open_ = 0;
  int turn_ = 0;
};
#endif

// `from`, of the card's memory, is aligned to four numbers; `to` is shared.
template <class T>
TUNE_HOST_DEVICE void AskForCopy(const T* from, Packed<T>* to) {
#if defined(__CUDA_ARCH__)
  __pipeline_memcpy_async(to, from, sizeof(Packed<T>));
#else
  HostCopies::OfThread().Ask(from, to, sizeof(Packed<T>));
#endif
}

TUNE_HOST_DEVICE void CloseGroupOfCopies() {
#if defined(__CUDA_ARCH__)
  __pipeline_commit();
#else
  HostCopies::OfThread().Close();
#endif
}

// All groups but the `kLatest` closed last.
template <int kLatest>
TUNE_HOST_DEVICE void AwaitCopies() {
  static_assert(kLatest <= 8);
#if defined(__CUDA_ARCH__)
  __pipeline_wait_prior(kLatest);
#else
  HostCopies::OfThread().AwaitAllBut(kLatest);
#endif
}

}  // namespace tune::models::cuda
