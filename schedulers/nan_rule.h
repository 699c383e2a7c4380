// What a stopping scheduler makes of a report whose value is NaN, infinite or missing, where it
// compares one:
//
//   nan: stop        it is worse than all others there, and the trial stops (the default)
//   nan: continue    it is compared with nothing, and the trial goes on
//
// Schedulers that pause need no such option: they never promote such a trial. Optuna's pruners stop
// a NaN, too; Ray leaves it out of the percentile and lets the trial go on.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <string_view>

#include "core/option_map.h"
#include "core/status.h"

namespace tune {

enum class NanRule { kStop, kContinue };

inline Status ReadNanRule(const OptionMap& options, NanRule& rule) {
  constexpr std::array<std::string_view, 2> kRules = {"stop", "continue"};
  size_t chosen = 0;
  TUNE_RETURN_IF_ERROR(options.Read("nan", kRules, chosen));
  rule = chosen == 0 ? NanRule::kStop : NanRule::kContinue;
  return OkStatus();
}

}  // namespace tune
