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

// Adds partial sums (lane, chunk, count, channels): 32 channels a block, a few strands of chunks
// each, which are added in order. Finish(lane, channel, totals) is called once a channel.
inline constexpr int kStrandChannels = 32;

template <int kStrands, int kCount>
struct StrandSums {
  double of[kStrands][kStrandChannels][kCount];
};

template <class Finish, int kCount>
struct FinishSums {
  static constexpr int kStrands = kCount > 2 ? 8 : 32;  // Shared memory is short.
  static constexpr int kThreads = kStrands * kStrandChannels;
  static constexpr int kPhases = 2;
  using Shared = StrandSums<kStrands, kCount>;

  Finish finish;
  const float* partial = nullptr;
  int64_t chunks = 0;
  int channels = 0;

  Grid LaunchGrid(int lanes) const { return {CeilDivide(channels, kStrandChannels), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    const int strand = t.index / kStrandChannels;
    const int column = t.index % kStrandChannels;
    const int channel = t.block_x * kStrandChannels + column;
    if (channel >= channels) return;
    if constexpr (kPhase == 0) {
      double totals[kCount] = {};
      for (int64_t chunk = strand; chunk < chunks; chunk += kStrands) {
        const float* from = partial + (t.lane * chunks + chunk) * kCount * channels + channel;
        for (int i = 0; i < kCount; ++i) totals[i] += from[i * static_cast<int64_t>(channels)];
      }
      for (int i = 0; i < kCount; ++i) shared.of[strand][column][i] = totals[i];
    } else if (strand == 0) {
      double totals[kCount] = {};
      for (int s = 0; s < kStrands; ++s) {
        for (int i = 0; i < kCount; ++i) totals[i] += shared.of[s][column][i];
      }
      finish(t.lane, channel, totals);
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

  TUNE_HOST_DEVICE void operator()(int lane, int c, const double* totals) const {
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

  TUNE_HOST_DEVICE void operator()(int lane, int c, const double* totals) const {
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
