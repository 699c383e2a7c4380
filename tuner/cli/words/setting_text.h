// A setting of a living sweep as a person writes it: "max_concurrent=4", "limits.trial_time=20m".
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

// "max_concurrent=4" becomes "limits.max_concurrent=4": the names of limits stand alone, too.
// kInvalidArgument: it is no setting that can change while the sweep goes on.
Result<std::string> FullSetting(const std::string& text);

}  // namespace tune
