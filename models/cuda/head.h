// The end of the network on the card: average pooling with dropout, and softmax cross entropy. The
// linear layer between them is a matrix product.
//
// Thread rule: values; see kernel.h.
#pragma once

#include <cmath>

#include "models/cuda/keyed_draw.h"
#include "models/cuda/norm.h"
#include "models/cuda/step_input.h"

namespace tune::models::cuda {

// What feature `channel` of an image is multiplied by: 0 with the lane's probability, else
// 1 / (1 - probability). The twin of cpu/head.h's DropoutMask.
TUNE_HOST_DEVICE float DropoutFactor(const LaneInput& lane, uint64_t key, int channel) {
  if (!(lane.dropout_probability > 0)) return 1;
  return KeyedDouble(key, static_cast<uint64_t>(channel)) < lane.dropout_probability
             ? 0.0f
             : lane.kept_scale;
}

// pooled = mean over the pixels of relu6(normalised y), times dropout in training. A thread takes
// four channels of an image.
template <class T>
struct PoolForward {
  static constexpr int kThreads = 64;  // There are few: they are to be spread over the card.
  static constexpr int kPhases = 1;
  static constexpr int kPixelsAtOnce = 8;  // Asked for before the first is added (rows.h).
  using Shared = NothingShared;

  const T* y = nullptr;  // (lane, batch, pixels, channels)
  NormFold fold;
  int batch = 0;
  int pixels = 0;
  int channels = 0;
  const LaneInput* lanes = nullptr;    // Null: no dropout.
  const ImageInput* images = nullptr;  // (lane, batch)
  float* pooled = nullptr;             // (lane, batch, channels)

  Grid LaunchGrid(int lane_count) const {
    return {CeilDivide(channels / kVector, kThreads), batch, lane_count};
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int channel = (t.block_x * kThreads + t.index) * kVector;
    if (channel >= channels) return;
    const int64_t image = t.lane * static_cast<int64_t>(batch) + t.block_y;
    const QuadFold f = LoadFold(fold, t.lane, channel);
    const T* const from = y + image * pixels * channels + channel;
    Quad sum;
    for (int p = 0; p < pixels; p += kPixelsAtOnce) {
      Packed<T> loaded[kPixelsAtOnce];
      TUNE_UNROLL
      for (int i = 0; i < kPixelsAtOnce; ++i) {
        const int other = p + i < pixels ? p + i : p;
        loaded[i] = LoadPacked(from + static_cast<int64_t>(other) * channels);
      }
      TUNE_UNROLL
      for (int i = 0; i < kPixelsAtOnce; ++i) {
        if (p + i < pixels) AddQuad(Activated(f, Unpacked(loaded[i])), &sum);
      }
    }
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) {
      sum.v[i] *= 1.0f / static_cast<float>(pixels);
      if (lanes != nullptr) {
        sum.v[i] *= DropoutFactor(lanes[t.lane], images[image].dropout_key, channel + i);
      }
    }
    StoreQuad(sum, pooled + image * channels + channel);
  }
};

// The gradient of the pooled features from that behind the dropout, in place.
struct DropoutGradient {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  int batch = 0;
  int channels = 0;
  const LaneInput* lanes = nullptr;
  const ImageInput* images = nullptr;
  float* gradient = nullptr;  // (lane, batch, channels)

  Grid LaunchGrid(int lane_count) const {
    return {CeilDivide(channels, kThreads), batch, lane_count};
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int channel = t.block_x * kThreads + t.index;
    if (channel >= channels) return;
    const int64_t image = t.lane * static_cast<int64_t>(batch) + t.block_y;
    gradient[image * channels + channel] *=
        DropoutFactor(lanes[t.lane], images[image].dropout_key, channel);
  }
};

// What a batch leaves behind, an image.
struct ImageResult {
  double loss = 0;  // Cross entropy in nats.
  int32_t is_correct = 0;
};

// Adds the bias to the logits; loss and hit of each image; the logits' gradient of the mean loss.
// A block takes one image.
struct CrossEntropy {
  static constexpr int kThreads = 128;
  static constexpr int kPhases = 4;
  struct Shared {
    float largest[kThreads];
    int largest_at[kThreads];
    double total[kThreads];
  };

  int batch = 0;
  int classes = 0;
  int mean_over = 0;  // Images of the mean loss: `batch`, or those of all ranks.
  ChannelFloats bias;
  const ImageInput* images = nullptr;  // (lane, batch)
  float* logits = nullptr;             // (lane, batch, classes)
  float* gradient = nullptr;           // The same; null: none.
  ImageResult* results = nullptr;      // (lane, batch)

  Grid LaunchGrid(int lanes) const { return {1, batch, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    const int64_t image = t.lane * static_cast<int64_t>(batch) + t.block_y;
    float* const row = logits + image * classes;
    if constexpr (kPhase == 0) {
      FindLargest(t, row, shared);
    } else if constexpr (kPhase == 1) {
      if (t.index == 0) CombineLargest(shared);
    } else if constexpr (kPhase == 2) {
      double total = 0;
      for (int k = t.index; k < classes; k += kThreads) {
        total += exp(static_cast<double>(row[k]) - shared.largest[0]);
      }
      shared.total[t.index] = total;
    } else {
      // Each thread adds the same numbers in the same order: one phase less.
      double total = 0;
      for (int i = 0; i < kThreads; ++i) total += shared.total[i];
      Finish(t, row, shared, total, image);
    }
  }

  TUNE_HOST_DEVICE void FindLargest(const Thread& t, float* row, Shared& shared) const {
    shared.largest_at[t.index] = -1;
    for (int k = t.index; k < classes; k += kThreads) {
      row[k] += bias.Of(t.lane)[k];
      if (shared.largest_at[t.index] < 0 || row[k] > shared.largest[t.index]) {
        shared.largest[t.index] = row[k];
        shared.largest_at[t.index] = k;
      }
    }
  }

  // The first of the largest.
  TUNE_HOST_DEVICE void CombineLargest(Shared& shared) const {
    for (int i = 1; i < kThreads; ++i) {
      if (shared.largest_at[i] < 0) continue;
      const bool larger = shared.largest[i] > shared.largest[0];
      const bool earlier =
          shared.largest[i] == shared.largest[0] && shared.largest_at[i] < shared.largest_at[0];
      if (!larger && !earlier) continue;
      shared.largest[0] = shared.largest[i];
      shared.largest_at[0] = shared.largest_at[i];
    }
  }

  TUNE_HOST_DEVICE void Finish(const Thread& t, const float* row, const Shared& shared,
                               double total, int64_t image) const {
    const int label = images[image].label;
    if (t.index == 0) {
      results[image].loss = log(total) + shared.largest[0] - row[label];
      results[image].is_correct = shared.largest_at[0] == label ? 1 : 0;
    }
    if (gradient == nullptr) return;
    for (int k = t.index; k < classes; k += kThreads) {
      const double p = exp(static_cast<double>(row[k]) - shared.largest[0]) / total;
      const double target = k == label ? 1 : 0;
      gradient[image * classes + k] = static_cast<float>((p - target) / mean_over);
    }
  }
};

// The gradient of the bias: the sum over the batch, a thread a class.
struct BiasGradient {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  int batch = 0;
  int classes = 0;
  const float* logits_gradient = nullptr;
  ChannelFloats bias_gradient;

  Grid LaunchGrid(int lanes) const { return {CeilDivide(classes, kThreads), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int k = t.block_x * kThreads + t.index;
    if (k >= classes) return;
    float sum = 0;
    for (int image = 0; image < batch; ++image) {
      sum += logits_gradient[(t.lane * static_cast<int64_t>(batch) + image) * classes + k];
    }
    bias_gradient.Of(t.lane)[k] = sum;
  }
};

}  // namespace tune::models::cuda
