// The depthwise 3x3 convolution, padding 1, stride 1 or 2, with batch norm and ReLU6 of the
// convolution before it applied as its input is read, and the sums that the batch norm after it
// needs. (Backward: depthwise_backward.h.) Weights are torchvision's: (channels, 3, 3), fp32.
//
// A thread walks along a piece of a row of pixels with four channels and keeps the window's
// columns, so that each number is read and activated three times, not nine. What it waits for are
// its numbers: pieces are as short as a column more at each end allows, each thread has one where
// it can, and forward the next columns are on their way while one is computed.
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/norm.h"
#include "models/cuda/rows.h"

namespace tune::models::cuda {

struct DepthwiseShape {
  int batch = 0;
  int channels = 0;
  int in_size = 0;
  int out_size = 0;  // (in_size - 1) / stride + 1
};

// Pixels `begin` to `end` of row `row` of image `image` of a batch.
struct Piece {
  int64_t image = 0;
  int row = 0, begin = 0, end = 0;
};

TUNE_HOST_DEVICE int PiecesOf(int size) {
  constexpr int kPixelsMax = 28;
  return static_cast<int>(CeilDivide(size, kPixelsMax));
}
// Of all pieces of rows of `size` pixels. Those of neighbouring rows follow each other: a block
// walks along them side by side, and finds two of the three rows that a piece needs in its cache.
TUNE_HOST_DEVICE Piece PieceAt(int size, int64_t number) {
  const int pieces = PiecesOf(size);
  const int row = static_cast<int>(number % size);
  const int place = static_cast<int>(number / size % pieces);
  return {number / size / pieces, row, size * place / pieces, size * (place + 1) / pieces};
}

// Threads of a block: registers are what is short, and small blocks waste few.
inline constexpr int kDepthwiseThreads = 128;

// Over all pieces of (batch, size, size, channels).
inline RowGeometry PieceGeometry(int batch, int size, int channels) {
  return RowGeometry::Of(int64_t{batch} * size * PiecesOf(size), channels,
                         {kDepthwiseThreads, /*columns_max=*/16, /*rows_a_thread=*/1});
}

// The nine weights of four channels.
struct QuadWeights {
  Quad tap[9];
};

TUNE_HOST_DEVICE QuadWeights LoadWeights(const float* weights, int channel) {
  QuadWeights w;
  TUNE_UNROLL
  for (int tap = 0; tap < 9; ++tap) {
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) w.tap[tap].v[i] = weights[(channel + i) * 9 + tap];
  }
  return w;
}

TUNE_HOST_DEVICE void AddProduct(const Quad& a, const Quad& b, Quad* sum) {
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) sum->v[i] += a.v[i] * b.v[i];
}

// Three rows of one column of pixels.
struct Column {
  Quad row[3];
};
template <class T>
struct PackedColumn {
  Packed<T> row[3];
};

TUNE_HOST_DEVICE bool IsInside(int at, int size) { return at >= 0 && at < size; }

// Rows `top` to `top + 2` of column `at` of an image (size, size, channels) from its first channel;
// beyond the image's edge something else, to be left out: a load that nothing decides on needs not
// wait.
template <class T>
TUNE_HOST_DEVICE PackedColumn<T> LoadColumn(const T* image, int size, int channels, int top,
                                            int at) {
  const auto clamped = [size](int i) { return i < 0 ? 0 : (i < size ? i : size - 1); };
  PackedColumn<T> column;
  TUNE_UNROLL
  for (int kh = 0; kh < 3; ++kh) {
    const int64_t pixel = static_cast<int64_t>(clamped(top + kh)) * size + clamped(at);
    column.row[kh] = LoadPacked(image + pixel * channels);
  }
  return column;
}

template <class T, int kStride>
struct DepthwiseForward {
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kResidentBlocks = kStride == 1 ? 4 : 3;
  static constexpr int kPhases = 2;
  using Shared = LineSums<2, kDepthwiseThreads>;

  DepthwiseShape shape;
  RowGeometry g;         // PieceGeometry of the output.
  const T* x = nullptr;  // (lane, batch, in_size, in_size, channels), before batch norm and ReLU6.
  NormFold fold;
  ChannelFloats weights;  // A channel's are nine floats.
  T* y = nullptr;
  float* partial = nullptr;  // (lane, chunk, 2, channels): sums of y and y * y.

  TUNE_HOST_DEVICE Column ActivatedColumn(const PackedColumn<T>& packed, const QuadFold& f, int top,
                                          int at) const {
    Column column;
    TUNE_UNROLL
    for (int kh = 0; kh < 3; ++kh) {
      const Quad x = Activated(f, Unpacked(packed.row[kh]));
      if (IsInside(top + kh, shape.in_size) && IsInside(at, shape.in_size)) column.row[kh] = x;
    }
    return column;
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    if constexpr (kPhase == 1) {
      AddLines(g, t, shared, partial);
    } else if (!g.IsIdle(t)) {
      const int channel = g.Channel(t);
      const QuadFold f = LoadFold(fold, t.lane, channel);
      const QuadWeights w = LoadWeights(weights.Of(t.lane), channel);
      QuadSums sums;
      for (int64_t piece = g.Begin(t.block_y) + g.Line(t); piece < g.End(t.block_y);
           piece += g.lines) {
        RunPiece(t.lane, PieceAt(shape.out_size, piece), channel, f, w, &sums);
      }
      shared.of[0][t.index] = sums.first;
      shared.of[1][t.index] = sums.second;
    }
  }

  TUNE_HOST_DEVICE void RunPiece(int lane, const Piece& piece, int channel, const QuadFold& f,
                                 const QuadWeights& w, QuadSums* sums) const {
    const int64_t image = lane * static_cast<int64_t>(shape.batch) + piece.image;
    const int top = piece.row * kStride - 1;
    const int64_t in_pixels = static_cast<int64_t>(shape.in_size) * shape.in_size;
    const T* const from = x + image * in_pixels * shape.channels + channel;
    const int64_t out_row = image * shape.out_size + piece.row;
    T* const to = y + out_row * shape.out_size * shape.channels + channel;
    const auto load = [&](int at) {
      return LoadColumn(from, shape.in_size, shape.channels, top, at);
    };
    const auto activated = [&](const PackedColumn<T>& packed, int at) {
      return ActivatedColumn(packed, f, top, at);
    };
    // The columns that a pixel needs beside those of the pixel before are on their way while that
    // one is computed.
    constexpr int kKept = 3 - kStride;
    const int left = piece.begin * kStride - 1;
    Column window[3];
    PackedColumn<T> first[kKept], next[kStride];
    TUNE_UNROLL
    for (int i = 0; i < kKept; ++i) first[i] = load(left + i);
    TUNE_UNROLL
    for (int i = 0; i < kStride; ++i) next[i] = load(left + kKept + i);
    TUNE_UNROLL
    for (int i = 0; i < kKept; ++i) window[i] = activated(first[i], left + i);
    for (int ow = piece.begin; ow < piece.end; ++ow) {
      const int newest = ow * kStride - 1 + kKept;
      TUNE_UNROLL
      for (int i = 0; i < kStride; ++i) {
        window[kKept + i] = activated(next[i], newest + i);
        next[i] = load(newest + kStride + i);
      }
      Quad sum;
      TUNE_UNROLL
      for (int tap = 0; tap < 9; ++tap) {
        AddProduct(window[tap % 3].row[tap / 3], w.tap[tap], &sum);
      }
      StoreQuad(sum, to + static_cast<int64_t>(ow) * shape.channels);
      sums->Add(sum, sum);
      TUNE_UNROLL
      for (int i = 0; i < kKept; ++i) window[i] = window[i + kStride];
    }
  }
};

}  // namespace tune::models::cuda
