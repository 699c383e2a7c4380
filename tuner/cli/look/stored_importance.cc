#include "tuner/cli/look/stored_importance.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/json.h"
#include "search/unit_space.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/result_limits.h"

namespace tune {
namespace {

std::optional<double> LastValue(const WeighedTrial& trial, const std::string& metric) {
  const Value* const value =
      trial.last_metrics.is_map() ? trial.last_metrics.Find(metric) : nullptr;
  return value == nullptr ? std::nullopt : ReadNumber(*value);
}

// Where trials were stopped early: the iteration that half of those that did not fail reached, and
// at least so many as are needed. Nothing: none was stopped.
std::optional<int64_t> EqualIteration(const std::vector<WeighedTrial>& trials) {
  std::vector<int64_t> iterations;
  bool is_any_stopped = false;
  for (const WeighedTrial& trial : trials) {
    if (trial.has_failed || trial.iterations == 0) continue;
    iterations.push_back(trial.iterations);
    is_any_stopped = is_any_stopped || trial.was_stopped;
  }
  if (!is_any_stopped) return std::nullopt;
  std::sort(iterations.rbegin(), iterations.rend());
  const size_t count = std::max(kImportanceTrialsMin, (iterations.size() + 1) / 2);
  return iterations[std::min(count, iterations.size()) - 1];
}

// The best value of each trial up to there, in place of its best one; of those that did not come so
// far none.
Status CompareAt(int64_t iteration, Mode mode, Database& database, int64_t experiment,
                 std::vector<WeighedTrial>& trials) {
  static constexpr char kValuesSql[] =
      "SELECT r.trial, min(r.value), max(r.value) FROM report_rows AS r"
      " JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1 AND r.iteration <= ?2 AND r.value IS NOT NULL GROUP BY r.trial";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kValuesSql));
  row->BindAll(experiment, iteration);
  std::map<int64_t, double> values;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const double low = row->Real(1);
    const double high = row->Real(2);
    values[row->Int(0)] = IsBetter(low, high, mode) ? low : high;
  }
  for (WeighedTrial& trial : trials) {
    const auto found = values.find(trial.id);
    const bool came_so_far = trial.iterations >= iteration && found != values.end();
    trial.best_value = came_so_far ? std::optional(found->second) : std::nullopt;
  }
  return OkStatus();
}

// How far each trial came, and how it ended; nothing else of it.
Result<std::vector<WeighedTrial>> ReadLengths(Database& database, int64_t experiment) {
  static constexpr char kLengthsSql[] =
      "SELECT id, number, iterations, stop_reason = 'scheduler' OR status = 'PAUSED',"
      " status = 'ERROR' FROM trial_rows WHERE experiment = ?1 ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kLengthsSql));
  row->BindAll(experiment);
  std::vector<WeighedTrial> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return trials;
    WeighedTrial& trial = trials.emplace_back();
    trial.id = row->Int(0);
    trial.number = row->Int(1);
    trial.iterations = row->Int(2);
    trial.was_stopped = !row->IsNull(3) && row->Int(3) != 0;
    trial.has_failed = row->Int(4) != 0;
  }
}

// What decides in a sweep of several objectives is each trial's last whole report, as on the front.
Status TakeWholeReports(Database& database, const FoundSweep& sweep,
                        std::vector<WeighedTrial>& trials) {
  std::vector<std::string> names;
  for (const Objective& objective : sweep.objectives) names.push_back(objective.metric);
  if (sweep.has_limits()) names.emplace_back(kViolationName);
  TUNE_ASSIGN_OR_RETURN(const auto whole, ReadWholeReports(database, sweep));
  for (WeighedTrial& trial : trials) {
    if (!trial.last_metrics.is_map()) continue;
    const auto report = whole.find(trial.number);
    for (const std::string& name : names) {
      const Value* const value = report == whole.end() ? nullptr : report->second.Find(name);
      trial.last_metrics.Set(name, value == nullptr ? Value() : *value);
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<WeighedTrial>> ReadWeighedTrials(Database& database, const FoundSweep& sweep) {
  static const auto sql_with = [](const std::string& violation) {
    return "SELECT " TUNE_CONFIG_OF_BEST_SQL("flat") ","
           " t.best_value, t.status,"
           " (SELECT r.metrics FROM report_rows AS r WHERE r.trial = t.id"
           "   ORDER BY r.iteration DESC, r.attempt DESC LIMIT 1),"
           " t.id, t.iterations, t.stop_reason = 'scheduler' OR t.status = 'PAUSED', t.number, " +
           violation +
           " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id"
           " WHERE t.experiment = ?1 ORDER BY t.number";
  };
  static const std::string kTrialsSql = sql_with("NULL");
  static const std::string kLimitedSql = sql_with("t.violation");
  const std::string& sql = sweep.has_limits() ? kLimitedSql : kTrialsSql;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(sql.c_str()));
  row->BindAll(sweep.id);
  std::vector<WeighedTrial> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    WeighedTrial& trial = trials.emplace_back();
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(0)));
    TUNE_ASSIGN_OR_RETURN(trial.configuration, Configuration::FromFlat(flat));
    trial.best_value = row->OptionalReal(1);
    trial.has_failed = row->Text(2) == "ERROR";
    trial.is_over = row->Text(2) == "TERMINATED";
    trial.id = row->Int(4);
    trial.iterations = row->Int(5);
    trial.number = row->Int(7);
    trial.violation = row->OptionalReal(8);
    trial.was_stopped = !row->IsNull(6) && row->Int(6) != 0;
    if (row->IsNull(3)) continue;
    TUNE_ASSIGN_OR_RETURN(trial.last_metrics, ParseJson(row->Text(3)));
  }
  if (sweep.objectives.size() > 1) {
    TUNE_RETURN_IF_ERROR(TakeWholeReports(database, sweep, trials));
  }
  return trials;
}

Result<ComparedValues> ReadComparedValues(Database& database, const FoundSweep& sweep) {
  ComparedValues compared;
  if (sweep.objectives.size() > 1) return compared;
  TUNE_ASSIGN_OR_RETURN(std::vector<WeighedTrial> trials, ReadLengths(database, sweep.id));
  compared.iteration = EqualIteration(trials);
  if (!compared.iteration) return compared;
  TUNE_RETURN_IF_ERROR(
      CompareAt(*compared.iteration, sweep.direction(), database, sweep.id, trials));
  for (const WeighedTrial& trial : trials) {
    if (trial.best_value) compared.values.emplace_back(trial.number, *trial.best_value);
  }
  return compared;
}

Result<StoredImportance> WeighParameters(const FoundSweep& sweep, const Objective& objective,
                                         const SearchSpace& space, std::vector<WeighedTrial> trials,
                                         Database& database) {
  const UnitSpace unit(space);
  if (unit.size() == 0) {
    return FailedPrecondition(sweep.name + ": all of its parameters are constants");
  }
  const bool is_sweeps = sweep.objectives.size() == 1 && objective.metric == sweep.metric;
  const auto iteration = is_sweeps ? EqualIteration(trials) : std::nullopt;
  if (iteration) {
    TUNE_RETURN_IF_ERROR(CompareAt(*iteration, objective.mode, database, sweep.id, trials));
  }
  // Runs of one configuration are no trials of their own: their mean is what it came to.
  struct Runs {
    const Configuration* configuration = nullptr;
    double sum = 0;
    double count = 0;
  };
  std::map<int64_t, Runs> by_configuration;
  for (const WeighedTrial& trial : trials) {
    const std::optional<double> value =
        is_sweeps ? trial.best_value : LastValue(trial, objective.metric);
    if (trial.has_failed || !Finite(value)) continue;
    if (!unit.CellsOf(trial.configuration)) continue;
    Runs& runs = by_configuration[trial.number / sweep.repeat];
    runs.configuration = &trial.configuration;
    runs.sum += AsLoss(*value, objective.mode);
    ++runs.count;
  }
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  for (const auto& [number, runs] : by_configuration) {
    configurations.push_back(*runs.configuration);
    losses.push_back(runs.sum / runs.count);
  }
  if (losses.size() < kImportanceTrialsMin) {
    return FailedPrecondition(sweep.name + ": " + std::to_string(losses.size()) +
                              (sweep.repeat > 1     ? " configurations have"
                               : losses.size() == 1 ? " trial has"
                                                    : " trials have") +
                              " a value of " + objective.metric + "; at least " +
                              std::to_string(kImportanceTrialsMin) +
                              " are needed to tell anything");
  }
  StoredImportance weighed{Importances(space, configurations, losses), losses.size(), iteration};
  std::stable_sort(
      weighed.parameters.begin(), weighed.parameters.end(),
      [](const ParameterImportance& a, const ParameterImportance& b) { return a.share > b.share; });
  return weighed;
}

}  // namespace tune
