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
    if (turn_ == 0) Make(copies_.back());
  }
  void Close() {
    groups_.push_back(open_);
    open_ = 0;
  }
  void AwaitAllBut(size_t latest) {
    for (; groups_.size() > latest; groups_.pop_front()) {
      for (int i = 0; i < groups_.front(); ++i, copies_.pop_front()) {
        Make(copies_.front());
      }
    }
  }

 private:
  struct Copy {
    const void* from;  // Null: zeros.
    void* to;
    size_t bytes;
  };
  static void Make(const Copy& copy) {
    if (copy.from == nullptr) {
      std::memset(copy.to, 0, copy.bytes);
    } else {
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }
  std::deque<Copy> copies_;
  std::deque<int> groups_;
  int open_ = 0;
  int turn_ = 0;
};
#endif

// `from`, of the card's memory, is aligned to four numbers, and may be read; `to` is shared, and
// gets zeros where there is nothing to copy.
template <class T>
TUNE_HOST_DEVICE void AskForCopy(const T* from, Packed<T>* to, bool is_there = true) {
#if defined(__CUDA_ARCH__)
  // "ca": by the cache near the multiprocessor, where neighbouring rows find each other's; CUDA's
  // own function goes past it with 16 bytes.
  const auto bytes = static_cast<uint32_t>(is_there ? sizeof(Packed<T>) : 0);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from)), "n"(sizeof(Packed<T>)), "r"(bytes)
               : "memory");
#else
  HostCopies::OfThread().Ask(is_there ? from : nullptr, to, sizeof(Packed<T>));
#endif
}

TUNE_HOST_DEVICE void CloseGroupOfCopies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  HostCopies::OfThread().Close();
#endif
}

// All groups but the `kLatest` closed last.
template <int kLatest>
TUNE_HOST_DEVICE void AwaitCopies() {
  static_assert(kLatest <= 8);
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kLatest) : "memory");
#else
  HostCopies::OfThread().AwaitAllBut(kLatest);
#endif
}

}  // namespace tune::models::cuda
