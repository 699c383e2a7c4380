// The seed of what a trial's program draws by itself: initial weights, shuffles, dropout.
//
// Each trial has its own, the same in all of its attempts. Where each configuration is tried
// `repeat` times, the seed is that of the repetition: the first run of each configuration draws
// alike, and so does the second, so that configurations are compared under common random numbers
// (Law, "Simulation Modeling and Analysis", 5th ed., section 11.2).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/random.h"

namespace tune {

// In [0, 2^31): NumPy, PyTorch, scikit-learn and XGBoost all take it. repeat >= 1.
inline uint64_t TrialSeed(uint64_t sweep_seed, TrialNumber trial, int64_t repeat) {
  const auto number = static_cast<uint64_t>(trial.value);
  const auto runs = static_cast<uint64_t>(repeat);
  KeyedRandom random = runs > 1 ? KeyedRandom(sweep_seed, "repetition", number % runs)
                                : KeyedRandom(sweep_seed, "trial", number);
  return random.NextBelow(uint64_t{1} << 31);
}

}  // namespace tune
