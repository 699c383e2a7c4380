// JSON whose values know where they stand, for texts that people write.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "core/json.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

// As ParseJson, with the place of each value and key.
Result<Value> ParseJsonWithPlaces(std::string_view text);

}  // namespace tune
