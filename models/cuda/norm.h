// Batch norm and ReLU6 for one number or four neighbouring channels: what the passes over tensors
// apply as they read, folded into a multiplication and an addition, and its gradient as a linear
// form (as cpu/batch_norm.h).
//
// Thread rule: pure functions.
#pragma once

#include "models/cuda/number.h"

namespace tune::models::cuda {

// One float a channel, of one lane; each lane's follow `stride` floats after the one before.
struct ChannelFloats {
  float* data = nullptr;
  int64_t stride = 0;
  TUNE_HOST_DEVICE float* Of(int lane) const { return data + lane * stride; }
};

// z = scale * y + shift
struct NormFold {
  ChannelFloats scale, shift;
};

// dy = dz_factor * dz + y_factor * y + constant
struct NormGradient {
  ChannelFloats dz_factor, y_factor, constant;
};

// Between 0 and `cap`; a NaN stays one.
TUNE_HOST_DEVICE float Clipped(float z, float cap) {
#if defined(__CUDA_ARCH__)
  // Two instructions; fmaxf and fminf would lose a NaN.
  float low, both;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(low) : "f"(z));
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(both) : "f"(low), "f"(cap));
  return both;
#else
  return z < 0 ? 0.0f : (z > cap ? cap : z);
#endif
}
TUNE_HOST_DEVICE float Relu6(float z) { return Clipped(z, 6); }
TUNE_HOST_DEVICE float Relu6Gradient(float z, float dx) { return z > 0 && z < 6 ? dx : 0.0f; }

// The fold of four channels.
struct QuadFold {
  Quad scale, shift;
};

TUNE_HOST_DEVICE QuadFold LoadFold(const NormFold& fold, int lane, int channel) {
  return {LoadQuad(fold.scale.Of(lane) + channel), LoadQuad(fold.shift.Of(lane) + channel)};
}

TUNE_HOST_DEVICE Quad Normalised(const QuadFold& fold, const Quad& y) {
  Quad z;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) z.v[i] = fold.scale.v[i] * y.v[i] + fold.shift.v[i];
  return z;
}

// relu6(z), where the cap is 6.
TUNE_HOST_DEVICE Quad Capped(Quad z, float cap = 6) {
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) z.v[i] = Clipped(z.v[i], cap);
  return z;
}

TUNE_HOST_DEVICE Quad Activated(const QuadFold& fold, const Quad& y) {
  return Capped(Normalised(fold, y));
}

TUNE_HOST_DEVICE Quad Masked(const Quad& z, const Quad& dx) {
  Quad dz;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) dz.v[i] = Relu6Gradient(z.v[i], dx.v[i]);
  return dz;
}

TUNE_HOST_DEVICE void AddQuad(const Quad& a, Quad* sum) {
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) sum->v[i] += a.v[i];
}

// Sums of four channels: of a, and of a * b.
struct QuadSums {
  Quad first, second;
  TUNE_HOST_DEVICE void Add(const Quad& a, const Quad& b) {
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) {
      first.v[i] += a.v[i];
      second.v[i] += a.v[i] * b.v[i];
    }
  }
};

}  // namespace tune::models::cuda
