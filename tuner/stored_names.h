// The words of the views read back; transition.h writes them.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "tuner/transition.h"

namespace tune {

// Nothing for a word that this program does not know.
std::optional<TrialStatus> FindTrialStatus(std::string_view name);

}  // namespace tune
