// Adam (Kingma, Ba 2015, algorithm 1) over all parameters of all lanes in one launch, as
// cpu/adam.h, and the copy of the weights that the products read.
//
// Thread rule: values; see kernel.h.
#pragma once

#include <cmath>

#include "models/cuda/stem.h"
#include "models/cuda/step_input.h"

namespace tune::models::cuda {

struct AdamMoments {
  float m = 0, v = 0;
};

TUNE_HOST_DEVICE float AdamStep(float parameter, float gradient, const AdamInput& input,
                                AdamMoments* moments) {
  moments->m = 0.9f * moments->m + 0.1f * gradient;
  moments->v = 0.999f * moments->v + 0.001f * gradient * gradient;
  return parameter * input.kept -
         input.step_size * (moments->m / (sqrtf(moments->v) / input.root + 1e-8f));
}

struct Adam {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  int64_t count = 0;           // Parameters of a lane.
  int64_t backbone_count = 0;  // The first of them.
  int64_t lane_stride = 0;     // Of all four arrays.
  const LaneInput* lanes = nullptr;
  const float* gradient = nullptr;
  float* m = nullptr;
  float* v = nullptr;
  float* parameters = nullptr;

  Grid LaunchGrid(int lane_count) const { return {CeilDivide(count, kThreads), 1, lane_count}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int64_t i = static_cast<int64_t>(t.block_x) * kThreads + t.index;
    const bool backbone = i < backbone_count;
    const LaneInput& lane = lanes[t.lane];
    if (i >= count || (backbone && !lane.train_backbone)) return;
    const int64_t at = t.lane * lane_stride + i;
    AdamMoments moments = {m[at], v[at]};
    parameters[at] =
        AdamStep(parameters[at], gradient[at], backbone ? lane.backbone : lane.head, &moments);
    m[at] = moments.m;
    v[at] = moments.v;
  }
};

// The weights in the products' numbers, and the stem's also in rows of 32 (stem.h).
template <class T>
struct CopyWeights {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  int64_t count = 0;
  int64_t stem_count = 0;  // The first parameters: the stem's weights.
  int64_t lane_stride = 0;
  const float* parameters = nullptr;
  T* weights = nullptr;       // (lane, lane_stride)
  T* stem_weights = nullptr;  // (lane, out, 32); what is no weight stays zero.

  Grid LaunchGrid(int lanes) const { return {CeilDivide(count, kThreads), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int64_t i = static_cast<int64_t>(t.block_x) * kThreads + t.index;
    if (i >= count) return;
    const float value = parameters[t.lane * lane_stride + i];
    Put(value, weights + t.lane * lane_stride + i);
    if (i >= stem_count) return;
    const int64_t stem_stride = stem_count / kPatch * kPatchStride;
    Put(value, stem_weights + t.lane * stem_stride + i / kPatch * kPatchStride + i % kPatch);
  }
};

}  // namespace tune::models::cuda
