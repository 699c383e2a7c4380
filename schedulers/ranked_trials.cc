#include "schedulers/ranked_trials.h"

#include <cmath>
#include <limits>

#include "core/check.h"

namespace tune {

size_t RankedTrials::Insert(TrialNumber trial, double value) {
  TUNE_CHECK(!std::isnan(value));
  return items_.Insert(Item{Turned(value), trial.value});
}

size_t RankedTrials::CountBetterThan(double value) const {
  return items_.CountUpTo(Item{Turned(value), std::numeric_limits<int64_t>::min()});
}

}  // namespace tune
