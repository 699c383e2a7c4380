#include "schedulers/rung_levels.h"

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

}  // namespace tune
