#include "tuner/earlier_sweep.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

std::string ObjectivesText(const std::vector<Objective>& objectives) {
  std::string text;
  for (const Objective& objective : objectives) {
    text += (text.empty() ? "" : ", ") + objective.metric +
            (objective.mode == Mode::kMax ? " (max)" : " (min)");
  }
  return text;
}

// What a stored document says of its objectives: it has been checked when its sweep began.
std::vector<Objective> ObjectivesOf(const Value& document) {
  const auto items = [&](std::string_view key) {
    const Value* const value = document.is_map() ? document.Find(key) : nullptr;
    if (value == nullptr) return Value::List();
    return value->is_list() ? value->AsList() : Value::List{*value};
  };
  const Value::List metrics = items("metric");
  const Value::List modes = items("mode");
  std::vector<Objective> objectives;
  for (size_t i = 0; i < std::min(metrics.size(), modes.size()); ++i) {
    if (!metrics[i].is_string()) return {};
    objectives.push_back(
        {metrics[i].AsString(), modes[i] == Value("min") ? Mode::kMin : Mode::kMax});
  }
  return objectives;
}

Result<StoredExperiment> FindEarlier(const ExperimentSpec& spec, Store& store) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store.ListExperiments());
  std::vector<std::string_view> names;
  for (const StoredExperiment& experiment : experiments) names.push_back(experiment.name);
  const auto found = std::find(names.begin(), names.end(), spec.from);
  if (found == names.end()) {
    return InvalidArgument("from: there is no sweep '" + spec.from + "' in the database" +
                           DidYouMean(spec.from, names));
  }
  const StoredExperiment& earlier = experiments[static_cast<size_t>(found - names.begin())];
  const Result<Value> document = ParseJson(earlier.spec);
  if (!document.ok()) return document.status().At("from: the stored spec of " + earlier.name);
  const std::vector<Objective> theirs = ObjectivesOf(*document);
  if (theirs == spec.objectives()) return earlier;
  return InvalidArgument("from: the sweep '" + earlier.name + "' follows " +
                         ObjectivesText(theirs) + ", this one " +
                         ObjectivesText(spec.objectives()));
}

// By trial: what searchers were told of it then.
Result<std::map<TrialNumber, std::vector<EarlierTrial::Report>>> ReportsBefore(
    Instant before, const ExperimentSpec& spec, ExperimentId experiment, Store& store) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<ReportRow> rows, store.ReadReports(experiment));
  std::map<TrialNumber, std::vector<EarlierTrial::Report>> reports;
  for (const ReportRow& row : rows) {
    if (row.reported_at > before) continue;
    std::vector<EarlierTrial::Report>& of_trial = reports[row.trial];
    // An iteration reported again after a retry reached nobody.
    if (!of_trial.empty() && row.iteration <= of_trial.back().iteration) continue;
    EarlierTrial::Report report{row.iteration, {}};
    for (const Objective& objective : spec.objectives()) {
      report.values.push_back(FindObjective(row.metrics, objective.metric));
    }
    of_trial.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

Result<EarlierSweep> ReadEarlierSweep(const ExperimentSpec& spec, const SearchSpace& space,
                                      Instant before, Store& store) {
  EarlierSweep sweep;
  if (spec.from.empty()) return sweep;
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment earlier, FindEarlier(spec, store));
  TUNE_ASSIGN_OR_RETURN(auto reports, ReportsBefore(before, spec, earlier.id, store));
  TUNE_ASSIGN_OR_RETURN(const std::vector<TrialRow> trials, store.ReadTrials(earlier.id));
  TUNE_ASSIGN_OR_RETURN(const auto suggestions, store.ReadSuggestions(earlier.id));
  std::map<TrialNumber, const Configuration*> configurations;
  for (const auto& [number, configuration] : suggestions) {
    configurations.emplace(number, &configuration);
  }
  int64_t left_out = 0;
  std::string why;
  for (const TrialRow& row : trials) {
    EarlierTrial trial;
    trial.reports = std::move(reports[row.number]);
    trial.has_failed =
        row.status == TrialStatus::kError && row.finished_at && *row.finished_at <= before;
    const auto configuration = configurations.find(row.number);
    if (configuration == configurations.end()) continue;
    if (trial.reports.empty() && !trial.has_failed) continue;
    Result<Configuration> fitted = FitToSpace(*configuration->second, space);
    if (!fitted.ok()) {
      if (left_out++ == 0) {
        why = "trial " + std::to_string(row.number.value) + ": " + fitted.status().message();
      }
      continue;
    }
    trial.configuration = *std::move(fitted);
    sweep.trials.push_back(std::move(trial));
  }
  sweep.note = "from: learning from " +
               Counted(static_cast<int64_t>(sweep.trials.size()), "trial") + " of " + earlier.name;
  if (left_out > 0) {
    sweep.note += "; " + std::to_string(left_out) + " do not fit this space (" + why + ")";
  }
  return sweep;
}

}  // namespace tune
