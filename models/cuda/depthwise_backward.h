// The depthwise 3x3 convolution backward, both gradients in one pass: from dy, dz of the
// convolution before (its batch norm's output, ReLU6 applied) with its sums, and the gradient of
// the weights. A thread walks along pieces of rows of the input, as forward (depthwise.h).
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/depthwise.h"

namespace tune::models::cuda {

inline constexpr int kDepthwiseSums = 11;  // dz, dz * y of the input, nine taps.

template <class T, int kStride>
struct DepthwiseBackward {
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kResidentBlocks = 3;
  static constexpr int kPhases = 2;
  using Sums = LineSums<kDepthwiseSums, kThreads>;
  using Queue = CopyQueue<T, sizeof(T) == 2 ? 4 : 3, 4>;
  struct Shared {
    Sums sums;
    Queue columns;
  };

  DepthwiseShape shape;
  RowGeometry g;          // Of shape.BackwardPieces(kStride).
  const T* dy = nullptr;  // (lane, batch, out_size, out_size, channels)
  ChannelFloats weights;
  const T* x = nullptr;  // As in DepthwiseForward.
  NormFold fold;
  T* dz = nullptr;           // As large as x.
  float* partial = nullptr;  // (lane, chunk, 11, channels)

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    if constexpr (kPhase == 1) {
      AddLines(g, t, shared.sums, partial);
    } else if (!g.IsIdle(t)) {
      TUNE_UNROLL
      for (int i = 0; i < kDepthwiseSums; ++i) shared.sums.of[i][t.index] = Quad();
      const int channel = g.Channel(t);
      const QuadFold f = LoadFold(fold, t.lane, channel);
      const RowPieces pieces = shape.BackwardPieces(kStride);
      QuadWeights w;
      if constexpr (kStride == 1) w = LoadWeights(weights.Of(t.lane), channel);
      for (int64_t piece = g.Begin(t.block_y) + g.Line(t); piece < g.End(t.block_y);
           piece += g.lines) {
        if constexpr (kStride == 1) {
          WalkPixels(t, pieces.At(piece), channel, f, w, shared);
        } else {
          WalkPairs(t, pieces.At(piece), channel, f, shared);
        }
      }
    }
  }

  // Where a piece's rows begin.
  struct PieceRows {
    const T* dy;  // The image's.
    const T* x;
    T* dz;
  };
  TUNE_HOST_DEVICE PieceRows RowsOf(const Thread& t, const Piece& piece, int channel) const {
    const int64_t image = t.lane * static_cast<int64_t>(shape.batch) + piece.image;
    const int64_t in_row =
        (image * shape.in_size + piece.row) * shape.in_size * shape.channels + channel;
    const int64_t out_image = image * shape.out_size * shape.out_size * shape.channels + channel;
    return {dy + out_image, x + in_row, dz + in_row};
  }
  TUNE_HOST_DEVICE const T* DyAt(const PieceRows& rows, int row, int column) const {
    const int at = Clamped(row, shape.out_size) * shape.out_size + Clamped(column, shape.out_size);
    return rows.dy + static_cast<int64_t>(at) * shape.channels;
  }
  TUNE_HOST_DEVICE bool IsThere(int row, int column) const {
    return IsInside(row, shape.out_size) && IsInside(column, shape.out_size);
  }
  // One input pixel: dz from dx, and what it adds to the sums.
  TUNE_HOST_DEVICE static void Finish(const Quad& y, const Quad& z, const Quad& dx, T* to,
                                      QuadSums* sums) {
    const Quad result = Masked(z, dx);
    StoreQuad(result, to);
    sums->Add(result, y);
  }
  // Stride 1. Input pixel (ih, iw) meets dy (ih + 1 - kh, iw + 1 - kw) by tap (kh, kw). Group
  // `number` is a column of dy and the pixel before it.
  TUNE_HOST_DEVICE void WalkPixels(const Thread& t, const Piece& piece, int channel,
                                   const QuadFold& f, const QuadWeights& w, Shared& shared) const {
    Queue& queue = shared.columns;
    const PieceRows rows = RowsOf(t, piece, channel);
    const int left = piece.begin - 1, columns = piece.end - piece.begin + 2;
    const auto ask = [&](int number) {
      if (number >= columns) return;
      TUNE_UNROLL
      for (int kh = 0; kh < 3; ++kh) {
        AskForCopy(DyAt(rows, piece.row + 1 - kh, left + number), queue.Place(t, number, kh),
                   IsThere(piece.row + 1 - kh, left + number));
      }
      const int64_t pixel = Clamped(left + number - 1, shape.in_size);
      AskForCopy(rows.x + pixel * shape.channels, queue.Place(t, number, 3));
    };
    const auto take = [&](int number) {
      Queue::Take(number, ask);
      return queue.template TakenColumn<3>(t, number);
    };

    Queue::Begin(ask);
    Column<3> window[3];  // By kw: window[0] is right of the pixel, window[2] left of it.
    window[2] = take(0);
    window[1] = take(1);
    QuadSums sums;
    Quad taps[9];
    for (int iw = piece.begin; iw < piece.end; ++iw) {
      const int number = iw - left + 1;
      window[0] = take(number);
      const Quad y = queue.Taken(t, number, 3);
      const Quad z = Normalised(f, y);
      const Quad input = Capped(z);
      Quad dx;
      TUNE_UNROLL
      for (int tap = 0; tap < 9; ++tap) {
        AddProduct(window[tap % 3].row[tap / 3], w.tap[tap], &dx);
        AddProduct(window[tap % 3].row[tap / 3], input, &taps[tap]);
      }
      Finish(y, z, dx, rows.dz + static_cast<int64_t>(iw) * shape.channels, &sums);
      window[2] = window[1];
      window[1] = window[0];
    }
    Queue::End();
    AddTo(t, sums, &shared.sums);
    TUNE_UNROLL
    for (int tap = 0; tap < 9; ++tap) AddQuad(taps[tap], &shared.sums.of[2 + tap][t.index]);
  }

  // Stride 2. An even row of the input meets one row of dy, by kh = 1; an odd one two, by kh = 0
  // and 2. So do columns: pixel 2 p meets column p by kw = 1, pixel 2 p + 1 columns p + 1 and p by
  // kw = 0 and 2. Group `number` is a column of dy, two rows, and the pair of pixels before it.
  TUNE_HOST_DEVICE void WalkPairs(const Thread& t, const Piece& piece, int channel,
                                  const QuadFold& f, Shared& shared) const {
    Queue& queue = shared.columns;
    const PieceRows rows = RowsOf(t, piece, channel);
    const bool is_even = piece.row % 2 == 0;
    const int kh[2] = {is_even ? 1 : 0, 2};
    const int dy_row[2] = {(piece.row + 1) / 2, is_even ? -1 : piece.row / 2};
    const QuadWeights all = LoadWeights(weights.Of(t.lane), channel);
    Quad w[2][3];
    TUNE_UNROLL
    for (int kw = 0; kw < 3; ++kw) {
      w[0][kw] = is_even ? all.tap[3 + kw] : all.tap[kw];
      w[1][kw] = all.tap[6 + kw];
    }
    const int columns = piece.end - piece.begin + 1;
    const auto ask = [&](int number) {
      if (number >= columns) return;
      TUNE_UNROLL
      for (int i = 0; i < 2; ++i) {
        AskForCopy(DyAt(rows, dy_row[i], piece.begin + number), queue.Place(t, number, i),
                   IsThere(dy_row[i], piece.begin + number));
        const int64_t pixel = Clamped(2 * (piece.begin + number - 1) + i, shape.in_size);
        AskForCopy(rows.x + pixel * shape.channels, queue.Place(t, number, 2 + i));
      }
    };
    const auto take = [&](int number) {
      Queue::Take(number, ask);
      return queue.template TakenColumn<2>(t, number);
    };

    Queue::Begin(ask);
    QuadSums sums;
    Quad taps[2][3];
    Column<2> here = take(0);
    for (int pair = piece.begin; pair < piece.end; ++pair) {
      const int number = pair - piece.begin + 1;
      const Column<2> next = take(number);
      TUNE_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int iw = 2 * pair + i;
        if (iw >= shape.in_size) break;
        const Quad y = queue.Taken(t, number, 2 + i);
        const Quad z = Normalised(f, y);
        const Quad input = Capped(z);
        Quad dx;
        TUNE_UNROLL
        for (int r = 0; r < 2; ++r) {
          const int kw = i == 0 ? 1 : 2;
          AddProduct(here.row[r], w[r][kw], &dx);
          AddProduct(here.row[r], input, &taps[r][kw]);
          if (i == 0) continue;
          AddProduct(next.row[r], w[r][0], &dx);
          AddProduct(next.row[r], input, &taps[r][0]);
        }
        Finish(y, z, dx, rows.dz + static_cast<int64_t>(iw) * shape.channels, &sums);
      }
      here = next;
    }
    Queue::End();
    AddTo(t, sums, &shared.sums);
    TUNE_UNROLL
    for (int kw = 0; kw < 3; ++kw) {
      AddQuad(taps[0][kw], &shared.sums.of[2 + kh[0] * 3 + kw][t.index]);
      if (!is_even) AddQuad(taps[1][kw], &shared.sums.of[2 + 6 + kw][t.index]);
    }
  }

  TUNE_HOST_DEVICE static void AddTo(const Thread& t, const QuadSums& sums, Sums* to) {
    AddQuad(sums.first, &to->of[0][t.index]);
    AddQuad(sums.second, &to->of[1][t.index]);
  }
};

// Splits the totals of DepthwiseBackward: the first pair to the batch norm of the input, the taps
// to the gradient of the weights.
template <class NormFinish>
struct FinishDepthwise {
  NormFinish norm;
  ChannelFloats weight_gradient;

  TUNE_HOST_DEVICE void operator()(int lane, int c, int pair, const double* totals) const {
    if (pair == 0) return norm(lane, c, pair, totals);
    for (int i = 0; i < 2; ++i) {
      const int tap = 2 * (pair - 1) + i;
      if (tap < 9) weight_gradient.Of(lane)[c * 9 + tap] = static_cast<float>(totals[i]);
    }
  }
};

}  // namespace tune::models::cuda
