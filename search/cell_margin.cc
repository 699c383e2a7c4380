#include "search/cell_margin.h"

#include <algorithm>

#include "core/check.h"
#include "search/normal.h"

namespace tune {

CellMargin WithMargin(double mean, double deviation, UnitCell cell, double margin) {
  TUNE_CHECK(deviation > 0 && margin > 0 && margin < 0.5);
  const bool is_first = cell.lo <= 0;
  const bool is_last = cell.hi >= 1;
  if ((is_first && is_last) || !(cell.lo < cell.hi)) return {mean, deviation};
  if (is_first || is_last) {
    // Equation 13: as near to the threshold as the margin asks for.
    const double reach = -NormalQuantile(margin) * deviation;
    return {is_first ? std::max(mean, cell.hi - reach) : std::min(mean, cell.lo + reach),
            deviation};
  }
  // Equations 14 to 21: raise what is too little, take it from what has enough, and solve for the
  // distribution that has these probabilities.
  const double below = NormalCdf((cell.lo - mean) / deviation);
  const double above = NormalCdf((mean - cell.hi) / deviation);
  if (below >= margin / 2 && above >= margin / 2) return {mean, deviation};
  const double raised_below = std::max(below, margin / 2);
  const double raised_above = std::max(above, margin / 2);
  const double inside = 1 - below - above;
  const double sum = raised_below + raised_above + inside;
  const double taken = (1 - sum) / (sum - 3 * margin / 2);
  const double new_below = raised_below + taken * (raised_below - margin / 2);
  const double new_above = raised_above + taken * (raised_above - margin / 2);
  const double z_below = -NormalQuantile(new_below);
  const double z_above = -NormalQuantile(new_above);
  return {(cell.lo * z_above + cell.hi * z_below) / (z_below + z_above),
          (cell.hi - cell.lo) / (z_below + z_above)};
}

}  // namespace tune
