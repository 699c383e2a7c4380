// Vectors of floats in GCC's vector extensions: AVX-512 where the compiler may use it, else eight
// lanes, which AVX2 holds in one register and any other processor in several.
//
// Every channel count of MobileNetV2 is a multiple of eight, so a row of channels is whole vectors
// and at most one half.
#pragma once

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tune::models::cpu {

typedef float Vec8 __attribute__((vector_size(32)));
typedef float Vec16 __attribute__((vector_size(64)));

#if defined(__AVX512F__)
using Vec = Vec16;
#else
using Vec = Vec8;
#endif

constexpr int kLanes = sizeof(Vec) / sizeof(float);
template <class V>
constexpr int kLanesOf = sizeof(V) / sizeof(float);

template <class V>
inline V Load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

template <class V>
inline void Store(float* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// Past the caches, for a tensor too large to be there when it is read again: a plain store would
// first fetch the line it overwrites. `p` is aligned to the vector. StreamFence() must follow
// before another thread reads.
template <class V>
inline void StoreStreaming(float* p, V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_stream_ps(p, v);
#endif
  Store(p, v);
}

inline void StreamFence() {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

template <class V>
inline V Splat(float x) {
  return x - V{};
}

// The larger and the smaller of `bound` and `u`; where u is NaN, NaN. (GCC 12 makes
// compare-and-blend of the plain form, and warns of its own header in _mm512_max_ps.)
template <class V>
inline V Max(V bound, V u) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_maskz_max_ps(0xffff, bound, u);
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return _mm256_max_ps(bound, u);
#endif
  return bound > u ? bound : u;
}

template <class V>
inline V Min(V bound, V u) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_maskz_min_ps(0xffff, bound, u);
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return _mm256_min_ps(bound, u);
#endif
  return bound < u ? bound : u;
}

template <class V>
inline V Relu6(V u) {
  return Min(Splat<V>(6.0f), Max(V{}, u));
}

// `g` where ReLU6 has a slope, which PyTorch takes to be zero at 0 and at 6.
template <class V>
inline V Relu6Gradient(V u, V g) {
  const V zero = V{};
  const V six = Splat<V>(6.0f);
  g = u > zero ? g : zero;
  return u < six ? g : zero;
}

// sums[i] += v[i].
template <class V>
inline void AddTo(double* sums, V v) {
  float lanes[kLanesOf<V>];
  Store(lanes, v);
  for (int i = 0; i < kLanesOf<V>; ++i) sums[i] += lanes[i];
}

// `count` vectors of type V side by side.
template <class V, int count>
struct Group {
  using Vector = V;
  static constexpr int kCount = count;
};

// Calls f(Group, first channel) until all of `channels` (a multiple of eight) are covered, four
// vectors at a time where it can: 256 contiguous bytes keep the prefetchers of the processor at
// work when rows are walked.
template <class F>
inline void ForChannelGroups(int channels, F&& f) {
  int c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) f(Group<Vec, 4>{}, c);
  if (c + 2 * kLanes <= channels) f(Group<Vec, 2>{}, c), c += 2 * kLanes;
  if (c + kLanes <= channels) f(Group<Vec, 1>{}, c), c += kLanes;
  if (c < channels) f(Group<Vec8, 1>{}, c);
}

}  // namespace tune::models::cpu
