#include "schedulers/ranked_values.h"

#include <cmath>

#include "core/check.h"

namespace tune {

size_t RankedValues::Insert(double value) {
  TUNE_CHECK(!std::isnan(value));
  return items_.Insert({Turned(value)}).below;
}

double RankedValues::FromWorst(size_t index) const {
  TUNE_CHECK(index < size());
  return Turned(items_[size() - 1 - index].key);
}

size_t RankedValues::CountBetterThan(double value) const {
  return items_.CountBelow(Turned(value));
}

double RankedValues::At(size_t whole, double t) const {
  if (t == 0) return FromWorst(whole);
  TUNE_CHECK(whole + 1 < size());
  const auto [better, worse] = items_.PairAt(size() - 2 - whole);
  const double a = Turned(worse.key);
  const double b = Turned(better.key);
  if (!std::isfinite(a) || !std::isfinite(b)) return a;
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

}  // namespace tune
