#include "tuner/cli/look/importance_command.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/cli/look/stored_importance.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/search_problem.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

// The metrics that are asked for, with their directions.
Result<std::vector<Objective>> ChooseMetrics(const ImportanceOptions& options,
                                             const FoundSweep& sweep,
                                             const std::vector<WeighedTrial>& trials) {
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
  for (const WeighedTrial& trial : trials) {
    if (!trial.last_metrics.is_map()) continue;
    for (const MapEntry& entry : trial.last_metrics.AsMap()) reported.insert(entry.key);
  }
  if (!reported.contains(options.metric)) {
    const std::vector<std::string_view> known(reported.begin(), reported.end());
    return NotFound("--metric: " + sweep.name + " has no metric '" + options.metric + "'" +
                    DidYouMean(options.metric, known));
  }
  const bool is_violation = sweep.has_limits() && options.metric == kViolationName;
  if (is_violation && !options.mode) return std::vector<Objective>{{options.metric, Mode::kMin}};
  if (!options.mode) {
    return InvalidArgument("--metric: " + options.metric +
                           " is not what the sweep looks at; say --mode min or --mode max too");
  }
  return std::vector<Objective>{{options.metric, *options.mode}};
}

void PrintForPerson(const FoundSweep& sweep, const Objective& objective,
                    const StoredImportance& weighed, size_t trial_count,
                    const ImportanceOptions& options, std::ostream& out, std::ostream& err) {
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
    err << "too few trials to tell: what each parameter shows by itself is what chance would "
           "show\n";
  } else if (!unclear.empty()) {
    err << "by itself no clearer than chance: " << unclear
        << " (a large share is then due to several together, or to chance)\n";
  }
  if (sweep.has_limits() && objective.metric != kViolationName) {
    err << "trials count whether they keep the limits or not; --metric violation: which parameters "
           "decide that\n";
  }
}

Status Print(const ImportanceOptions& options, std::ostream& out, std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const auto database, OpenForAnswer(options.db_path, err));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database, options.name));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(*database, sweep));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(const auto trials, ReadWeighedTrials(*database, sweep));
  TUNE_ASSIGN_OR_RETURN(const auto objectives, ChooseMetrics(options, sweep, trials));
  std::vector<StoredImportance> all;
  for (const Objective& objective : objectives) {
    TUNE_ASSIGN_OR_RETURN(all.emplace_back(),
                          WeighParameters(sweep, objective, space, trials, *database));
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
