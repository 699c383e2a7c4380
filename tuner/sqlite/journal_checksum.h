// What tells that a step of the journal is the one that was written, in its place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/hash.h"

namespace tune {

// Of a step of the journal, over its bytes and the step before: one that was changed, or taken from
// another journal, is told. 0 before the first.
inline uint64_t StepChecksum(uint64_t previous, int64_t step, int64_t at_us,
                             std::string_view events) {
  const std::array<uint64_t, 3> place = {previous, static_cast<uint64_t>(step),
                                         static_cast<uint64_t>(at_us)};
  return Xxh64(events, Xxh64(std::as_bytes(std::span(place))));
}

}  // namespace tune
