// The first convolution: 3x3, stride 2, padding 1, three channels in. A patch of 27 inputs is
// gathered per output pixel, and the rest is a matrix product.
//
// Thread rule: pure functions; each call handles the output rows [begin, end) of batch * out_size.
#pragma once

#include <cstdint>

#include "models/cpu/rows.h"

namespace tune::models::cpu {

constexpr int kPatch = 27;        // (kh, kw, channel)
constexpr int kPatchStride = 32;  // A patch in memory, the rest zero.

struct StemShape {
  int in_size = 0;
  int out_size = 0;
  int out = 0;  // Channels.
};

// images (batch, in_size, in_size, 3), weights packed (27, out), y (batch, out_size, out_size,
// out). sums (2 * out) += (y, y * y) unless null.
void RunStemForward(const StemShape& shape, const float* images, const float* weights, float* y,
                    int64_t begin, int64_t end, float* scratch, double* sums);

// Sets weight_gradient (out, kPatchStride) to the part of these rows.
void RunStemBackward(const StemShape& shape, const float* images, const float* dz, const float* y,
                     const NormGradient& gradient, int64_t begin, int64_t end, float* scratch,
                     float* weight_gradient);

// (out, 3, 3, 3) in torchvision's order to (27, out) and back from (out, kPatchStride).
void StemWeightsToPatches(int out, const float* oihw, float* patches);
void StemGradientFromPatches(int out, const float* patches, float* oihw);

int64_t StemScratch(const StemShape& shape);

}  // namespace tune::models::cpu
