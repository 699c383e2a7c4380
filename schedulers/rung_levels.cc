#include "schedulers/rung_levels.h"

#include <algorithm>

#include "core/check.h"

namespace tune {

std::vector<int64_t> RungLevels(int64_t grace_period, int64_t max_t, int64_t reduction_factor) {
  TUNE_CHECK(grace_period >= 1 && grace_period <= max_t && reduction_factor >= 2);
  std::vector<int64_t> levels = {grace_period};
  while (levels.back() <= max_t / reduction_factor) {
    levels.push_back(levels.back() * reduction_factor);
  }
  return levels;
}

std::vector<int64_t> RungLevelsFromTop(int64_t max_t, int64_t reduction_factor) {
  TUNE_CHECK(max_t >= 1 && reduction_factor >= 2);
  // Rounding down twice is rounding down once.
  std::vector<int64_t> levels;
  for (int64_t level = max_t; level >= 1; level /= reduction_factor) levels.push_back(level);
  std::reverse(levels.begin(), levels.end());
  return levels;
}

}  // namespace tune
