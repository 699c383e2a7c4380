#include "tuner/cli/importance_command.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "search/importance.h"
#include "search/unit_space.h"
#include "tuner/best_trial.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/search_problem.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

struct StoredTrial {
  int64_t id = 0;
  int64_t number = 0;
  Configuration configuration;
  bool has_failed = false;
  bool was_stopped = false;  // By the scheduler, or paused by it.
  int64_t iterations = 0;
  std::optional<double> best_value;
  Value last_metrics;  // A map, or null.
};

Result<std::vector<StoredTrial>> ReadTrials(Database& database, const FoundSweep& sweep) {
  static constexpr char kTrialsSql[] =
      "SELECT " TUNE_CONFIG_OF_BEST_SQL("flat") ","
      " t.best_value, t.status,"
      " (SELECT r.metrics FROM report_rows AS r WHERE r.trial = t.id"
      "   ORDER BY r.iteration DESC, r.attempt DESC LIMIT 1),"
      " t.id, t.iterations, t.stop_reason = 'scheduler' OR t.status = 'PAUSED', t.number"
      " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id"
      " WHERE t.experiment = ?1 ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(sweep.id);
  std::vector<StoredTrial> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    StoredTrial& trial = trials.emplace_back();
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(0)));
    TUNE_ASSIGN_OR_RETURN(trial.configuration, Configuration::FromFlat(flat));
    trial.best_value = row->OptionalReal(1);
    trial.has_failed = row->Text(2) == "ERROR";
    trial.id = row->Int(4);
    trial.iterations = row->Int(5);
    trial.number = row->Int(7);
    trial.was_stopped = !row->IsNull(6) && row->Int(6) != 0;
    if (row->IsNull(3)) continue;
    TUNE_ASSIGN_OR_RETURN(trial.last_metrics, ParseJson(row->Text(3)));
  }
  return trials;
}

std::optional<double> LastValue(const StoredTrial& trial, const std::string& metric) {
  const Value* const value =
      trial.last_metrics.is_map() ? trial.last_metrics.Find(metric) : nullptr;
  return value == nullptr ? std::nullopt : ReadNumber(*value);
}

// The metrics that are asked for, with their directions.
Result<std::vector<Objective>> ChooseMetrics(const ImportanceOptions& options,
                                             const FoundSweep& sweep,
                                             const std::vector<StoredTrial>& trials) {
  if (options.metric.empty()) {
    if (options.mode) return InvalidArgument("--mode is the direction of a --metric; name one");
    return sweep.objectives;
  }
  for (const Objective& objective : sweep.objectives) {
    if (objective.metric == options.metric) {
      return std::vector<Objective>{{options.metric, options.mode.value_or(objective.mode)}};
    }
  }
  std::set<std::string, std::less<>> reported;
  for (const StoredTrial& trial : trials) {
    if (!trial.last_metrics.is_map()) continue;
    for (const MapEntry& entry : trial.last_metrics.AsMap()) reported.insert(entry.key);
  }
  if (!reported.contains(options.metric)) {
    const std::vector<std::string_view> known(reported.begin(), reported.end());
    return NotFound("--metric: " + sweep.name + " has no metric '" + options.metric + "'" +
                    DidYouMean(options.metric, known));
  }
  if (!options.mode) {
    return InvalidArgument("--metric: " + options.metric +
                           " is not what the sweep looks at; say --mode min or --mode max too");
  }
  return std::vector<Objective>{{options.metric, *options.mode}};
}

// Where trials were stopped early: the iteration that half of those that did not fail reached, and
// at least so many as are needed. Nothing: none was stopped.
std::optional<int64_t> EqualIteration(const std::vector<StoredTrial>& trials) {
  std::vector<int64_t> iterations;
  bool is_any_stopped = false;
  for (const StoredTrial& trial : trials) {
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
                 std::vector<StoredTrial>& trials) {
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
    values[row->Int(0)] = row->Real(mode == Mode::kMin ? 1 : 2);
  }
  for (StoredTrial& trial : trials) {
    const auto found = values.find(trial.id);
    const bool came_so_far = trial.iterations >= iteration && found != values.end();
    trial.best_value = came_so_far ? std::optional(found->second) : std::nullopt;
  }
  return OkStatus();
}

struct Weighed {
  std::vector<ParameterImportance> parameters;  // The most important first.
  size_t trial_count = 0;                       // With `repeat` of configurations.
  std::optional<int64_t> iteration;  // At which trials are compared, where some were stopped.
};

Result<Weighed> Weigh(const FoundSweep& sweep, const Objective& objective, const SearchSpace& space,
                      std::vector<StoredTrial> trials, Database& database) {
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
  for (const StoredTrial& trial : trials) {
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
  Weighed weighed{Importances(space, configurations, losses), losses.size(), iteration};
  std::stable_sort(
      weighed.parameters.begin(), weighed.parameters.end(),
      [](const ParameterImportance& a, const ParameterImportance& b) { return a.share > b.share; });
  return weighed;
}

void PrintForPerson(const FoundSweep& sweep, const Objective& objective, const Weighed& weighed,
                    size_t trial_count, const ImportanceOptions& options, std::ostream& out,
                    std::ostream& err) {
  constexpr double kBarLength = 40;
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"parameter", "percent", "from", "to", Printable(objective.metric)});
  bool is_any_clear = false;
  std::string unclear;
  const auto percent = [](double share) { return std::round(1000 * share) / 10; };
  for (const ParameterImportance& parameter : weighed.parameters) {
    // The certain part of the bar, and the rest of the share.
    const auto length = [](double share) {
      return static_cast<size_t>(std::lround(kBarLength * share));
    };
    const size_t sure = parameter.is_clear ? length(std::min(parameter.low, parameter.share)) : 0;
    const std::string bar =
        std::string(sure, '#') + std::string(length(parameter.share) - sure, '-');
    printer.Row({parameter.name, percent(parameter.share), percent(parameter.low),
                 percent(parameter.high), bar});
    is_any_clear = is_any_clear || parameter.is_clear;
    if (!parameter.is_clear) unclear += (unclear.empty() ? "" : ", ") + Printable(parameter.name);
  }
  printer.End();
  err << Printable(sweep.name) << ": from " << weighed.trial_count << " of " << trial_count
      << (sweep.repeat > 1 ? " configurations, each by the mean of its runs" : " trials");
  if (weighed.iteration) {
    err << ", compared at iteration " << *weighed.iteration
        << ", since the scheduler stopped some early";
  }
  err << (weighed.trial_count < trial_count ? "; the others failed, stopped before or have no value"
                                            : "")
      << "\n";
  if (weighed.parameters.front().share == 0) {
    err << "all trials have the same value: no parameter made a difference\n";
  } else if (!is_any_clear) {
    err << "too few trials to tell: what each parameter shows is what chance would show\n";
  } else if (!unclear.empty()) {
    err << "no clearer than chance: " << unclear << "\n";
  }
}

Status Print(const ImportanceOptions& options, std::ostream& out, std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const auto database, OpenForQueries(options.db_path));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database, options.name));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(*database, sweep));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(const auto trials, ReadTrials(*database, sweep));
  TUNE_ASSIGN_OR_RETURN(const auto objectives, ChooseMetrics(options, sweep, trials));
  std::vector<Weighed> all;
  for (const Objective& objective : objectives) {
    TUNE_ASSIGN_OR_RETURN(all.emplace_back(), Weigh(sweep, objective, space, trials, *database));
  }
  if (options.format == OutputFormat::kTable) {
    const auto repeat = static_cast<size_t>(sweep.repeat);
    const size_t configuration_count = (trials.size() + repeat - 1) / repeat;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out << "\n";
      PrintForPerson(sweep, objectives[i], all[i], configuration_count, options, out, err);
    }
    return OkStatus();
  }
  RowPrinter printer(options.format, options.width, out);
  printer.Begin(
      {"experiment", "metric", "parameter", "importance", "trials", "low", "high", "clear"});
  for (size_t i = 0; i < all.size(); ++i) {
    for (const ParameterImportance& parameter : all[i].parameters) {
      printer.Row({sweep.name, objectives[i].metric, parameter.name, parameter.share,
                   static_cast<int64_t>(all[i].trial_count), parameter.low, parameter.high,
                   parameter.is_clear});
    }
  }
  printer.End();
  return OkStatus();
}

}  // namespace

int ImportanceCommand(const ImportanceOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Print(options, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
