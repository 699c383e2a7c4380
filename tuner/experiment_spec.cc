// What each key of a space file means (product.md section 2), and what it may be.
#include "tuner/experiment_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <variant>

#include "core/expression.h"
#include "core/input_error.h"
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
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr size_t kSweepNameBytesMax = limits::kNameBytesMax - 10;  // Room for its "-2".

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 18> kKeys = {
    "name",    "trainable", "metric",    "mode",        "metric_constraints",
    "samples", "seed",      "space",     "constraints", "points",
    "from",    "search",    "scheduler", "resources",   "stop",
    "limits",  "failure",   "checkpoint"};
constexpr std::array<std::string_view, 5> kResourceKeys = {"cpu", "gpu", "gpu_memory", "memory",
                                                           "workers"};
constexpr std::array<std::string_view, 7> kLimitKeys = {
    "max_concurrent", "sweep_time",  "trial_time", "no_progress",
    "failed_trials",  "unplaceable", "lease"};
constexpr Duration kLeaseMin = Milliseconds(300);
constexpr int64_t kFailuresMax = 1'000'000;
constexpr std::string_view kFailuresWhat = "an integer of 0 or more, or -1 for no limit";

// A map of the file with what its keys are called in messages.
class Section {
 public:
  // `value` is null for a section that is not there.
  static Result<Section> Open(const Value* value, std::string_view name) {
    if (value == nullptr || value->is_null()) return Section(nullptr, name);
    if (!value->is_map()) {
      return InvalidAt(value->place,
                       std::string(name) + ": read " + Shown(*value) + ", expected a map");
    }
    return Section(value, name);
  }

  // `later`: keys that are promised and not there yet.
  Status CheckKeys(Names known, Names later) const {
    if (map_ == nullptr) return OkStatus();
    for (const MapEntry& entry : map_->AsMap()) {
      bool is_known = false;
      for (const std::string_view name : known) is_known = is_known || entry.key == name;
      for (const std::string_view name : later) {
        if (entry.key == name) {
          return InvalidAt(entry.key_place, "'" + Path(entry.key) + "' is not supported yet");
        }
      }
      if (!is_known) {
        return InvalidAt(entry.key_place,
                         "unknown key '" + Path(entry.key) + "'" + DidYouMean(entry.key, known));
      }
    }
    return OkStatus();
  }

  // The value of a key; null where it is absent or says null.
  const Value* Find(std::string_view key) const {
    const Value* const value = map_ == nullptr ? nullptr : map_->Find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  Status Expected(const Value& value, std::string_view key, std::string_view what) const {
    return InvalidAt(value.place,
                     Path(key) + ": read " + Shown(value) + ", expected " + std::string(what));
  }

  // Each leaves `out` as it is where the key is absent.
  Status ReadInt(std::string_view key, int64_t min, int64_t max, std::string_view what,
                 int64_t& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    if (!value->is_int() || value->AsInt() < min || value->AsInt() > max) {
      return Expected(*value, key, what);
    }
    out = value->AsInt();
    return OkStatus();
  }

  template <typename T>  // Duration or std::optional<Duration>.
  Status ReadDuration(std::string_view key, T& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    Duration duration;
    TUNE_RETURN_IF_ERROR(ToDuration(*value, key, duration));
    out = duration;
    return OkStatus();
  }

  // As ReadDuration, and 0 for no wait at all.
  template <typename T>
  Status ReadWait(std::string_view key, T& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    if (*value != Value(int64_t{0}) && *value != Value("0s")) return ReadDuration(key, out);
    out = Duration{};
    return OkStatus();
  }

  Status ToDuration(const Value& value, std::string_view key, Duration& out) const {
    constexpr std::string_view kWhat = "a duration above 0 such as 90s, 10m, 2h or 1d";
    if (!value.is_string() && !value.is_number()) return Expected(value, key, kWhat);
    const Result<Duration> duration =
        ParseDuration(value.is_string() ? value.AsString() : Shown(value));
    if (!duration.ok() || duration->us <= 0) return Expected(value, key, kWhat);
    out = *duration;
    return OkStatus();
  }

  Status ReadBytes(std::string_view key, int64_t& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    const bool is_text = value->is_string() || value->is_int();
    const Result<int64_t> bytes =
        is_text ? ParseBytes(value->is_string() ? value->AsString() : Shown(*value))
                : Result<int64_t>(InvalidArgument(""));
    if (!bytes.ok() || *bytes <= 0) {
      return Expected(*value, key, "a size such as 512MiB, 4GiB or 20GB");
    }
    out = *bytes;
    return OkStatus();
  }

  // A number with at most three decimals as thousandths, not negative.
  Status ReadMilli(std::string_view key, std::string_view what, int64_t& out) const {
    constexpr double kWholeMax = 1e6;
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    const double number = value->is_number() ? value->AsDouble() : -1;
    const double milli = std::round(number * kWholeMilli);
    if (!(number >= 0 && number <= kWholeMax) || std::fabs(number * kWholeMilli - milli) > 1e-6) {
      return Expected(*value, key, what);
    }
    out = static_cast<int64_t>(milli);
    return OkStatus();
  }

 private:
  Section(const Value* map, std::string_view name) : map_(map), name_(name) {}

  std::string Path(std::string_view key) const {
    return name_.empty() ? std::string(key) : name_ + "." + std::string(key);
  }

  const Value* map_;
  std::string name_;
};

Status CheckTree(const Value& value, int depth) {
  if (depth > limits::kJsonDepthMax) {
    return InvalidAt(value.place,
                     "nested deeper than " + std::to_string(limits::kJsonDepthMax) + " levels");
  }
  if (value.is_double() && !std::isfinite(value.AsDouble())) {
    return InvalidAt(value.place, "read " + Shown(value) + ", expected a finite number");
  }
  if (value.is_list()) {
    for (const Value& item : value.AsList()) TUNE_RETURN_IF_ERROR(CheckTree(item, depth + 1));
  } else if (value.is_map()) {
    for (const MapEntry& entry : value.AsMap()) {
      TUNE_RETURN_IF_ERROR(CheckTree(entry.value, depth + 1));
    }
  }
  return OkStatus();
}

Status MissingKey(const Value& document, std::string_view key, std::string_view example) {
  return InvalidAt(document.place, "'" + std::string(key) + "' is missing; write for example " +
                                       std::string(example));
}

Status ReadName(const Section& root, std::string_view file, ExperimentSpec& spec) {
  const Value* const name = root.Find("name");
  if (name == nullptr) {
    spec.name = std::filesystem::path(file).stem().string().substr(0, kSweepNameBytesMax);
    if (!CheckSweepName(spec.name).ok()) spec.name = "sweep";
    spec.document.Set("name", spec.name);
    return OkStatus();
  }
  if (!name->is_string()) return root.Expected(*name, "name", "a string (a number needs quotes)");
  spec.name = name->AsString();
  const Status status = CheckSweepName(spec.name);
  return status.ok() ? status : InvalidAt(name->place, "name: " + status.message());
}

Status CheckMetricName(const Section& root, const Value& metric) {
  if (!metric.is_string() || metric.AsString().empty() ||
      metric.AsString().size() > limits::kNameBytesMax) {
    return root.Expected(metric, "metric", "the name of a reported value");
  }
  return OkStatus();
}

// One value, or a list of at least one.
Result<Value::List> OneOrMore(const Section& root, std::string_view key, const Value& value) {
  if (!value.is_list()) return Value::List{value};
  const auto count = static_cast<int64_t>(value.AsList().size());
  if (count < 1 || count > limits::kObjectivesMax) {
    return root.Expected(value, key,
                         "one value, or a list of up to " + std::to_string(limits::kObjectivesMax) +
                             " (several objectives)");
  }
  return value.AsList();
}

Status ReadFrom(const Section& root, ExperimentSpec& spec) {
  const Value* const from = root.Find("from");
  if (from == nullptr) return OkStatus();
  if (!from->is_string() || from->AsString().empty()) {
    return root.Expected(*from, "from", "the name of an earlier sweep");
  }
  spec.from = from->AsString();
  return OkStatus();
}

Status ReadObjectives(const Section& root, ExperimentSpec& spec) {
  const Value* const metric = root.Find("metric");
  if (metric == nullptr) return MissingKey(spec.document, "metric", "metric: val_accuracy");
  const Value* const mode = root.Find("mode");
  if (mode == nullptr) return MissingKey(spec.document, "mode", "mode: max, or mode: min");
  TUNE_ASSIGN_OR_RETURN(const Value::List metrics, OneOrMore(root, "metric", *metric));
  TUNE_ASSIGN_OR_RETURN(const Value::List modes, OneOrMore(root, "mode", *mode));
  if (metrics.size() != modes.size()) {
    return InvalidAt(mode->place, "mode: read " + std::to_string(modes.size()) + " for " +
                                      std::to_string(metrics.size()) +
                                      (metrics.size() == 1 ? " metric" : " metrics") +
                                      ", expected one for each, as in mode: [max, min]");
  }
  std::vector<Objective> objectives;
  for (size_t i = 0; i < metrics.size(); ++i) {
    TUNE_RETURN_IF_ERROR(CheckMetricName(root, metrics[i]));
    if (modes[i] != Value("max") && modes[i] != Value("min")) {
      return root.Expected(modes[i], "mode", "max or min");
    }
    for (const Objective& other : objectives) {
      if (other.metric != metrics[i].AsString()) continue;
      return InvalidAt(metrics[i].place, "metric: '" + other.metric + "' stands there twice");
    }
    objectives.push_back(
        {metrics[i].AsString(), modes[i] == Value("max") ? Mode::kMax : Mode::kMin});
  }
  spec.metric = objectives.front().metric;
  spec.mode = objectives.front().mode;
  spec.more_objectives.assign(objectives.begin() + 1, objectives.end());
  const Value* const constraints = root.Find("metric_constraints");
  TUNE_ASSIGN_OR_RETURN(
      spec.scores, MetricScores::Make(metrics, constraints == nullptr ? Value() : *constraints));
  return OkStatus();
}

// A scheduler goes by one value; which of several, nobody has said.
Status CheckSchedulerOfSeveral(const ExperimentSpec& spec) {
  const Value& scheduler = spec.scheduler;
  const bool is_fifo = scheduler.is_null() || scheduler == Value("fifo") ||
                       (scheduler.is_map() && scheduler.Find("fifo") != nullptr);
  if (spec.more_objectives.empty() || is_fifo) return OkStatus();
  return InvalidAt(scheduler.place,
                   "scheduler: a sweep of several objectives has no value to stop trials by; "
                   "leave it out (fifo), or name one metric");
}

bool IsGrid(const Value& search) {
  const Value* const algorithm = search.is_map() ? search.Find("algorithm") : nullptr;
  return algorithm != nullptr && *algorithm == Value("grid");
}

Status ReadSamplesAndSeed(const Section& root, ExperimentSpec& spec) {
  // A grid ends by itself, so that one without `samples` is meant whole.
  if (IsGrid(spec.search)) spec.samples = -1;
  const std::string what =
      "an integer from 1 to " + std::to_string(limits::kSamplesMax) + ", or -1 for no limit";
  TUNE_RETURN_IF_ERROR(root.ReadInt("samples", -1, limits::kSamplesMax, what, spec.samples));
  if (spec.samples == 0) return root.Expected(*root.Find("samples"), "samples", what);
  int64_t seed = -1;
  TUNE_RETURN_IF_ERROR(
      root.ReadInt("seed", 0, INT64_MAX, "an integer of 0 or more, below 2^63", seed));
  if (seed >= 0) spec.seed = static_cast<uint64_t>(seed);
  return OkStatus();
}

Status ReadResources(const Section& root, ResourceRequest& out) {
  TUNE_ASSIGN_OR_RETURN(const Section section, Section::Open(root.Find("resources"), "resources"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kResourceKeys, {}));
  constexpr std::string_view kGpu =
      "a share of one GPU in thousandths such as 0.5, or a whole number of them";
  TUNE_RETURN_IF_ERROR(
      section.ReadMilli("cpu", "a number of 0 or more with at most three decimals", out.cpu_milli));
  TUNE_RETURN_IF_ERROR(section.ReadMilli("gpu", kGpu, out.gpu_milli));
  if (out.gpu_milli > kWholeMilli && out.gpu_milli % kWholeMilli != 0) {
    return section.Expected(*section.Find("gpu"), "gpu", kGpu);
  }
  if (out.cpu_milli == 0 && out.gpu_milli == 0) {
    return InvalidAt(root.Find("resources")->place,
                     "resources: cpu and gpu are both 0; a trial needs a share of something");
  }
  TUNE_RETURN_IF_ERROR(section.ReadBytes("gpu_memory", out.gpu_memory_bytes));
  TUNE_RETURN_IF_ERROR(section.ReadBytes("memory", out.memory_bytes));
  TUNE_RETURN_IF_ERROR(section.ReadInt("workers", 1, limits::kConcurrencyMax,
                                       "an integer of 1 or more", out.workers));
  if (out.workers != 1) {
    return InvalidAt(section.Find("workers")->place,
                     "'resources.workers' above 1 is not supported yet");
  }
  return OkStatus();
}

// {max: v} ends at or above v, {min: v} at or below; a plain number is for the sweep's own metric.
Status ReadStopCondition(const MapEntry& entry, const ExperimentSpec& spec,
                         std::vector<StopCondition>& out) {
  const std::string label = "stop." + entry.key + ": read " + Shown(entry.value);
  if (entry.value.is_number()) {
    if (entry.key != spec.metric) {
      return InvalidAt(entry.value.place, label + ", expected {max: " + Shown(entry.value) +
                                              "} or {min: " + Shown(entry.value) +
                                              "}; a plain number is for the sweep's metric, '" +
                                              spec.metric + "'");
    }
    out.push_back({entry.key, entry.value.AsDouble(), spec.mode == Mode::kMax});
    return OkStatus();
  }
  if (!entry.value.is_map() || entry.value.AsMap().empty()) {
    return InvalidAt(entry.value.place, label + ", expected a number, {max: v} or {min: v}");
  }
  for (const MapEntry& bound : entry.value.AsMap()) {
    if (bound.key != "max" && bound.key != "min") {
      return InvalidAt(bound.key_place, "unknown key 'stop." + entry.key + "." + bound.key +
                                            "'; expected max or min");
    }
    if (!bound.value.is_number()) {
      return InvalidAt(bound.value.place, "stop." + entry.key + "." + bound.key + ": read " +
                                              Shown(bound.value) + ", expected a number");
    }
    out.push_back({entry.key, bound.value.AsDouble(), bound.key == "max"});
  }
  return OkStatus();
}

Status ReadStop(const Section& root, const std::vector<std::string>& reported,
                ExperimentSpec& spec) {
  const Value* const stop = root.Find("stop");
  TUNE_ASSIGN_OR_RETURN(const Section section, Section::Open(stop, "stop"));
  if (stop == nullptr) return OkStatus();
  for (const MapEntry& entry : stop->AsMap()) {
    if (entry.key == "training_iteration") {
      int64_t iterations = 0;
      TUNE_RETURN_IF_ERROR(
          section.ReadInt(entry.key, 1, INT64_MAX, "an integer of 1 or more", iterations));
      if (iterations == 0) return section.Expected(entry.value, entry.key, "an integer");
      spec.stop.push_back({entry.key, static_cast<double>(iterations), true});
    } else if (entry.key == "time_total") {
      Duration duration;
      TUNE_RETURN_IF_ERROR(section.ToDuration(entry.value, entry.key, duration));
      spec.stop.push_back({entry.key, duration.seconds(), true});
    } else {
      std::vector<std::string_view> known(reported.begin(), reported.end());
      bool is_known = known.empty();
      for (const std::string_view name : known) is_known = is_known || name == entry.key;
      known.insert(known.end(), {"training_iteration", "time_total"});
      if (!is_known) {
        return InvalidAt(entry.key_place, "stop: '" + entry.key + "' is never reported" +
                                              DidYouMean(entry.key, known));
      }
      TUNE_RETURN_IF_ERROR(ReadStopCondition(entry, spec, spec.stop));
    }
  }
  return OkStatus();
}

Status ReadLimits(const Section& root, SweepLimits& out) {
  TUNE_ASSIGN_OR_RETURN(const Section section, Section::Open(root.Find("limits"), "limits"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kLimitKeys, {}));
  TUNE_RETURN_IF_ERROR(section.ReadInt(
      "max_concurrent", 1, limits::kConcurrencyMax,
      "an integer from 1 to " + std::to_string(limits::kConcurrencyMax), out.max_concurrent));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("sweep_time", out.sweep_time));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("trial_time", out.trial_time));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("no_progress", out.no_progress));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("unplaceable", out.unplaceable));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("lease", out.lease));
  if (section.Find("lease") != nullptr && out.lease < kLeaseMin) {
    return section.Expected(*section.Find("lease"), "lease", "at least 300ms");
  }
  int64_t failed_trials = 0;
  TUNE_RETURN_IF_ERROR(section.ReadInt("failed_trials", 1, limits::kSamplesMax,
                                       "an integer of 1 or more", failed_trials));
  if (failed_trials > 0) out.failed_trials = failed_trials;
  return OkStatus();
}

// `crashed: 3`, or `crashed: {max_failures: 3, backoff: 10s}`.
Status ReadCause(const Section& failure, std::string_view name, CausePolicy& out) {
  constexpr std::array<std::string_view, 2> kCauseKeys = {"max_failures", "backoff"};
  const Value* const value = failure.Find(name);
  if (value == nullptr) return OkStatus();
  int64_t max_failures = 0;
  if (!value->is_map()) {
    TUNE_RETURN_IF_ERROR(failure.ReadInt(name, -1, kFailuresMax,
                                         "an integer of 0 or more, -1 for no limit, or a map",
                                         max_failures));
    out.max_failures = max_failures;
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(const Section section,
                        Section::Open(value, "failure." + std::string(name)));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kCauseKeys, {}));
  if (section.Find("max_failures") != nullptr) {
    TUNE_RETURN_IF_ERROR(
        section.ReadInt("max_failures", -1, kFailuresMax, kFailuresWhat, max_failures));
    out.max_failures = max_failures;
  }
  return section.ReadWait("backoff", out.backoff);
}

Status ReadFailure(const Section& root, FailurePolicy& out) {
  // Those of product.md's outcomes for which a policy makes sense.
  constexpr std::array<std::pair<std::string_view, Outcome>, 6> kCauses = {{
      {"crashed", Outcome::kCrashed},
      {"killed", Outcome::kKilled},
      {"out_of_memory", Outcome::kOutOfMemory},
      {"device_out_of_memory", Outcome::kDeviceOutOfMemory},
      {"hung", Outcome::kHung},
      {"lost", Outcome::kLost},
  }};
  std::vector<std::string_view> keys = {"max_failures", "backoff", "backoff_max"};
  for (const auto& [name, outcome] : kCauses) keys.push_back(name);
  TUNE_ASSIGN_OR_RETURN(const Section section, Section::Open(root.Find("failure"), "failure"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(keys, {}));
  TUNE_RETURN_IF_ERROR(
      section.ReadInt("max_failures", -1, kFailuresMax, kFailuresWhat, out.max_failures));
  TUNE_RETURN_IF_ERROR(section.ReadWait("backoff", out.backoff));
  TUNE_RETURN_IF_ERROR(section.ReadWait("backoff_max", out.backoff_max));
  for (const auto& [name, outcome] : kCauses) {
    if (section.Find(name) == nullptr) continue;
    TUNE_RETURN_IF_ERROR(ReadCause(section, name, out.causes[outcome]));
  }
  return OkStatus();
}

Status ReadCheckpoint(const Section& root, CheckpointPolicy& out) {
  constexpr std::array<std::string_view, 4> kCheckpointKeys = {"every", "keep", "keep_best",
                                                               "disk_budget"};
  constexpr std::array<std::string_view, 1> kLater = {"storage"};
  TUNE_ASSIGN_OR_RETURN(const Section section,
                        Section::Open(root.Find("checkpoint"), "checkpoint"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kCheckpointKeys, kLater));
  constexpr int64_t kMax = 1'000'000;
  TUNE_RETURN_IF_ERROR(section.ReadInt("every", 1, kMax, "an integer of 1 or more", out.every));
  TUNE_RETURN_IF_ERROR(section.ReadInt("keep", 1, kMax, "an integer of 1 or more", out.keep));
  int64_t disk_budget = 0;
  TUNE_RETURN_IF_ERROR(section.ReadBytes("disk_budget", disk_budget));
  if (disk_budget > 0) out.disk_budget_bytes = disk_budget;
  return section.ReadInt("keep_best", 0, kMax, "an integer of 0 or more", out.keep_best);
}

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

// What other rooms check: the space, the search, the scheduler and the trainable. `reported` gets
// the metrics that the trainable can report, none where there is no trainable.
Status CheckParts(const ExperimentSpec& spec, bool require_trainable,
                  std::vector<std::string>& reported) {
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
    return require_trainable ? MissingKey(spec.document, "trainable", "trainable: food11")
                             : OkStatus();
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
  if (info.reports_others) return OkStatus();
  reported = info.metrics;
  for (const Objective& objective : spec.objectives()) reported.push_back(objective.metric);
  return OkStatus();
}

Status Interpret(std::string_view file, bool require_trainable, ExperimentSpec& spec) {
  if (spec.document.is_null()) return InvalidArgument("no keys are there; expected a space file");
  if (!spec.document.is_map()) {
    return InvalidAt(spec.document.place, "read " + Shown(spec.document) +
                                              ", expected a map with the keys of a space file");
  }
  TUNE_RETURN_IF_ERROR(CheckTree(spec.document, 0));
  TUNE_ASSIGN_OR_RETURN(const Section root, Section::Open(&spec.document, ""));
  TUNE_RETURN_IF_ERROR(root.CheckKeys(kKeys, {}));
  const auto copy = [&](std::string_view key, Value& out) {
    if (const Value* const value = root.Find(key)) out = *value;
  };
  copy("trainable", spec.trainable);
  copy("space", spec.space);
  copy("constraints", spec.constraints);
  copy("points", spec.points);
  copy("search", spec.search);
  copy("scheduler", spec.scheduler);
  TUNE_RETURN_IF_ERROR(ReadObjectives(root, spec));
  TUNE_RETURN_IF_ERROR(CheckSchedulerOfSeveral(spec));
  TUNE_RETURN_IF_ERROR(ReadSamplesAndSeed(root, spec));
  TUNE_RETURN_IF_ERROR(ReadFrom(root, spec));
  std::vector<std::string> reported;
  TUNE_RETURN_IF_ERROR(CheckParts(spec, require_trainable, reported));
  TUNE_RETURN_IF_ERROR(ReadResources(root, spec.resources));
  TUNE_RETURN_IF_ERROR(ReadStop(root, reported, spec));
  TUNE_RETURN_IF_ERROR(ReadLimits(root, spec.limits));
  TUNE_RETURN_IF_ERROR(ReadFailure(root, spec.failure));
  TUNE_RETURN_IF_ERROR(ReadCheckpoint(root, spec.checkpoint));
  return ReadName(root, file, spec);
}

}  // namespace

Status CheckSweepName(std::string_view name) {
  // A sweep's folder lies beside those of our own in the artifacts' folder.
  bool is_plain = !name.empty() && name.size() <= kSweepNameBytesMax && name != "." &&
                  name != ".." && name != "tls" && name != "control.sock";
  for (const char c : name) {
    is_plain = is_plain && static_cast<unsigned char>(c) >= 0x20 && c != '/' && c != 0x7f;
  }
  if (is_plain) return OkStatus();
  return InvalidArgument(
      "read " + Shown(Value(std::string(name))) + ", expected 1 to " +
      std::to_string(kSweepNameBytesMax) +
      " bytes on one line, without '/', that are not '.', '..', 'tls' or 'control.sock'");
}

Result<ExperimentSpec> InterpretSpec(const Value& document, std::string_view file,
                                     std::string_view base_dir, bool require_trainable) {
  ExperimentSpec spec;
  spec.document = document;
  spec.base_dir = std::string(base_dir);
  const Status status = Interpret(file, require_trainable, spec);
  if (!status.ok()) return InFile(file, status);
  return spec;
}

}  // namespace tune
