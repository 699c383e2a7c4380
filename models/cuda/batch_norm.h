// Batch norm's statistics on the card, from the partial sums that the passes leave: what
// cpu/batch_norm.h does, a thread a channel, in double.
//
// Thread rule: values; see kernel.h.
#pragma once

#include <cmath>

#include "models/cuda/norm.h"

namespace tune::models::cuda {

inline constexpr double kNormEpsilon = 1e-5;
inline constexpr double kNormMomentum = 0.1;

// Adds partial sums (lane, chunk, count, channels): a block takes two of the count for 32 channels,
// in strands of chunks, which are added in order. Finish(lane, channel, pair, totals) is called
// once for each channel and pair of sums; of an odd count the last pair's second total is zero.
inline constexpr int kStrandChannels = 32;
inline constexpr int kStrands = 32;

struct StrandSums {
  double of[kStrands][kStrandChannels][2];
};

template <class Finish>
struct FinishSums {
  static constexpr int kThreads = kStrands * kStrandChannels;
  static constexpr int kPhases = 2;
  static constexpr int kChunksAtOnce = 8;  // Asked for before the first is added (rows.h).
  using Shared = StrandSums;

  Finish finish;
  const float* partial = nullptr;
  int64_t chunks = 0;
  int channels = 0;
  int count = 2;

  Grid LaunchGrid(int lanes) const {
    return {CeilDivide(channels, kStrandChannels), CeilDivide(count, 2), lanes};
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    const int strand = t.index / kStrandChannels;
    const int column = t.index % kStrandChannels;
    const int channel = t.block_x * kStrandChannels + column;
    if (channel >= channels) return;
    if constexpr (kPhase == 0) {
      AddStrand(t, channel, strand, shared.of[strand][column]);
    } else if (strand == 0) {
      double totals[2] = {};
      for (int s = 0; s < kStrands; ++s) {
        for (int i = 0; i < 2; ++i) totals[i] += shared.of[s][column][i];
      }
      finish(t.lane, channel, t.block_y, totals);
    }
  }

  TUNE_HOST_DEVICE void AddStrand(const Thread& t, int channel, int strand, double* totals) const {
    const int first = 2 * t.block_y;
    const bool has_second = first + 1 < count;
    const int64_t step = int64_t{count} * channels;
    const float* const from = partial + (t.lane * chunks * count + first) * channels + channel;
    totals[0] = totals[1] = 0;
    for (int64_t chunk = strand; chunk < chunks; chunk += kChunksAtOnce * kStrands) {
      float sums[kChunksAtOnce][2];
      TUNE_UNROLL
      for (int i = 0; i < kChunksAtOnce; ++i) {
        const int64_t other = chunk + i * kStrands;
        sums[i][0] = other < chunks ? from[other * step] : 0;
        sums[i][1] = other < chunks && has_second ? from[other * step + channels] : 0;
      }
      TUNE_UNROLL
      for (int i = 0; i < kChunksAtOnce; ++i) {
        totals[0] += sums[i][0];
        totals[1] += sums[i][1];
      }
    }
  }
};

// The parameters and running statistics of one batch norm.
struct NormParameters {
  ChannelFloats scale, shift, running_mean, running_variance;
};

// What training keeps of a batch between the passes, one number a channel.
struct BatchMoments {
  ChannelFloats mean, inverse_deviation;
};

// Totals (y, y * y) over `count` rows: the fold for training; the running statistics move.
struct FinishForward {
  int64_t count = 0;
  NormParameters parameters;
  NormFold fold;
  BatchMoments moments;

  TUNE_HOST_DEVICE void operator()(int lane, int c, int, const double* totals) const {
    const double n = static_cast<double>(count);
    const double mean = totals[0] / n;
    double variance = totals[1] / n - mean * mean;
    if (variance < 0) variance = 0;  // A NaN stays one.
    const double inverse = 1 / sqrt(variance + kNormEpsilon);
    const double factor = parameters.scale.Of(lane)[c] * inverse;
    moments.mean.Of(lane)[c] = static_cast<float>(mean);
    moments.inverse_deviation.Of(lane)[c] = static_cast<float>(inverse);
    fold.scale.Of(lane)[c] = static_cast<float>(factor);
    fold.shift.Of(lane)[c] = static_cast<float>(parameters.shift.Of(lane)[c] - mean * factor);
    float* const running_mean = parameters.running_mean.Of(lane) + c;
    float* const running_variance = parameters.running_variance.Of(lane) + c;
    *running_mean = static_cast<float>((1 - kNormMomentum) * *running_mean + kNormMomentum * mean);
    *running_variance = static_cast<float>((1 - kNormMomentum) * *running_variance +
                                           kNormMomentum * variance * n / (n - 1));
  }
};

// Totals (dz, dz * y) over `count` rows: the gradients of scale and shift, and that of y as a
// linear form.
struct FinishBackward {
  int64_t count = 0;
  ChannelFloats scale;
  BatchMoments moments;
  ChannelFloats scale_gradient, shift_gradient;
  NormGradient gradient;

  TUNE_HOST_DEVICE void operator()(int lane, int c, int, const double* totals) const {
    const double n = static_cast<double>(count);
    const double mean = moments.mean.Of(lane)[c];
    const double inverse = moments.inverse_deviation.Of(lane)[c];
    const double dz_x_sum = (totals[1] - mean * totals[0]) * inverse;
    const double factor = scale.Of(lane)[c] * inverse;
    const double y_factor = -factor * inverse * dz_x_sum / n;
    scale_gradient.Of(lane)[c] = static_cast<float>(dz_x_sum);
    shift_gradient.Of(lane)[c] = static_cast<float>(totals[0]);
    gradient.dz_factor.Of(lane)[c] = static_cast<float>(factor);
    gradient.y_factor.Of(lane)[c] = static_cast<float>(y_factor);
    gradient.constant.Of(lane)[c] = static_cast<float>(-factor * totals[0] / n - y_factor * mean);
  }
};

// The fold for evaluation, a thread a channel.
struct UseRunning {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  NormParameters parameters;
  NormFold fold;
  int channels = 0;

  Grid LaunchGrid(int lanes) const { return {CeilDivide(channels, kThreads), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int c = t.block_x * kThreads + t.index;
    if (c >= channels) return;
    const double variance = parameters.running_variance.Of(t.lane)[c];
    const double factor = parameters.scale.Of(t.lane)[c] / sqrt(variance + kNormEpsilon);
    fold.scale.Of(t.lane)[c] = static_cast<float>(factor);
    fold.shift.Of(t.lane)[c] = static_cast<float>(parameters.shift.Of(t.lane)[c] -
                                                  parameters.running_mean.Of(t.lane)[c] * factor);
  }
};

}  // namespace tune::models::cuda
