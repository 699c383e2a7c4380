// The depthwise 3x3 convolution backward, with both gradients in one pass: a thread walks along a
// piece of a row as forward (depthwise.h), over the input's pixels.
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/depthwise.h"

namespace tune::models::cuda {

// From dy: dz of the convolution before (its batch norm's output, ReLU6 applied), with its sums,
// and the gradient of the weights.
inline constexpr int kDepthwiseSums = 11;  // dz, dz * y of the input, nine taps.

template <class T, int kStride>
struct DepthwiseBackward {
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kResidentBlocks = 3;
  static constexpr int kPhases = 2;
  using Shared = LineSums<kDepthwiseSums, kDepthwiseThreads>;

  DepthwiseShape shape;
  RowGeometry g;          // PieceGeometry of the input.
  const T* dy = nullptr;  // (lane, batch, out_size, out_size, channels)
  ChannelFloats weights;
  const T* x = nullptr;  // As in DepthwiseForward.
  NormFold fold;
  T* dz = nullptr;           // As large as x.
  float* partial = nullptr;  // (lane, chunk, 11, channels)

  struct Sums {
    QuadSums input;
    Quad tap[9];
  };

  TUNE_HOST_DEVICE Quad LoadDy(const T* image, int row, int at) const {
    if (row < 0 || row >= shape.out_size || at < 0 || at >= shape.out_size) return {};
    return LoadQuad(image + (static_cast<int64_t>(row) * shape.out_size + at) * shape.channels);
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    if constexpr (kPhase == 1) {
      AddLines(g, t, shared, partial);
    } else if (!g.IsIdle(t)) {
      const int channel = g.Channel(t);
      const QuadFold f = LoadFold(fold, t.lane, channel);
      const QuadWeights w = LoadWeights(weights.Of(t.lane), channel);
      Sums sums;
      for (int64_t piece = g.Begin(t.block_y) + g.Line(t); piece < g.End(t.block_y);
           piece += g.lines) {
        RunPiece(t.lane, PieceAt(shape.in_size, piece), channel, f, w, &sums);
      }
      shared.of[0][t.index] = sums.input.first;
      shared.of[1][t.index] = sums.input.second;
      TUNE_UNROLL
      for (int tap = 0; tap < 9; ++tap) shared.of[2 + tap][t.index] = sums.tap[tap];
    }
  }

  // Output pixel `at` that meets input pixel `in` by tap k of three, or -1.
  TUNE_HOST_DEVICE int Meets(int in, int k) const {
    const int at = in + 1 - k;
    return kStride == 1 ? at : (at % 2 == 0 ? at / 2 : -1);
  }

  TUNE_HOST_DEVICE void RunPiece(int lane, const Piece& piece, int channel, const QuadFold& f,
                                 const QuadWeights& w, Sums* sums) const {
    const int64_t image = lane * static_cast<int64_t>(shape.batch) + piece.image;
    const int ih = piece.row;
    const int64_t out_pixels = static_cast<int64_t>(shape.out_size) * shape.out_size;
    const T* const from = dy + image * out_pixels * shape.channels + channel;
    const int64_t in_row = image * shape.in_size + ih;
    const int64_t first = in_row * shape.in_size * shape.channels + channel;
    Column window[3];  // Of dy, by tap: window[0] is right of the pixel, window[2] left of it.
    if (kStride == 1) {
      window[1] = LoadMeeting(from, ih, piece.begin, 1);
      window[2] = LoadMeeting(from, ih, piece.begin, 2);
    }
    for (int iw = piece.begin; iw < piece.end; ++iw) {
      if (kStride == 1) {
        window[0] = LoadMeeting(from, ih, iw, 0);
      } else {
        TUNE_UNROLL
        for (int kw = 0; kw < 3; ++kw) window[kw] = LoadMeeting(from, ih, iw, kw);
      }
      const int64_t at = first + static_cast<int64_t>(iw) * shape.channels;
      const Quad y = LoadQuad(x + at);
      const Quad z = Normalised(f, y);
      Quad input = z;
      Quad dx;
      TUNE_UNROLL
      for (int i = 0; i < kVector; ++i) input.v[i] = Relu6(z.v[i]);
      TUNE_UNROLL
      for (int tap = 0; tap < 9; ++tap) {
        const Quad& g_tap = window[tap % 3].row[tap / 3];
        AddProduct(g_tap, w.tap[tap], &dx);
        AddProduct(g_tap, input, &sums->tap[tap]);
      }
      const Quad result = Masked(z, dx);
      StoreQuad(result, dz + at);
      sums->input.Add(result, y);
      if (kStride == 1) {
        window[2] = window[1];
        window[1] = window[0];
      }
    }
  }

  // The three numbers of dy that meet input pixel (ih, iw) by the taps (0 .. 2, kw).
  TUNE_HOST_DEVICE Column LoadMeeting(const T* image, int ih, int iw, int kw) const {
    Column column;
    TUNE_UNROLL
    for (int kh = 0; kh < 3; ++kh) {
      column.row[kh] = LoadDy(image, Meets(ih, kh), Meets(iw, kw));
    }
    return column;
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
