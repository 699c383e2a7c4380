// The numbers that tensors are stored in, float or bfloat16, and four of them at a time: every
// channel count of the network is a multiple of eight.
//
// Thread rule: values; pure functions.
#pragma once

#include <bit>
#include <cstdint>

#include "models/cuda/kernel.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#endif

namespace tune::models::cuda {

// The upper half of a float.
struct Bf16 {
  uint16_t bits = 0;
};

TUNE_HOST_DEVICE float ToFloat(float x) { return x; }
TUNE_HOST_DEVICE float ToFloat(Bf16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

// To the nearest, ties to even; a NaN stays one.
#if defined(__CUDA_ARCH__)
TUNE_HOST_DEVICE Bf16 RoundToBf16(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}
#else
TUNE_HOST_DEVICE Bf16 RoundToBf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
#endif

TUNE_HOST_DEVICE void Put(float value, float* to) { *to = value; }
TUNE_HOST_DEVICE void Put(float value, Bf16* to) { *to = RoundToBf16(value); }

// What one thread takes of a row at a time: neighbouring channels.
inline constexpr int kVector = 4;

struct Quad {
  float v[kVector] = {};
};

template <class T>
struct alignas(kVector * sizeof(T)) Packed {
  T v[kVector];
};

// `from` and `to` are aligned to four numbers.
template <class T>
TUNE_HOST_DEVICE Quad LoadQuad(const T* from) {
  const Packed<T> packed = *reinterpret_cast<const Packed<T>*>(from);
  Quad quad;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) quad.v[i] = ToFloat(packed.v[i]);
  return quad;
}

template <class T>
TUNE_HOST_DEVICE void StoreQuad(const Quad& quad, T* to) {
  Packed<T> packed;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) Put(quad.v[i], &packed.v[i]);
  *reinterpret_cast<Packed<T>*>(to) = packed;
}

}  // namespace tune::models::cuda
