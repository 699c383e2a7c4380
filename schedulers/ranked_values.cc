#include "schedulers/ranked_values.h"

#include <cmath>

#include "core/check.h"

namespace tune {

size_t RankedValues::Insert(double value) {
  TUNE_CHECK(!std::isnan(value));
  // Its equals stand before it, the better ones behind it.
  const size_t position = keys_.Insert(Turned(value));
  return keys_.size() - 1 - position;
}

size_t RankedValues::CountBetterThan(double value) const {
  return keys_.size() - keys_.CountUpTo(Turned(value));
}

double RankedValues::At(size_t whole, double t) const {
  if (t == 0) return FromWorst(whole);
  const auto keys = keys_.PairAt(whole);
  const double a = Turned(keys.first);
  const double b = Turned(keys.second);
  if (!std::isfinite(a) || !std::isfinite(b)) return a;
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

}  // namespace tune
