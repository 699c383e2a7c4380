// Draws of a KeyedRandom (core/random.h) on the card: draw i is a function of its key and i.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "models/cuda/kernel.h"

namespace tune::models::cuda {

// What the i-th call of NextU64 gives, from 0. SplitMix64's finaliser, as core/random.cc.
TUNE_HOST_DEVICE uint64_t KeyedU64(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// What NextDouble gives where each call before it took one draw.
TUNE_HOST_DEVICE double KeyedDouble(uint64_t key, uint64_t i) {
  return static_cast<double>(KeyedU64(key, i) >> 11) * 0x1.0p-53;
}

}  // namespace tune::models::cuda
