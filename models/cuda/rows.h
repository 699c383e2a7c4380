// Passes over the rows of a tensor (lane, rows, channels): a row is a pixel. One thread takes four
// channels of every so many-th row; a sum over rows leaves one partial sum a chunk of rows, which
// the kernels of batch_norm.h add in order.
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/kernel.h"
#include "models/cuda/number.h"

namespace tune::models::cuda {

// Partial sums of a tensor at most. As many blocks as keep a large card busy.
inline constexpr int64_t kChunksMax = 1024;

// Which thread takes what. A block is `columns` threads wide (four channels each) and as many lines
// high as its threads allow; blocks_x tiles the channels, blocks_y the rows in chunks. It does not
// depend on the number of lanes, so that neither do a lane's bits.
struct RowGeometry {
  int64_t rows = 0;
  int channels = 0;
  int columns = 1;
  int64_t chunks = 1;

  // A thread takes `rows_a_thread` rows, more where there would be too many chunks.
  static RowGeometry Of(int64_t rows, int channels, int64_t rows_a_thread = 4) {
    RowGeometry g;
    g.rows = rows;
    g.channels = channels;
    while (g.columns < 32 && g.columns * kVector < channels) g.columns *= 2;
    const int64_t wanted = CeilDivide(rows, rows_a_thread * g.lines());
    const int64_t most = kChunksMax / g.tiles();
    g.chunks = wanted < most ? wanted : most;
    if (g.chunks < 1) g.chunks = 1;
    return g;
  }
  Grid LaunchGrid(int lanes) const { return {tiles(), chunks, lanes}; }

  TUNE_HOST_DEVICE int lines() const { return kBlockThreads / columns; }
  TUNE_HOST_DEVICE int64_t tiles() const {
    return CeilDivide(channels, int64_t{columns} * kVector);
  }
  TUNE_HOST_DEVICE int Channel(const Thread& t) const {
    return (t.block_x * columns + t.index % columns) * kVector;
  }
  TUNE_HOST_DEVICE int Line(const Thread& t) const { return t.index / columns; }
  TUNE_HOST_DEVICE int64_t Begin(int64_t chunk) const { return rows * chunk / chunks; }
  // Where this thread's four partial sums number `which` of `count` lie.
  TUNE_HOST_DEVICE int64_t PartialAt(const Thread& t, int which, int count) const {
    return ((t.lane * chunks + t.block_y) * count + which) * channels + Channel(t);
  }
};

// The lines' sums of a block, added in order by the threads of line 0.
template <int kCount>
struct LineSums {
  Quad of[kBlockThreads][kCount];
};

template <int kCount>
TUNE_HOST_DEVICE void AddLines(const RowGeometry& g, const Thread& t,
                               const LineSums<kCount>& shared, float* partial) {
  const int channel = g.Channel(t);
  if (g.Line(t) != 0 || channel >= g.channels) return;
  for (int which = 0; which < kCount; ++which) {
    Quad sum = shared.of[t.index][which];
    for (int line = 1; line < g.lines(); ++line) {
      TUNE_UNROLL
      for (int i = 0; i < kVector; ++i) {
        sum.v[i] += shared.of[line * g.columns + t.index][which].v[i];
      }
    }
    StoreQuad(sum, partial + g.PartialAt(t, which, kCount));
  }
}

// Operation::Row(lane, row, at, channel_values) for each row; `at` is the place of the four numbers
// in a tensor of this shape. Operation::Begin(lane, channel) loads what belongs to the channels.
// With sums: Row adds to a QuadSums, and `partial` (lane, chunk, 2, channels) gets them.
template <class Operation>
struct SumPass {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 2;
  using Shared = LineSums<2>;

  Operation operation;
  RowGeometry g;
  float* partial = nullptr;

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    if constexpr (kPhase == 1) {
      AddLines<2>(g, t, shared, partial);
    } else {
      const int channel = g.Channel(t);
      if (channel >= g.channels) return;
      QuadSums sums;
      const auto values = operation.Begin(t.lane, channel);
      const int64_t end = g.Begin(t.block_y + 1);
      for (int64_t row = g.Begin(t.block_y) + g.Line(t); row < end; row += g.lines()) {
        const int64_t at = (t.lane * g.rows + row) * g.channels + channel;
        operation.Row(t.lane, row, at, values, &sums);
      }
      shared.of[t.index][0] = sums.first;
      shared.of[t.index][1] = sums.second;
    }
  }
};

// The same without sums.
template <class Operation>
struct RowPass {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  Operation operation;
  RowGeometry g;

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int channel = g.Channel(t);
    if (channel >= g.channels) return;
    const auto values = operation.Begin(t.lane, channel);
    const int64_t end = g.Begin(t.block_y + 1);
    for (int64_t row = g.Begin(t.block_y) + g.Line(t); row < end; row += g.lines()) {
      const int64_t at = (t.lane * g.rows + row) * g.channels + channel;
      operation.Row(t.lane, row, at, values);
    }
  }
};

}  // namespace tune::models::cuda
