#include "tuner/best_configuration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/standing.h"

namespace tune {
namespace {

bool HasEnded(const Run& run) {
  return run.status == TrialStatus::kTerminated || run.status == TrialStatus::kPaused ||
         run.status == TrialStatus::kError;
}

// 0 is the best standing.
int Standing(const ConfigurationRuns& runs) {
  if (runs.count() == runs.repeat) return 0;
  return 2 * runs.count() > runs.repeat ? 1 : 2;
}

ConfigurationRuns Summed(int64_t number, int64_t repeat, Mode mode,
                         const std::vector<const Run*>& runs) {
  ConfigurationRuns summed;
  summed.number = number;
  summed.repeat = repeat;
  double sum = 0;
  Metric best_violation;
  bool is_unknown = false;
  for (const Run* const run : runs) {
    const double value = *run->best_value;
    const bool is_first = summed.trials.empty();
    if (is_first || IsBetterStanding(value, run->violation, summed.best, best_violation, mode)) {
      summed.best = value;
      best_violation = run->violation;
      summed.best_trial = run->trial;
    }
    if (is_first || IsBetter(summed.worst, value, mode)) summed.worst = value;
    summed.trials.push_back(run->trial);
    sum += value;
    const double violation = run->violation.value_or(0);
    summed.violation += violation;
    summed.feasible_count += violation == 0 ? 1 : 0;
    is_unknown = is_unknown || violation >= kViolationUnknown;
  }
  const auto count = static_cast<double>(runs.size());
  summed.mean = sum / count;
  summed.violation = is_unknown ? kViolationUnknown : summed.violation / count;
  if (runs.size() < 2) return summed;
  double squares = 0;
  for (const Run* const run : runs) {
    squares += (*run->best_value - summed.mean) * (*run->best_value - summed.mean);
  }
  summed.deviation = std::sqrt(squares / (count - 1));
  return summed;
}

}  // namespace

std::vector<ConfigurationRuns> RankConfigurations(std::span<const Run> runs, int64_t repeat,
                                                  Mode mode, FailedTrials failed) {
  TUNE_CHECK(repeat >= 1);
  struct Group {
    std::vector<const Run*> ended, training;
  };
  std::map<int64_t, Group> groups;
  for (const Run& run : runs) {
    if (!MayBeBest(run.status, run.best_value, failed)) continue;
    Group& group = groups[run.trial / repeat];
    (HasEnded(run) ? group.ended : group.training).push_back(&run);
  }
  std::vector<ConfigurationRuns> ranked;
  for (const auto& [number, group] : groups) {
    ranked.push_back(
        Summed(number, repeat, mode, group.ended.empty() ? group.training : group.ended));
  }
  const auto standing = [&](const ConfigurationRuns& one) {
    return groups.at(one.number).ended.empty() ? 3 : Standing(one);
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const ConfigurationRuns& a, const ConfigurationRuns& b) {
                     if (standing(a) != standing(b)) return standing(a) < standing(b);
                     return IsBetterStanding(a.mean, a.violation, b.mean, b.violation, mode);
                   });
  return ranked;
}

Value RunsValue(const ConfigurationRuns& runs) {
  Value trials = Value::MakeList();
  for (const int64_t trial : runs.trials) trials.AsList().emplace_back(trial);
  Value value = Value::MakeMap();
  value.Set("mean", runs.mean);
  value.Set("deviation", runs.deviation ? Value(*runs.deviation) : Value());
  value.Set("count", runs.count());
  value.Set("repeat", runs.repeat);
  value.Set("trials", std::move(trials));
  return value;
}

std::string RankConfigurationsSql(int64_t experiment, int64_t repeat, Mode mode, bool has_limits) {
  // What nobody can tell of one run nobody can of all (kViolationUnknown).
  static constexpr char kViolation[] =
      "case when max(violation) >= 1e90 then 1e90 else avg(violation) end";
  const std::string k = std::to_string(repeat);
  return "select number / " + k +
         " as configuration, count(*) as runs, avg(best_value) as mean, min(best_value) as "
         "lowest, max(best_value) as highest from trials where experiment = " +
         std::to_string(experiment) + " and status in ('TERMINATED', 'PAUSED') and " +
         kMayBeBestSql + " group by 1 order by runs = " + k + " desc, runs * 2 > " + k + " desc, " +
         BestFirstSql(mode, has_limits ? kViolation : "", "mean", "1");
}

}  // namespace tune
