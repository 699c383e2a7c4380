#include "tuner/cli/look/retrain_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/json.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/pareto_front.h"

namespace tune {

namespace {

struct TrialConfiguration {
  std::string flat;
  Metric best_value;
  Metric violation;  // Of a sweep with limits on results.
  int64_t earlier_configs = 0;
};

// By number. A trial that exploited others had several configurations: the one that its best value
// is of.
Result<std::map<int64_t, TrialConfiguration>> ReadTrialConfigurations(Database& database,
                                                                      const FoundSweep& sweep,
                                                                      const std::string& which) {
  const std::string violation = sweep.has_limits() ? "t.violation" : "NULL";
  const std::string sql =
      "SELECT " TUNE_CONFIG_OF_BEST_SQL("flat") ","
      " t.number, t.best_value, " TUNE_EARLIER_CONFIGS_SQL ", " + violation +
      " FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id WHERE t.experiment = ?1 AND " +
      which;
  TUNE_ASSIGN_OR_RETURN(Statement row, database.Prepare(sql));
  row.BindAll(sweep.id);
  std::map<int64_t, TrialConfiguration> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return trials;
    trials[row.Int(1)] = {std::string(row.Text(0)), row.OptionalReal(2), row.OptionalReal(4),
                          row.Int(3)};
  }
}

Result<BestConfiguration> ConfigurationOf(int64_t number, const TrialConfiguration& trial,
                                          std::vector<double> values) {
  TUNE_ASSIGN_OR_RETURN(const Value parsed, ParseJson(trial.flat));
  TUNE_ASSIGN_OR_RETURN(Configuration configuration, Configuration::FromFlat(parsed));
  return BestConfiguration{trial.flat, std::move(configuration), number, std::move(values),
                           trial.earlier_configs};
}

// Those that several trials had by the mean of their values.
std::vector<BestConfiguration> ByMean(const std::map<int64_t, TrialConfiguration>& trials,
                                      Mode mode) {
  std::vector<BestConfiguration> best;
  std::map<std::string, size_t> places;
  std::vector<const TrialConfiguration*> bests;
  std::vector<double> violations;
  std::vector<int64_t> counts;
  for (const auto& [number, trial] : trials) {
    const auto [place, is_new] = places.emplace(trial.flat, best.size());
    if (is_new) {
      best.push_back({trial.flat, {}, number, {0}});
      bests.push_back(&trial);
      violations.push_back(0);
      counts.push_back(0);
    }
    const size_t i = place->second;
    best[i].values[0] += *trial.best_value;
    ++counts[i];
    violations[i] += trial.violation.value_or(0);
    if (!IsBetterStanding(*trial.best_value, trial.violation, *bests[i]->best_value,
                          bests[i]->violation, mode)) {
      continue;
    }
    best[i].trial = number;
    bests[i] = &trial;
  }
  for (size_t i = 0; i < best.size(); ++i) {
    best[i].values[0] /= static_cast<double>(counts[i]);
    best[i].violation = violations[i] / static_cast<double>(counts[i]);
  }
  std::stable_sort(best.begin(), best.end(), [&](const auto& a, const auto& b) {
    const auto is_better = [mode](const auto& x, const auto& y) {
      return IsBetterStanding(x.values[0], x.violation, y.values[0], y.violation, mode);
    };
    if (is_better(a, b) || is_better(b, a)) return is_better(a, b);
    return a.trial < b.trial;
  });
  return best;
}

}  // namespace

Result<std::vector<BestConfiguration>> ReadBestConfigurations(Database& database,
                                                              const FoundSweep& sweep,
                                                              int64_t count) {
  TUNE_ASSIGN_OR_RETURN(const auto trials, ReadTrialConfigurations(database, sweep, kMayBeBestSql));
  std::vector<BestConfiguration> best;
  const auto add = [&](int64_t trial, std::vector<double> values) {
    const std::string& flat = trials.at(trial).flat;
    const bool is_there =
        std::any_of(best.begin(), best.end(), [&](const auto& one) { return one.flat == flat; });
    if (!is_there) best.push_back({flat, {}, trial, std::move(values)});
  };
  if (sweep.objectives.size() > 1) {
    TUNE_ASSIGN_OR_RETURN(const auto front, ReadParetoFront(database, sweep));
    for (const ObjectiveValues& one : front) add(one.trial, one.values);
  } else if (sweep.has_means()) {
    TUNE_ASSIGN_OR_RETURN(const auto ranked, ReadConfigurationRuns(database, sweep));
    for (const ConfigurationRuns& runs : ranked) add(runs.best_trial, {runs.mean});
  } else {
    best = ByMean(trials, sweep.direction());
  }
  if (static_cast<int64_t>(best.size()) > count) best.resize(static_cast<size_t>(count));
  for (BestConfiguration& one : best) {
    TUNE_ASSIGN_OR_RETURN(one, ConfigurationOf(one.trial, trials.at(one.trial), one.values));
  }
  return best;
}

Result<std::vector<BestConfiguration>> ReadConfigurations(Database& database,
                                                          const FoundSweep& sweep,
                                                          const std::vector<int64_t>& trials) {
  TUNE_ASSIGN_OR_RETURN(const auto all, ReadTrialConfigurations(database, sweep, "1"));
  std::vector<BestConfiguration> chosen;
  for (const int64_t trial : trials) {
    const auto found = all.find(trial);
    if (found == all.end()) {
      return InvalidArgument("--trial: " + sweep.name + " has no trial " + std::to_string(trial));
    }
    TUNE_ASSIGN_OR_RETURN(BestConfiguration one, ConfigurationOf(trial, found->second, {}));
    const bool is_there = std::any_of(chosen.begin(), chosen.end(),
                                      [&](const auto& other) { return other.flat == one.flat; });
    if (!is_there) chosen.push_back(std::move(one));
  }
  return chosen;
}

Result<std::map<std::string, int64_t>> ReadFirstTrials(Database& database,
                                                       const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const auto all, ReadTrialConfigurations(database, sweep, "1"));
  std::map<std::string, int64_t> firsts;
  for (const auto& [number, trial] : all) firsts.emplace(trial.flat, number);
  return firsts;
}

std::optional<double> RetrainedConfiguration::mean() const {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> RetrainedConfiguration::deviation() const {
  if (values.size() < 2) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += (value - *mean()) * (value - *mean());
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Result<std::vector<RetrainedConfiguration>> ReadRetrained(Database& database,
                                                          const FoundSweep& sweep,
                                                          size_t objective) {
  static constexpr char kTrialsSql[] =
      "SELECT c.flat, t.best_value, t.number, t.status FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id WHERE t.experiment = ?1 ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(sweep.id);
  const bool has_several = sweep.objectives.size() > 1;
  std::map<int64_t, Value> whole;
  if (has_several) {
    TUNE_ASSIGN_OR_RETURN(whole, ReadWholeReports(database, sweep));
  }
  std::vector<RetrainedConfiguration> retrained;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const std::string flat(row->Text(0));
    auto found = std::find_if(retrained.begin(), retrained.end(),
                              [&](const auto& one) { return one.flat == flat; });
    if (found == retrained.end()) found = retrained.insert(found, {flat, {}, 0, 0});
    ++found->trial_count;
    found->failed_count += row->Text(3) == "ERROR" ? 1 : 0;
    if (row->Text(3) != "TERMINATED") continue;
    Metric value = row->OptionalReal(1);
    if (has_several) {
      const auto report = whole.find(row->Int(2));
      value = std::nullopt;
      if (report != whole.end())
        value = ReadNumber(*report->second.Find(sweep.objectives[objective].metric));
    }
    if (value) found->values.push_back(*value);
  }
  return retrained;
}

}  // namespace tune
