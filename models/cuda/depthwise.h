// The depthwise 3x3 convolution, padding 1, stride 1 or 2, with batch norm and ReLU6 of the
// convolution before it applied as its input is read, and the sums that the batch norm after it
// needs. (Backward: depthwise_backward.h.) Weights are torchvision's: (channels, 3, 3), fp32.
//
// A thread walks along a piece of a row of pixels with four channels. It adds each column to the
// pixels that it belongs to as it comes, so that each number is read and activated three times, not
// nine; the columns that come next are on their way meanwhile (async_copy.h). Threads of
// neighbouring rows walk side by side.
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/async_copy.h"
#include "models/cuda/norm.h"
#include "models/cuda/rows.h"

namespace tune::models::cuda {

// Threads of a block: registers are what is short, and small blocks waste few.
inline constexpr int kDepthwiseThreads = 128;

// Columns `begin` to `end` of row `row` of image `image` of a batch.
struct Piece {
  int64_t image = 0;
  int row = 0, begin = 0, end = 0;
};

// The pieces that rows are walked in: short ones, since each thread has one where it can, but not
// so short that the columns at both ends, which are read for their neighbours' sake, are many.
struct RowPieces {
  int rows = 0, columns = 0;  // Of an image.

  TUNE_HOST_DEVICE int InRow() const {
    constexpr int kColumnsMax = 28;
    return static_cast<int>(CeilDivide(columns, kColumnsMax));
  }
  // Those of neighbouring rows follow each other: a block finds two of the three rows that each of
  // its pieces needs in its cache.
  TUNE_HOST_DEVICE Piece At(int64_t number) const {
    const int pieces = InRow();
    const int row = static_cast<int>(number % rows);
    const int place = static_cast<int>(number / rows % pieces);
    return {number / rows / pieces, row, columns * place / pieces, columns * (place + 1) / pieces};
  }
  // A row of this geometry is a piece.
  RowGeometry Geometry(int batch, int channels) const {
    return RowGeometry::Of(int64_t{batch} * rows * InRow(), channels,
                           {kDepthwiseThreads, /*columns_max=*/16, /*rows_a_thread=*/1,
                            /*blocks_max=*/2048});
  }
};

struct DepthwiseShape {
  int batch = 0;
  int channels = 0;
  int in_size = 0;
  int out_size = 0;  // (in_size - 1) / stride + 1

  // Of output pixels.
  TUNE_HOST_DEVICE RowPieces ForwardPieces() const { return {out_size, out_size}; }
  // Of input pixels; with stride 2 of pairs: an output column meets one even and two odd ones.
  TUNE_HOST_DEVICE RowPieces BackwardPieces(int stride) const {
    return {in_size, static_cast<int>(CeilDivide(in_size, stride))};
  }
};

// The nine weights of four channels, which lie one after the other.
struct QuadWeights {
  Quad tap[9];
};

TUNE_HOST_DEVICE QuadWeights LoadWeights(const float* weights, int channel) {
  QuadWeights w;
  TUNE_UNROLL
  for (int part = 0; part < 9; ++part) {
    const Quad quad = LoadQuad(weights + channel * 9 + part * kVector);
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) {
      const int at = part * kVector + i;
      w.tap[at % 9].v[at / 9] = quad.v[i];
    }
  }
  return w;
}

TUNE_HOST_DEVICE void AddProduct(const Quad& a, const Quad& b, Quad* sum) {
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) sum->v[i] += a.v[i] * b.v[i];
}

TUNE_HOST_DEVICE bool IsInside(int at, int size) { return at >= 0 && at < size; }
TUNE_HOST_DEVICE int Clamped(int at, int size) { return at < 0 ? 0 : (at < size ? at : size - 1); }

// Rows of one column of pixels.
template <int kRows>
struct Column {
  Quad row[kRows];
};

// What each thread of a block has asked for: groups of `kQuads` times four numbers, in the places
// of which the latest `kGroups` lie. A group is asked for in the place of one that was taken a step
// before, and so read for certain. ask(number) asks for the copies of a group, if there is one of
// that number.
template <class T, int kGroups, int kQuads>
struct CopyQueue {
  static constexpr int kAhead = kGroups - 1;
  Packed<T> of[kGroups][kQuads][kDepthwiseThreads];

  TUNE_HOST_DEVICE Packed<T>* Place(const Thread& t, int group, int quad) {
    return &of[static_cast<unsigned>(group) % kGroups][quad][t.index];
  }
  TUNE_HOST_DEVICE Quad Taken(const Thread& t, int group, int quad) {
    return Unpacked(*Place(t, group, quad));
  }
  template <int kRows>
  TUNE_HOST_DEVICE Column<kRows> TakenColumn(const Thread& t, int group) {
    Column<kRows> column;
    TUNE_UNROLL
    for (int row = 0; row < kRows; ++row) column.row[row] = Taken(t, group, row);
    return column;
  }

  template <class Ask>
  TUNE_HOST_DEVICE static void Begin(const Ask& ask) {
    TUNE_UNROLL
    for (int number = 0; number < kAhead; ++number) {
      ask(number);
      CloseGroupOfCopies();
    }
  }
  // Group `number`, all before it having been taken, is there until the next is taken.
  template <class Ask>
  TUNE_HOST_DEVICE static void Take(int number, const Ask& ask) {
    AwaitCopies<kAhead - 1>();
    ask(number + kAhead);
    CloseGroupOfCopies();
  }
  // When all were taken: what is left are empty groups.
  TUNE_HOST_DEVICE static void End() { AwaitCopies<0>(); }
};

template <class T, int kStride>
struct DepthwiseForward {
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kResidentBlocks = 4;
  static constexpr int kPhases = 2;
  struct Shared {
    LineSums<2, kThreads> sums;
    CopyQueue<T, sizeof(T) == 2 ? 4 * kStride : 4, 3> columns;
  };

  DepthwiseShape shape;
  RowGeometry g;         // Of shape.ForwardPieces().
  const T* x = nullptr;  // (lane, batch, in_size, in_size, channels), before batch norm and ReLU6.
  NormFold fold;
  ChannelFloats weights;  // A channel's are nine floats.
  T* y = nullptr;
  float* partial = nullptr;  // (lane, chunk, 2, channels): sums of y and y * y.

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    if constexpr (kPhase == 1) {
      AddLines(g, t, shared.sums, partial);
    } else if (!g.IsIdle(t)) {
      const int channel = g.Channel(t);
      const QuadFold f = LoadFold(fold, t.lane, channel);
      const QuadWeights w = LoadWeights(weights.Of(t.lane), channel);
      const RowPieces pieces = shape.ForwardPieces();
      QuadSums sums;
      for (int64_t piece = g.Begin(t.block_y) + g.Line(t); piece < g.End(t.block_y);
           piece += g.lines) {
        RunPiece(t, pieces.At(piece), channel, f, w, shared.columns, &sums);
      }
      shared.sums.of[0][t.index] = sums.first;
      shared.sums.of[1][t.index] = sums.second;
    }
  }

  template <class Queue>
  TUNE_HOST_DEVICE void RunPiece(const Thread& t, const Piece& piece, int channel,
                                 const QuadFold& f, const QuadWeights& w, Queue& queue,
                                 QuadSums* sums) const {
    const int64_t image = t.lane * static_cast<int64_t>(shape.batch) + piece.image;
    const int64_t in_row = static_cast<int64_t>(shape.in_size) * shape.channels;
    const T* const from = x + image * shape.in_size * in_row + channel;
    const int64_t out_row = image * shape.out_size + piece.row;
    T* const to = y + out_row * shape.out_size * shape.channels + channel;
    // Input columns are numbered from the first that the piece needs; a column is a group. A pixel
    // needs kStride that the one before did not.
    constexpr int kKept = 3 - kStride;
    const int top = piece.row * kStride - 1, left = piece.begin * kStride - 1;
    const int columns = (piece.end - piece.begin) * kStride + kKept;
    const auto ask = [&](int number) {
      if (number >= columns) return;
      // Beyond the edge something else, which is not used.
      const int at = Clamped(left + number, shape.in_size);
      TUNE_UNROLL
      for (int kh = 0; kh < 3; ++kh) {
        AskForCopy(from + Clamped(top + kh, shape.in_size) * in_row +
                       static_cast<int64_t>(at) * shape.channels,
                   queue.Place(t, number, kh));
      }
    };
    const auto take = [&](int number) {
      Queue::Take(number, ask);
      Column<3> column = queue.template TakenColumn<3>(t, number);
      TUNE_UNROLL
      for (int kh = 0; kh < 3; ++kh) {
        // Beyond the edge nothing, which a cap of nothing says in no instruction more.
        const bool is_inside =
            IsInside(top + kh, shape.in_size) && IsInside(left + number, shape.in_size);
        column.row[kh] = Capped(Normalised(f, column.row[kh]), is_inside ? 6.0f : 0.0f);
      }
      return column;
    };

    Queue::Begin(ask);
    // A column is used as it comes: by the pixel that it ends (kw = 2), and for those to come.
    const auto add = [&](const Column<3>& column, int kw, Quad* sum) {
      TUNE_UNROLL
      for (int kh = 0; kh < 3; ++kh) AddProduct(column.row[kh], w.tap[3 * kh + kw], sum);
    };
    Quad next, after;  // What the next pixel and the one after it have of columns before.
    if constexpr (kStride == 1) {
      const Column<3> first = take(0);
      add(first, 0, &next);
      const Column<3> second = take(1);
      add(second, 1, &next);
      add(second, 0, &after);
    } else {
      add(take(0), 0, &next);
    }
    for (int ow = piece.begin; ow < piece.end; ++ow) {
      const int number = (ow - piece.begin) * kStride + kKept;
      Quad sum = next;
      if constexpr (kStride == 1) {
        const Column<3> column = take(number);
        add(column, 2, &sum);
        next = after;
        add(column, 1, &next);
        after = Quad();
        add(column, 0, &after);
      } else {
        add(take(number), 1, &sum);
        const Column<3> column = take(number + 1);
        add(column, 2, &sum);
        next = Quad();
        add(column, 0, &next);
      }
      StoreQuad(sum, to + static_cast<int64_t>(ow) * shape.channels);
      sums->Add(sum, sum);
    }
    Queue::End();
  }
};

}  // namespace tune::models::cuda
