// The gradient of a 1x1 convolution's weights, dw = dy' x (product.h), is a few numbers, each a sum
// over all pixels of a batch: a product that gives a tile of dw to one multiprocessor leaves most
// of a card idle. So the rows are cut into segments with a product each, all in one call, and those
// are added up in order ("split-K").
//
// Thread rule: values; see kernel.h.
#pragma once

#include <cstdint>

#include "models/cuda/kernel.h"

namespace tune::models::cuda {

// A power of two, so that each has as many rows; 1 where dw has tiles enough. It does not depend on
// the number of lanes, so that neither do a lane's bits. Of fewer rows there are no more than
// SegmentsAtMost says.
inline int64_t SegmentsAtMost(int64_t rows, int in, int out) {
  constexpr int64_t kTile = 64, kTilesWanted = 128, kRowsMin = 256;
  const int64_t tiles = CeilDivide(in, kTile) * CeilDivide(out, kTile);
  int64_t segments = 1;
  while (tiles * segments < kTilesWanted && rows >= 2 * segments * kRowsMin) segments *= 2;
  return segments;
}

inline int64_t SegmentsOf(int64_t rows, int in, int out) {
  int64_t segments = SegmentsAtMost(rows, in, out);
  while (rows % segments != 0) segments /= 2;
  return segments;
}

// sum (lane, count) of parts (lane, segments, count); a thread a number.
struct SumSegments {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  static constexpr int kPartsAtOnce = 16;  // Asked for before the first is added (rows.h).
  using Shared = NothingShared;

  const float* parts = nullptr;
  int64_t segments = 1;
  int64_t count = 0;
  float* sum = nullptr;
  int64_t lane_stride = 0;  // Of sum.

  Grid LaunchGrid(int lanes) const { return {CeilDivide(count, kThreads), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int64_t at = static_cast<int64_t>(t.block_x) * kThreads + t.index;
    if (at >= count) return;
    const float* const from = parts + t.lane * segments * count + at;
    float total = 0;
    for (int64_t segment = 0; segment < segments; segment += kPartsAtOnce) {
      float part[kPartsAtOnce];
      TUNE_UNROLL
      for (int i = 0; i < kPartsAtOnce; ++i) {
        part[i] = segment + i < segments ? from[(segment + i) * count] : 0;
      }
      TUNE_UNROLL
      for (int i = 0; i < kPartsAtOnce; ++i) total += part[i];
    }
    sum[t.lane * lane_stride + at] = total;
  }
};

}  // namespace tune::models::cuda
