// The first convolution (3x3, stride 2, padding 1, three channels in) as a matrix product: each
// output pixel's 27 inputs are gathered into a row of 32, the rest zero, in the order of
// torchvision's weights (channel, kh, kw).
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/kernel.h"
#include "models/cuda/number.h"

namespace tune::models::cuda {

inline constexpr int kPatch = 27;
inline constexpr int kPatchStride = 32;

// Input `k` of the patch at output pixel (oh, ow) of one image (size, size, 3).
TUNE_HOST_DEVICE float PatchInput(const float* image, int size, int oh, int ow, int k) {
  if (k >= kPatch) return 0;
  const int row = 2 * oh + k % 9 / 3 - 1;
  const int column = 2 * ow + k % 3 - 1;
  if (row < 0 || row >= size || column < 0 || column >= size) return 0;
  return image[(static_cast<int64_t>(row) * size + column) * 3 + k / 9];
}

// A thread gathers four neighbouring inputs of a patch.
template <class T>
struct GatherPatches {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  const float* images = nullptr;  // (lane, batch, size, size, 3), normalised.
  int batch = 0;
  int size = 0;
  int out_size = 0;
  T* patches = nullptr;  // (lane, batch, out_size, out_size, 32)

  Grid LaunchGrid(int lanes) const {
    return {CeilDivide(int64_t{out_size} * out_size * kPatchStride / kVector, kThreads), batch,
            lanes};
  }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    constexpr int kQuads = kPatchStride / kVector;
    const int at = t.block_x * kThreads + t.index;
    const int pixel = at / kQuads;
    if (pixel >= out_size * out_size) return;
    const int64_t image = t.lane * static_cast<int64_t>(batch) + t.block_y;
    const float* const from = images + image * size * size * 3;
    Quad quad;
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) {
      quad.v[i] =
          PatchInput(from, size, pixel / out_size, pixel % out_size, at % kQuads * kVector + i);
    }
    StoreQuad(quad, patches + (image * out_size * out_size + pixel) * kPatchStride +
                        at % kQuads * kVector);
  }
};

// The gradient (out, 32) that the product leaves, to the gradient (out, 27) of the weights.
struct UnpackStemGradient {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  const float* packed = nullptr;  // (lane, out, 32)
  int out = 0;
  float* gradient = nullptr;  // The first weight's, of lane 0.
  int64_t lane_stride = 0;

  Grid LaunchGrid(int lanes) const { return {CeilDivide(out * kPatchStride, kThreads), 1, lanes}; }

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int at = t.block_x * kThreads + t.index;
    if (at >= out * kPatchStride || at % kPatchStride >= kPatch) return;
    gradient[t.lane * lane_stride + at / kPatchStride * kPatch + at % kPatchStride] =
        packed[t.lane * static_cast<int64_t>(out) * kPatchStride + at];
  }
};

}  // namespace tune::models::cuda
