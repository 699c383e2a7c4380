// A parameter as AutoTuner writes it (OpenROAD-flow-scripts, "Instructions for AutoTuner"):
//
//   {"type": "float", "minmax": [0.1, 0.9], "step": 0}     uniform: [0.1, 0.9]
//   {"type": "float", "minmax": [0, 1], "step": 0.25}      quniform: [0, 1, 0.25]
//   {"type": "int", "minmax": [1, 8], "step": 1}           randint: [1, 9]
//   {"type": "int", "minmax": [1, 8], "step": 3}           ordinal: [1, 4, 7]
//   {"type": "int", "minmax": [4, 4], "step": 0}           4
//
// A grid begins at the minimum and reaches the maximum where it meets it; the points have equal
// mass. A step of 0 makes an int constant: its minimum. So do equal ends.
//
// Thread rule: pure functions.
#pragma once

#include <variant>

#include "core/status.h"
#include "core/value.h"
#include "search/domain.h"

namespace tune {

bool IsAutoTunerForm(const Value& map);

// Errors carry "line:column: ". `when` is not looked at.
Result<std::variant<Value, Domain>> ReadAutoTunerForm(const Value& map);

}  // namespace tune
