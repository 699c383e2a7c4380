// Which attempts may share a trial process, where they train as lanes of one array (horizontal
// fusion: models/train/lane_array.h).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/resources.h"
#include "core/value.h"

namespace tune {

struct Fusion {
  // Attempts fuse whose keys are the same, on the same device.
  std::string key;
  int64_t lanes_max = 1;  // Attempts in one process; 1: it runs alone, and the key is empty.
};

// Of an attempt with this configuration (JSON, nested) on these slices. Of food11, `lanes` says how
// many; where it says nothing, all do that share a card, and none on the CPU, which gains nothing.
// Other trainables never fuse, nor does what cannot be read: it is the trial that says so.
Fusion FusionOf(const Value& trainable, std::string_view config,
                const std::vector<DeviceSlice>& slices);

}  // namespace tune
