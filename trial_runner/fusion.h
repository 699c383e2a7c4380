// Which attempts may share a trial process, where they train as lanes of one array (horizontal
// fusion: models/train/lane_array.h).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "core/value.h"

namespace tune {

// Attempts on the same device fuse whose Fusions are the same.
struct Fusion {
  std::string shape;      // Of what they train, as JSON; empty: they never fuse.
  int64_t lanes_max = 1;  // Attempts in one process; 1: it runs alone.
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

// Whether any of a trainable's attempts do.
bool MayFuse(const Value& trainable);

// Of an attempt with this configuration (nested), which has so much of GPUs. Of food11, `lanes`
// says how many; where it says nothing, all do that share a card by `device: cuda`, and none else:
// the CPU gains nothing. Other trainables never fuse, nor does what cannot be read: it is the trial
// that says so.
Fusion FusionOf(const Value& trainable, const Value& config, int64_t gpu_milli);

}  // namespace tune
