// Notes of an attempt that ended in order: lines for a person about what may be wrong with its
// values. They travel as its error, which has no other use there.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trial_runner/messages.h"

namespace tune {

// `error` with the note behind what it says already. Other outcomes than completed and stopped have
// no notes: their error stays. A note that would make it longer than limits::kErrorBytesMax is left
// out.
std::string WithEndNote(Outcome outcome, const std::string& error, std::string_view note);

// The notes of an error, in order. The whole error of a completed attempt is one.
std::vector<std::string> EndNotesOf(Outcome outcome, std::string_view error);

}  // namespace tune
