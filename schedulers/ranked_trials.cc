#include "schedulers/ranked_trials.h"

#include <cmath>
#include <limits>

#include "core/check.h"

namespace tune {

size_t RankedTrials::Insert(TrialNumber trial, double value) {
  TUNE_CHECK(!std::isnan(value));
  return items_.Insert(Item{Turned(value), trial.value});
}

RankedTrials::Entry RankedTrials::At(size_t place) const {
  const Item& item = items_[place];
  return {TrialNumber{item.trial}, Turned(item.key)};
}

void RankedTrials::Erase(TrialNumber trial, double value) {
  const size_t count = items_.CountUpTo(Item{Turned(value), trial.value});
  TUNE_CHECK(count > 0 && items_[count - 1].trial == trial.value);
  items_.Erase(count - 1);
}

size_t RankedTrials::CountBetterThan(double value) const {
  return items_.CountUpTo(Item{Turned(value), std::numeric_limits<int64_t>::min()});
}

size_t RankedTrials::CountBetterThan(double value, size_t place) const {
  const bool has_equals = place > 0 && At(place - 1).value == value;
  return has_equals ? CountBetterThan(value) : place;
}

}  // namespace tune
