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

// Four numbers as they are stored. Those of bfloat16 are two to a word, so that they stay together
// until they are used: a thread that takes them apart waits for them. They lie where numbers do.
template <class T>
struct Packed;
template <>
struct [[gnu::may_alias]] alignas(16) Packed<float> {
  float v[kVector];
};
template <>
struct [[gnu::may_alias]] alignas(8) Packed<Bf16> {
  uint32_t words[kVector / 2];  // The first number is the lower half.
};

// Aligned to four numbers, as all that is loaded and stored so.
template <class T>
TUNE_HOST_DEVICE Packed<T> LoadPacked(const T* from) {
  return *reinterpret_cast<const Packed<T>*>(from);
}

TUNE_HOST_DEVICE Quad Unpacked(const Packed<float>& packed) {
  return {{packed.v[0], packed.v[1], packed.v[2], packed.v[3]}};
}
TUNE_HOST_DEVICE Quad Unpacked(const Packed<Bf16>& packed) {
  Quad quad;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) {
    const uint32_t word = packed.words[i / 2];
    quad.v[i] = std::bit_cast<float>(i % 2 == 0 ? word << 16 : word & 0xffff0000);
  }
  return quad;
}

TUNE_HOST_DEVICE void Pack(const Quad& quad, Packed<float>* to) {
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) to->v[i] = quad.v[i];
}
TUNE_HOST_DEVICE void Pack(const Quad& quad, Packed<Bf16>* to) {
  TUNE_UNROLL
  for (int i = 0; i < kVector / 2; ++i) {
#if defined(__CUDA_ARCH__)
    const __nv_bfloat162 pair = __floats2bfloat162_rn(quad.v[2 * i], quad.v[2 * i + 1]);
    to->words[i] = *reinterpret_cast<const uint32_t*>(&pair);
#else
    to->words[i] = RoundToBf16(quad.v[2 * i]).bits |
                   static_cast<uint32_t>(RoundToBf16(quad.v[2 * i + 1]).bits) << 16;
#endif
  }
}

template <class T>
TUNE_HOST_DEVICE Quad LoadQuad(const T* from) {
  return Unpacked(LoadPacked(from));
}

template <class T>
TUNE_HOST_DEVICE void StoreQuad(const Quad& quad, T* to) {
  Packed<T> packed;
  Pack(quad, &packed);
  *reinterpret_cast<Packed<T>*>(to) = packed;
}

}  // namespace tune::models::cuda
