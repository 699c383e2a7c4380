#include "tuner/spec_parts.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "core/input_error.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "schedulers/trial_scheduler.h"
#include "search/perturb.h"
#include "search/points.h"
#include "search/satisfiable.h"
#include "search/searcher.h"
#include "search/space.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/search_problem.h"
#include "tuner/spec_section.h"

namespace tune {
namespace {

// Of a scheduler under which a trial goes on with another configuration: the search, and the names.
Status CheckExplore(const ExperimentSpec& spec, const SearchSpace& space, bool search_learns) {
  const std::optional<ExploreOptions> explore = SchedulerExplore(spec.scheduler);
  if (!explore) return OkStatus();
  const Value* const algorithm = spec.search.is_map() ? spec.search.Find("algorithm") : nullptr;
  // What auto chooses may change when the sweep is extended.
  if (algorithm != nullptr && (search_learns || *algorithm == Value("auto"))) {
    return InvalidAt(algorithm->place,
                     "search: " + algorithm->AsString() +
                         " learns from trials that keep their configuration, but pbt changes it as "
                         "they train; expected random, sobol or grid, or another scheduler");
  }
  return CheckPerturbed(space, explore->parameters);
}

// What the trainable cannot change in the middle of training, no exploring trial may.
Status CheckExplored(const ExperimentSpec& spec, const SearchSpace& space,
                     const TrainableInfo& trainable) {
  const std::optional<ExploreOptions> explore = SchedulerExplore(spec.scheduler);
  if (!explore) return OkStatus();
  const auto is_fixed = [&trainable](const std::string& name) {
    return std::find(trainable.fixed.begin(), trainable.fixed.end(), name) != trainable.fixed.end();
  };
  for (const Value& name : explore->parameters) {
    if (!is_fixed(name.AsString())) continue;
    return InvalidAt(name.place, "hyperparam_mutations: " + trainable.kind + " cannot change '" +
                                     name.AsString() + "' in the middle of training");
  }
  if (!explore->parameters.empty()) return OkStatus();
  for (const SpaceParameter& parameter : space.parameters()) {
    if (!std::holds_alternative<Domain>(parameter.content) || !is_fixed(parameter.name)) continue;
    return InvalidAt(parameter.place,
                     "space: pbt changes each parameter with a domain, but " + trainable.kind +
                         " cannot change '" + parameter.name +
                         "' in the middle of training; name in hyperparam_mutations those that "
                         "may change");
  }
  return OkStatus();
}

}  // namespace

Status CheckAsync(const ExperimentSpec& spec) {
  if (!spec.checkpoint.is_async || !SchedulerExplore(spec.scheduler)) return OkStatus();
  return InvalidAt(spec.document.Find("checkpoint")->Find("async")->place,
                   "checkpoint: async is true, but pbt copies checkpoints at the moment when it "
                   "decides, so that each must be durable by then; expected false, or another "
                   "scheduler");
}

Result<std::vector<std::string>> CheckParts(const ExperimentSpec& spec, bool require_trainable) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_RETURN_IF_ERROR(CheckSatisfiable(space));
  TUNE_RETURN_IF_ERROR(ReadPoints(spec.points, space).status());
  TUNE_RETURN_IF_ERROR(MakeScheduler(spec.scheduler, spec.mode, 0).status());
  TUNE_ASSIGN_OR_RETURN(const auto searcher,
                        MakeSearcher(spec.search, ProblemOf(spec, space, spec.samples, 0)));
  TUNE_RETURN_IF_ERROR(CheckExplore(spec, space, searcher->LearnsFromResults()));
  const Value* const unique = spec.search.is_map() ? spec.search.Find("unique") : nullptr;
  const bool is_unique = unique != nullptr && *unique == Value(true);
  if (!spec.from.empty() && !searcher->LearnsFromResults() && !is_unique) {
    return InvalidAt(spec.document.Find("from")->place,
                     "from: this search does not learn; use one that does, such as tpe, or unique: "
                     "true to leave out what was tried");
  }
  if (spec.trainable.is_null()) {
    if (require_trainable) {
      return MissingKey(spec.document, "trainable",
                        "trainable: food11 (trials that you run yourself: tune ask)");
    }
    return std::vector<std::string>();
  }
  std::vector<std::string> names;
  TrainablePlaces places;
  places.metric = spec.document.Find("metric")->place;
  for (const SpaceParameter& parameter : space.parameters()) {
    names.push_back(parameter.name);
    places.parameters.push_back(parameter.place);
  }
  const Value* const curve = spec.trainable.is_map() ? spec.trainable.Find("curve") : nullptr;
  if (spec.scores.has_expressions() && curve != nullptr && curve->is_map() &&
      curve->Find("value") != nullptr) {
    return InvalidAt(curve->place,
                     "trainable: the curve's `value` has no name of its own to be used in the "
                     "metric's expression; write values: {NAME: ...}");
  }
  TUNE_ASSIGN_OR_RETURN(
      const TrainableInfo info,
      DescribeTrainable(spec.trainable, spec.scores.reported_names(), names, places));
  if (require_trainable && info.program.empty()) {
    return InvalidAt(spec.trainable.place, TrialProgram(info.kind).status().message());
  }
  TUNE_RETURN_IF_ERROR(CheckExplored(spec, space, info));
  if (info.reports_others) return std::vector<std::string>();
  std::vector<std::string> reported = info.metrics;
  for (const Objective& objective : spec.objectives()) {
    const bool is_new =
        std::find(reported.begin(), reported.end(), objective.metric) == reported.end();
    if (is_new) reported.push_back(objective.metric);
  }
  return reported;
}

namespace {

Status CheckConstrained(const ExperimentSpec& spec) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> reported,
                        CheckParts(spec, /*require_trainable=*/false));
  if (reported.empty()) return OkStatus();
  Metrics known;
  std::vector<std::string_view> names;
  for (const std::string& name : reported) {
    known.emplace_back(name, 0.0);
    names.push_back(name);
  }
  const std::string key = spec.feasible.empty() ? "metric_constraints" : "feasible";
  for (const std::string& name : spec.feasible.parameter_names()) names.push_back(name);
  for (const std::string& name : spec.constrained_names()) {
    if (FindVariable(known, name)) continue;
    return InvalidAt(spec.document.Find(key)->place,
                     key + ": '" + name + "' is never reported" +
                         (spec.feasible.empty() ? "" : " and is no parameter") +
                         DidYouMean(name, names));
  }
  return OkStatus();
}

}  // namespace

Status CheckValues(const ExperimentSpec& spec) {
  if (spec.trainable.is_null()) return OkStatus();
  TUNE_RETURN_IF_ERROR(CheckConstrained(spec));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  for (const SpaceParameter& parameter : space.parameters()) {
    const Status named = CheckParameterName(spec.trainable, parameter.name);
    if (!named.ok()) return InvalidAt(parameter.place, "trainable: " + named.message());
    std::vector<Value> values;
    if (const auto* const constant = std::get_if<Value>(&parameter.content)) {
      values.push_back(*constant);
    } else if (const Domain& domain = std::get<Domain>(parameter.content); domain.is_list()) {
      for (uint64_t i = 0; i < domain.Count().value_or(0); ++i) values.push_back(domain.At(i));
    }
    for (const Value& value : values) {
      const Status checked = CheckParameter(spec.trainable, parameter.name, value);
      if (!checked.ok()) return InvalidAt(parameter.place, "trainable: " + checked.message());
    }
  }
  return OkStatus();
}

}  // namespace tune
