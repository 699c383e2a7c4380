#include "schedulers/ranked_trials.h"

#include <cmath>
#include <limits>

#include "core/check.h"

namespace tune {

OrderedBlocks::Item RankedTrials::ItemOf(TrialNumber trial, double value) const {
  TUNE_CHECK(!std::isnan(value));
  TUNE_CHECK(trial.value >= 0 && trial.value <= std::numeric_limits<uint32_t>::max());
  return {Turned(value), static_cast<uint32_t>(trial.value)};
}

RankedTrials::Inserted RankedTrials::Insert(TrialNumber trial, double value) {
  const OrderedBlocks::Inserted inserted = items_.Insert(ItemOf(trial, value));
  return {inserted.position, inserted.below};
}

RankedTrials::Entry RankedTrials::At(size_t place) const {
  const OrderedBlocks::Item item = items_[place];
  return {TrialNumber{item.tag}, Turned(item.key)};
}

void RankedTrials::Erase(TrialNumber trial, double value) {
  const OrderedBlocks::Item item = ItemOf(trial, value);
  const size_t count = items_.CountUpTo(item);
  TUNE_CHECK(count > 0 && items_[count - 1] == item);
  items_.Erase(count - 1);
}

size_t RankedTrials::CountBetterThan(double value) const {
  return items_.CountBelow(Turned(value));
}

size_t RankedTrials::CountBetterThan(double value, size_t place) const {
  const bool has_equals = place > 0 && At(place - 1).value == value;
  return has_equals ? CountBetterThan(value) : place;
}

}  // namespace tune
