// Which attempts may share a trial process, where they train as lanes of one array (horizontal
// fusion: models/train/lane_array.h).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/value.h"
#include "trial_runner/messages.h"

namespace tune {

// Attempts on the same device fuse whose shapes are the same.
struct Fusion {
  std::string shape;      // Of what they train, as JSON; empty: they never fuse.
  int64_t lanes_max = 1;  // Attempts in one process; 1: it runs alone.
  bool is_asked = false;  // The configuration says how many; else what was measured may lower it.
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

// Whether any of a trainable's attempts do.
bool MayFuse(const Value& trainable);

// Of an attempt with this configuration (nested), which has so much of GPUs. Of food11, `lanes`
// says how many; where it says nothing, all do that share a card by `device: cuda`, and none else:
// the CPU gains nothing. Other trainables never fuse, nor does what cannot be read: it is the trial
// that says so.
Fusion FusionOf(const Value& trainable, const Value& config, int64_t gpu_milli);

// Whether one more may train with `count` that share a process, whose least lanes_max is
// `running`'s.
bool FitsInto(const Fusion& running, int64_t count, const Fusion& one);

// How fast an epoch of an attempt with this configuration trained, as its report says: how many
// trained as one, and their images per second together. Nothing where the report does not say so,
// and of epochs in which the head trained alone, which are faster.
struct FusedSpeed {
  int64_t lanes = 1;
  double images_per_second = 0;
};
std::optional<FusedSpeed> FusedSpeedOf(const Value& config, const Report& report);

}  // namespace tune
