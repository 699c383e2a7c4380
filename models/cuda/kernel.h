// How the card's kernels are written, so that the processor can run them too.
//
// A kernel is a value: sizes and pointers, and `Run<phase>(thread, shared)`, what one thread does
// in one phase. Between two phases the threads of a block wait for each other; what a thread hands
// to others goes through `shared`. A card runs all threads at once (cuda_card.cuh), the processor
// one after the other (host_card.h): arithmetic, geometry and reductions are the same source, and
// are tested where there is no card.
//
// A kernel has: kThreads (of a block), kPhases, `Shared` and
//   template <int kPhase> TUNE_HOST_DEVICE void Run(const Thread&, Shared&) const;
// and may have kResidentBlocks: how many of its blocks a multiprocessor is to hold at a time, for
// which the compiler keeps its registers few enough.
//
// Every tensor begins with its lane: a lane is one trial of those that train as one array, and the
// lanes' numbers never meet. No kernel uses atomics, so all sums have one order and all results the
// same bits each time.
//
// Thread rule: values.
#pragma once

#include <cstdint>

#include "models/host_device.h"

namespace tune::models::cuda {

struct Thread {
  int block_x = 0;
  int block_y = 0;
  int lane = 0;   // The grid's third dimension.
  int index = 0;  // In its block.
};

struct Grid {
  int64_t blocks_x = 1;
  int64_t blocks_y = 1;
  int lanes = 1;
};

struct NothingShared {};

template <class Kernel>
constexpr int ResidentBlocks() {
  if constexpr (requires { Kernel::kResidentBlocks; }) return Kernel::kResidentBlocks;
  return 0;  // As the compiler likes.
}

// Threads of a block where nothing else is said.
inline constexpr int kBlockThreads = 256;

TUNE_HOST_DEVICE int64_t CeilDivide(int64_t count, int64_t by) { return (count + by - 1) / by; }

}  // namespace tune::models::cuda
