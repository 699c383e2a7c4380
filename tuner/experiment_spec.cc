// What each key of a space file means, and what it may be.
#include "tuner/experiment_spec.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/resource_text.h"
#include "core/utf8.h"
#include "trial_runner/trial_programs.h"
#include "tuner/artifact_path.h"
#include "tuner/search_problem.h"
#include "tuner/spec_bounds.h"
#include "tuner/spec_keys.h"
#include "tuner/spec_parts.h"
#include "tuner/spec_reader.h"
#include "tuner/spec_section.h"

namespace tune {
namespace {

constexpr size_t kSweepNameBytesMax = limits::kNameBytesMax - 10;  // Room for its "-2".

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

Status ReadName(const SpecSection& root, std::string_view file, ExperimentSpec& spec) {
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

Status CheckMetricName(const SpecSection& root, const Value& metric) {
  if (!metric.is_string() || metric.AsString().empty() ||
      metric.AsString().size() > limits::kNameBytesMax) {
    return root.Expected(metric, "metric", "the name of a reported value");
  }
  return OkStatus();
}

// One value, or a list of at least one.
Result<Value::List> OneOrMore(const SpecSection& root, std::string_view key, const Value& value) {
  if (!value.is_list()) return Value::List{value};
  const auto count = static_cast<int64_t>(value.AsList().size());
  if (count < 1 || count > limits::kObjectivesMax) {
    return root.Expected(value, key,
                         "one value, or a list of up to " + std::to_string(limits::kObjectivesMax) +
                             " (several objectives)");
  }
  return value.AsList();
}

Status ReadFrom(const SpecSection& root, ExperimentSpec& spec) {
  const Value* const from = root.Find("from");
  if (from == nullptr || from->is_null()) return OkStatus();
  const auto is_text = [](const Value* value) {
    return value != nullptr && value->is_string() && !value->AsString().empty();
  };
  if (!from->is_map()) {
    if (!is_text(from)) {
      return root.Expected(*from, "from",
                           "the name of an earlier sweep, {prior: NAME} of one over other data, or "
                           "{optuna: study.db} of Optuna's");
    }
    spec.from = from->AsString();
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(const SpecSection study, SpecSection::Open(from, "from"));
  for (const std::string_view key : {"sweep", "prior"}) {
    const Value* const sweep = study.Find(key);
    if (sweep == nullptr) continue;
    // `began` and `failed` as it is stored (tuner/earlier_sweep.h).
    const std::string_view kSweepKeys[] = {key, "began", "failed"};
    TUNE_RETURN_IF_ERROR(study.CheckKeys(kSweepKeys));
    if (!is_text(sweep)) return study.Expected(*sweep, key, "the name of an earlier sweep");
    spec.from = sweep->AsString();
    spec.from_is_prior = key == "prior";
    return OkStatus();
  }
  // `trials` is what the study had when the sweep began: in stored specs alone.
  static constexpr std::string_view kStudyKeys[] = {"prior", "optuna", "study", "trials"};
  TUNE_RETURN_IF_ERROR(study.CheckKeys(kStudyKeys));
  const Value* const path = study.Find("optuna");
  const bool says_nothing = path == nullptr && study.Find("study") == nullptr;
  if (says_nothing) return root.Expected(*from, "from", "{prior: NAME}, or {optuna: study.db}");
  if (!is_text(path)) {
    return study.Expected(path != nullptr ? *path : *from, "optuna",
                          "the path of a study's SQLite file");
  }
  if (const Value* const name = study.Find("study"); name != nullptr && !is_text(name)) {
    return study.Expected(*name, "study", "the name of a study in that file");
  }
  spec.from = "optuna: " + study.Find("optuna")->AsString();
  return OkStatus();
}

Status ReadObjectives(const SpecSection& root, ExperimentSpec& spec) {
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

}  // namespace

std::string DescribeObjectives(const std::vector<Objective>& objectives) {
  std::string text;
  for (const Objective& objective : objectives) {
    text += (text.empty() ? "" : ", ") + objective.metric +
            (objective.mode == Mode::kMax ? " (max)" : " (min)");
  }
  return text;
}

bool IsFifo(const Value& scheduler) {
  return scheduler.is_null() || scheduler == Value("fifo") ||
         (scheduler.is_map() && scheduler.Find("fifo") != nullptr);
}

namespace {

// A scheduler goes by one value; which of several, nobody has said.
Status CheckSchedulerOfSeveral(const ExperimentSpec& spec) {
  const Value& scheduler = spec.scheduler;
  if (spec.more_objectives.empty() || IsFifo(scheduler)) return OkStatus();
  return InvalidAt(scheduler.place,
                   "scheduler: a sweep of several objectives has no value to stop trials by; "
                   "leave it out (fifo), or name one metric");
}

bool IsGrid(const Value& search) {
  const Value* const algorithm = search.is_map() ? search.Find("algorithm") : nullptr;
  return algorithm != nullptr && *algorithm == Value("grid");
}

// Over the space's parameters, which CheckParts has read.
Status ReadFeasible(const SpecSection& root, ExperimentSpec& spec) {
  const Value* const texts = root.Find("feasible");
  if (texts == nullptr || texts->is_null()) return OkStatus();
  const Value* const older = root.Find("metric_constraints");
  if (older != nullptr && !older->is_null()) {
    return InvalidAt(texts->place,
                     "feasible: stands beside metric_constraints, whose place it takes; write all "
                     "limits under feasible, which also ranks results that break them");
  }
  for (const Objective& objective : spec.objectives()) {
    if (objective.metric != kViolationName) continue;
    return InvalidAt(root.Find("metric")->place,
                     "metric: the name 'violation' is what `feasible` is told under; report it "
                     "under another name");
  }
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(spec.feasible, ResultLimits::Parse(*texts, space.parameters()));
  return OkStatus();
}

Status ReadSamplesAndSeed(const SpecSection& root, ExperimentSpec& spec) {
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

Status ReadShare(const SpecSection& root, Share& share) {
  const std::string bound = std::to_string(limits::kPriorityMax);
  TUNE_RETURN_IF_ERROR(root.ReadInt("priority", -limits::kPriorityMax, limits::kPriorityMax,
                                    "an integer from -" + bound + " to " + bound, share.priority));
  TUNE_RETURN_IF_ERROR(root.ReadInt("weight", 1, limits::kWeightMax,
                                    "an integer from 1 to " + std::to_string(limits::kWeightMax),
                                    share.weight));
  const Value* const owner = root.Find("owner");
  if (owner == nullptr) return OkStatus();
  const bool is_name = owner->is_string() && !owner->AsString().empty() &&
                       owner->AsString().size() <= limits::kNameBytesMax;
  if (!is_name) {
    return root.Expected(*owner, "owner",
                         "a name of 1 to " + std::to_string(limits::kNameBytesMax) + " bytes");
  }
  share.owner = owner->AsString();
  return OkStatus();
}

// Too little for a trial would hold nothing, and so would what trials do not take.
Status CheckReserve(const SpecSection& section, std::string_view key, int64_t reserved,
                    int64_t of_trial) {
  if (reserved == 0 || (of_trial > 0 && reserved >= of_trial)) return OkStatus();
  const std::string expected =
      of_trial == 0 ? "0: its trials take none (resources)"
                    : DescribeShare(of_trial) + " or more, which one trial takes (resources), or 0";
  return section.Expected(*section.Find(key), key, expected);
}

Status ReadReserve(const SpecSection& root, const ResourceRequest& request, Reserve& reserve) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(root.Find("reserve"), "reserve"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kReserveKeys));
  TUNE_RETURN_IF_ERROR(section.ReadMilli("cpu", "a number of CPUs, such as 8", reserve.cpu_milli));
  TUNE_RETURN_IF_ERROR(section.ReadMilli("gpu", "a number of GPUs, such as 2", reserve.gpu_milli));
  const int64_t ranks = request.workers;
  TUNE_RETURN_IF_ERROR(CheckReserve(section, "cpu", reserve.cpu_milli, request.cpu_milli * ranks));
  return CheckReserve(section, "gpu", reserve.gpu_milli, request.gpu_milli * ranks);
}

// A name, or a list of names.
Status ReadAfter(const SpecSection& root, std::vector<std::string>& after) {
  const Value* const value = root.Find("after");
  if (value == nullptr || value->is_null()) return OkStatus();
  const Value one = value->is_list() ? *value : Value(Value::List{*value});
  for (const Value& name : one.AsList()) {
    if (!name.is_string() || name.AsString().empty()) {
      return root.Expected(*value, "after", "the name of a sweep or job, or a list of names");
    }
    after.push_back(name.AsString());
  }
  return OkStatus();
}

// What a program of several ranks finds in its environment is each rank's own.
Status CheckRanks(const ExperimentSpec& spec) {
  if (spec.resources.workers == 1 || spec.trainable.is_null()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(spec.trainable));
  if (kind != "command") return OkStatus();
  const std::string ranks = std::to_string(spec.resources.workers);
  const Value* const env = spec.trainable.Find("env");
  if (env == nullptr || !env->is_map()) return OkStatus();
  for (const MapEntry& entry : env->AsMap()) {
    if (!IsRankVariable(entry.key)) continue;
    return InvalidAt(entry.value.place, "trainable.env." + entry.key + ": is set for each of the " +
                                            ranks + " ranks (resources.workers); take it out");
  }
  return OkStatus();
}

Status Interpret(std::string_view file, bool require_trainable, ExperimentSpec& spec) {
  if (spec.document.is_null()) return InvalidArgument("no keys are there; expected a space file");
  if (!spec.document.is_map()) {
    return InvalidAt(spec.document.place, "read " + Shown(spec.document) +
                                              ", expected a map with the keys of a space file");
  }
  TUNE_RETURN_IF_ERROR(CheckTree(spec.document, 0));
  TUNE_ASSIGN_OR_RETURN(const SpecSection root, SpecSection::Open(&spec.document, ""));
  TUNE_RETURN_IF_ERROR(root.CheckKeys(kSpecKeys));
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
  TUNE_RETURN_IF_ERROR(ReadUntil(root, spec));  // The search has to know of it.
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> reported,
                        CheckParts(spec, require_trainable));
  TUNE_RETURN_IF_ERROR(ReadFeasible(root, spec));
  TUNE_RETURN_IF_ERROR(ReadResources(root, spec.resources));
  TUNE_RETURN_IF_ERROR(CheckRanks(spec));
  TUNE_RETURN_IF_ERROR(ReadStop(root, reported, spec));
  TUNE_RETURN_IF_ERROR(ReadLimits(root, spec.limits));
  TUNE_RETURN_IF_ERROR(ReadFailure(root, spec.failure));
  TUNE_RETURN_IF_ERROR(ReadCheckpoint(root, spec.checkpoint));
  TUNE_RETURN_IF_ERROR(CheckAsync(spec));
  TUNE_RETURN_IF_ERROR(ReadShare(root, spec.share));
  TUNE_RETURN_IF_ERROR(ReadReserve(root, spec.resources, spec.share.reserve));
  TUNE_RETURN_IF_ERROR(ReadAfter(root, spec.after));
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
  is_plain = is_plain && IsUtf8(name);
  if (is_plain) return OkStatus();
  return InvalidArgument(
      "read " + Shown(Value(ToUtf8(name))) + ", expected 1 to " +
      std::to_string(kSweepNameBytesMax) +
      " bytes of UTF-8 on one line, without '/', that are not '.', '..', 'tls' or 'control.sock'");
}

bool IsNameOfHead(std::string_view name) {
  constexpr std::string_view kNames[] = {"cluster", "head.log", "packages", "page.address",
                                         "page.key"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Status CheckNewSweepName(std::string_view name) {
  TUNE_RETURN_IF_ERROR(CheckSweepName(name));
  if (IsNameOfHead(name) || IsNameOfDeleted(name)) {
    return InvalidArgument("read \"" + std::string(name) +
                           "\", expected another name: tune keeps its own things there");
  }
  if (!name.starts_with('-')) return OkStatus();
  return InvalidArgument("read " + Shown(Value(std::string(name))) +
                         ", expected a name that does not begin with '-': commands would take it "
                         "for an option");
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
