#include "search/gp/level_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/check.h"

namespace tune {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool HasNoValue(const ObservedTrial& trial) {
  return trial.state != ObservedTrial::State::kRunning && trial.losses.empty();
}

// The best loss of each level, from the reports up to it.
std::vector<std::optional<double>> LossesOf(const ObservedTrial& trial,
                                            const std::vector<int64_t>& levels, size_t objective) {
  const bool has_ended = trial.state != ObservedTrial::State::kRunning;
  if (HasNoValue(trial)) return std::vector<std::optional<double>>(levels.size(), kInfinite);
  if (trial.reports.empty()) {
    const double loss = has_ended ? trial.losses[objective] : kNaN;
    return std::vector<std::optional<double>>(levels.size(), loss);
  }
  std::vector<std::optional<double>> losses;
  double best = kInfinite;
  auto report = trial.reports.begin();
  for (const int64_t level : levels) {
    for (; report != trial.reports.end() && report->iteration <= level; ++report) {
      best = std::fmin(best, report->losses[objective]);
    }
    if (trial.is_whole && trial.iterations() < level) {
      losses.push_back(trial.losses[objective]);
    } else if (trial.iterations() >= level && (has_ended || level > 0)) {
      // Beyond the last level the best of all counts, as it does for the sweep.
      const bool is_last = level == levels.back();
      losses.push_back(is_last && !trial.losses.empty() ? trial.losses[objective] : best);
    } else {
      losses.push_back(has_ended ? std::nullopt : std::optional<double>(kNaN));
    }
  }
  return losses;
}

}  // namespace

std::vector<int64_t> ChooseLevels(const std::vector<ObservedTrial>& trials, size_t whole_count) {
  constexpr int64_t kBase = 3;
  constexpr double kDistinctlyMore = 1.3;
  TUNE_CHECK(whole_count > 0);
  int64_t furthest = 0;
  for (const ObservedTrial& trial : trials) furthest = std::max(furthest, trial.iterations());
  // The furthest first. One that ended by itself has nothing to come: it has reached every level.
  std::vector<int64_t> reached;
  for (const ObservedTrial& trial : trials) {
    if (HasNoValue(trial) || trial.reports.empty()) continue;
    reached.push_back(trial.is_whole ? furthest : trial.iterations());
  }
  if (reached.size() < whole_count) return {0};
  std::sort(reached.begin(), reached.end(), std::greater<>());
  const auto count_at = [&](int64_t level) {
    return static_cast<double>(
        std::upper_bound(reached.begin(), reached.end(), level, std::greater<>()) -
        reached.begin());
  };
  std::vector<int64_t> levels = {reached[whole_count - 1]};
  int64_t power = 1;
  while (power <= levels[0] / 2 / kBase) power *= kBase;
  for (; power >= 1 && power <= levels[0] / 2; power /= kBase) {
    if (count_at(power) > kDistinctlyMore * count_at(levels.back())) levels.push_back(power);
  }
  std::reverse(levels.begin(), levels.end());
  return levels;
}

LevelTable TableOf(const std::vector<ObservedTrial>& trials, const std::vector<int64_t>& levels,
                   size_t objective) {
  LevelTable table;
  table.losses.resize(levels.size());
  for (const ObservedTrial& trial : trials) {
    const auto losses = LossesOf(trial, levels, objective);
    for (size_t level = 0; level < levels.size(); ++level) {
      table.losses[level].push_back(losses[level]);
    }
  }
  return table;
}

LevelTable MarginTableOf(const std::vector<ObservedTrial>& trials, size_t limit) {
  LevelTable table;
  table.losses.resize(1);
  for (const ObservedTrial& trial : trials) {
    const bool is_known =
        limit < trial.margins.size() && trial.margins[limit] && !trial.losses.empty();
    const double margin = trial.state == ObservedTrial::State::kRunning ? kNaN
                          : is_known                                    ? *trial.margins[limit]
                                                                        : kInfinite;
    table.losses[0].emplace_back(margin);
  }
  return table;
}

}  // namespace tune
