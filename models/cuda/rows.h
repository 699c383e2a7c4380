// Passes over the rows of a tensor (lane, rows, channels): a row is a pixel. One thread takes four
// channels of every so many-th row; a sum over rows leaves one partial sum a chunk of rows, which
// the kernels of batch_norm.h add in order.
//
// A pass waits for memory alone: so each thread asks for several rows before it uses the first
// (Little's law: a card's bandwidth times its latency is some 20 KiB on the way a multiprocessor).
//
// Thread rule: values; see kernel.h.
#pragma once

#include <algorithm>

#include "models/cuda/kernel.h"
#include "models/cuda/number.h"

namespace tune::models::cuda {

// Blocks of a pass at most: each leaves a partial sum. Without sums, so many that the last of them
// are few beside all.
inline constexpr int64_t kSumBlocksMax = 1024;
inline constexpr int64_t kRowBlocksMax = 4096;
// Rows that a thread asks for at once, each of so many bytes: with registers for more, fewer
// threads would be there to ask.
TUNE_HOST_DEVICE constexpr int RowsAtOnce(int64_t bytes) { return bytes <= 8 ? 4 : 2; }

// How a block is laid over rows and channels.
struct RowBlock {
  int threads = kBlockThreads;
  int columns_max = 64;  // Threads beside each other, over the channels of a row.
  int rows_a_thread = 4;
  int64_t blocks_max = kSumBlocksMax;
};

// Which thread takes what. A block is `columns` threads wide (four channels each) and as many lines
// high as its threads allow; blocks_x tiles the channels, blocks_y the rows in chunks, in each of
// which (but the last) all lines have equally many rows. It does not depend on the number of lanes,
// so that neither do a lane's bits.
struct RowGeometry {
  int64_t rows = 0;
  int channels = 0;
  int columns = 1;
  int lines = 1;
  int64_t chunk_rows = 1;
  int64_t chunks = 1;
  int64_t chunks_max = 1;  // Of as many rows or fewer.

  static RowGeometry Of(int64_t rows, int channels, const RowBlock& block = {}) {
    RowGeometry g;
    g.rows = rows;
    g.channels = channels;
    const int64_t quads = CeilDivide(channels, kVector);
    g.columns = static_cast<int>(CeilDivide(quads, CeilDivide(quads, block.columns_max)));
    g.lines = block.threads / g.columns;
    const int64_t turn = int64_t{g.lines} * block.rows_a_thread;  // Rows of a block at one go.
    const int64_t most = std::max<int64_t>(block.blocks_max / g.tiles(), 1);
    const int64_t turns = CeilDivide(rows, turn);
    g.chunk_rows = turn * CeilDivide(turns, most);
    g.chunks = CeilDivide(rows, g.chunk_rows);
    g.chunks_max = std::min(turns, most);
    return g;
  }
  Grid LaunchGrid(int lanes) const { return {tiles(), chunks, lanes}; }

  TUNE_HOST_DEVICE int64_t tiles() const {
    return CeilDivide(channels, int64_t{columns} * kVector);
  }
  TUNE_HOST_DEVICE int Channel(const Thread& t) const {
    return (t.block_x * columns + t.index % columns) * kVector;
  }
  TUNE_HOST_DEVICE int Line(const Thread& t) const { return t.index / columns; }
  // Threads that are left over, and those beyond the last channel.
  TUNE_HOST_DEVICE bool IsIdle(const Thread& t) const {
    return Line(t) >= lines || Channel(t) >= channels;
  }
  // The rows of a chunk.
  TUNE_HOST_DEVICE int64_t Begin(int64_t chunk) const { return chunk * chunk_rows; }
  TUNE_HOST_DEVICE int64_t End(int64_t chunk) const {
    const int64_t end = Begin(chunk + 1);
    return end < rows ? end : rows;
  }
};

// The lines' sums of a block, added in order: a thread takes the sums of four channels.
template <int kCount, int kThreads = kBlockThreads>
struct LineSums {
  Quad of[kCount][kThreads];
};

// To `partial` (lane, chunk, kCount, channels).
template <int kCount, int kThreads>
TUNE_HOST_DEVICE void AddLines(const RowGeometry& g, const Thread& t,
                               const LineSums<kCount, kThreads>& shared, float* partial) {
  for (int at = t.index; at < kCount * g.columns; at += kThreads) {
    const int which = at / g.columns;
    const int column = at % g.columns;
    const int channel = (t.block_x * g.columns + column) * kVector;
    if (channel >= g.channels) continue;
    Quad sum = shared.of[which][column];
    for (int line = 1; line < g.lines; ++line) {
      TUNE_UNROLL
      for (int i = 0; i < kVector; ++i) {
        sum.v[i] += shared.of[which][line * g.columns + column].v[i];
      }
    }
    StoreQuad(sum,
              partial + ((t.lane * g.chunks + t.block_y) * kCount + which) * g.channels + channel);
  }
}

// What a pass does with each of its rows. `at` is the place of four numbers in a tensor of this
// shape. An Operation has
//   Begin(lane, channel)        what belongs to the channels
//   Load(lane, row, at)         what it reads of a row, as it is stored
//   Row(at, values, loaded)     what it makes of that; of SumPass with a QuadSums*, to which it
//   adds
template <class Operation, class Use>
TUNE_HOST_DEVICE void ForEachRow(const Operation& operation, const RowGeometry& g, const Thread& t,
                                 int channel, const Use& use) {
  constexpr int kRowsAtOnce = RowsAtOnce(sizeof(typename Operation::Loaded));
  const int64_t end = g.End(t.block_y);
  for (int64_t row = g.Begin(t.block_y) + g.Line(t); row < end; row += kRowsAtOnce * g.lines) {
    const int64_t at = (t.lane * g.rows + row) * g.channels + channel;
    const int64_t step = int64_t{g.lines} * g.channels;
    typename Operation::Loaded loaded[kRowsAtOnce];
    TUNE_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int ahead = row + i * g.lines < end ? i : 0;  // Something, rather than a branch.
      loaded[i] = operation.Load(t.lane, row + ahead * g.lines, at + ahead * step);
    }
    TUNE_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * g.lines < end) use(at + i * step, loaded[i]);
    }
  }
}

// With sums: `partial` (lane, chunk, 2, channels) gets them.
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
      AddLines(g, t, shared, partial);
    } else {
      if (g.IsIdle(t)) return;
      const int channel = g.Channel(t);
      QuadSums sums;
      const auto values = operation.Begin(t.lane, channel);
      ForEachRow(operation, g, t, channel,
                 [&](int64_t at, const auto& loaded) { operation.Row(at, values, loaded, &sums); });
      shared.of[0][t.index] = sums.first;
      shared.of[1][t.index] = sums.second;
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
    if (g.IsIdle(t)) return;
    const int channel = g.Channel(t);
    const auto values = operation.Begin(t.lane, channel);
    ForEachRow(operation, g, t, channel,
               [&](int64_t at, const auto& loaded) { operation.Row(at, values, loaded); });
  }
};

}  // namespace tune::models::cuda
