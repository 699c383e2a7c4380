#include "tuner/spec_bounds.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "trial_runner/s3_address.h"
#include "tuner/spec_keys.h"

namespace tune {
namespace {

constexpr Duration kLeaseMin = Milliseconds(300);
constexpr int64_t kFailuresMax = 1'000'000;
constexpr std::string_view kFailuresWhat = "an integer of 0 or more, or -1 for no limit";

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

// `crashed: 3`, or `crashed: {max_failures: 3, backoff: 10s}`.
Status ReadCause(const SpecSection& failure, std::string_view name, CausePolicy& out) {
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
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(value, "failure." + std::string(name)));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kCauseKeys));
  if (section.Find("max_failures") != nullptr) {
    TUNE_RETURN_IF_ERROR(
        section.ReadInt("max_failures", -1, kFailuresMax, kFailuresWhat, max_failures));
    out.max_failures = max_failures;
  }
  return section.ReadWait("backoff", out.backoff);
}

}  // namespace

Status ReadResources(const SpecSection& root, ResourceRequest& out) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(root.Find("resources"), "resources"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kResourceKeys));
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
  const std::string ranks = "an integer from 1 to " + std::to_string(limits::kConcurrencyMax);
  TUNE_RETURN_IF_ERROR(section.ReadInt("workers", 1, limits::kConcurrencyMax, ranks, out.workers));
  if (const Value* const spread = section.Find("spread")) {
    if (!spread->is_bool()) return section.Expected(*spread, "spread", "true or false");
    out.spread = spread->AsBool();
  }
  return OkStatus();
}

Status ReadStop(const SpecSection& root, const std::vector<std::string>& reported,
                ExperimentSpec& spec) {
  const Value* const stop = root.Find("stop");
  TUNE_ASSIGN_OR_RETURN(const SpecSection section, SpecSection::Open(stop, "stop"));
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

Status ReadLimits(const SpecSection& root, SweepLimits& out) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(root.Find("limits"), "limits"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kLimitKeys));
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
  int64_t failed_alike = -1;
  TUNE_RETURN_IF_ERROR(section.ReadInt("failed_alike", 0, limits::kSamplesMax,
                                       "an integer of 1 or more, or 0: however many",
                                       failed_alike));
  if (failed_alike >= 0) out.failed_alike = failed_alike;
  return OkStatus();
}

// A number above 0, in the metric's units. Whether the search can tell is found out when it is
// made.
Status ReadRegret(const SpecSection& root, const SpecSection& section, ExperimentSpec& spec) {
  const Value* const value = section.Find("regret");
  if (value == nullptr) return OkStatus();
  const double regret = value->is_number() ? value->AsDouble() : 0;
  if (!std::isfinite(regret) || regret <= 0) {
    return section.Expected(*value, "regret", "a number above 0, in the units of the metric");
  }
  if (!spec.more_objectives.empty()) {
    return section.Expected(*value, "regret", "no_gain where there are several metrics");
  }
  if (const Value* const limits = root.Find("feasible"); limits != nullptr && !limits->is_null()) {
    return section.Expected(*value, "regret", "no_gain where there are limits on results");
  }
  spec.regret_max = regret;
  return OkStatus();
}

// A number of trials, or "40 trials".
Status ReadUntil(const SpecSection& root, ExperimentSpec& spec) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection section, SpecSection::Open(root.Find("until"), "until"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kUntilKeys));
  TUNE_RETURN_IF_ERROR(ReadRegret(root, section, spec));
  const Value* const value = section.Find("no_gain");
  if (value == nullptr) return OkStatus();
  int64_t trials = value->is_int() ? value->AsInt() : 0;
  if (value->is_string()) {
    const std::string& text = value->AsString();
    const auto read = std::from_chars(text.data(), text.data() + text.size(), trials);
    const std::string_view unit(read.ptr,
                                static_cast<size_t>(text.data() + text.size() - read.ptr));
    if (read.ec != std::errc() || (unit != " trials" && unit != " trial")) trials = 0;
  }
  if (trials < 1 || trials > limits::kSamplesMax) {
    return section.Expected(*value, "no_gain",
                            "a number of trials from 1 to " + std::to_string(limits::kSamplesMax) +
                                ", such as 40 or 40 trials");
  }
  spec.no_gain_max = trials;
  return OkStatus();
}

Status ReadFailure(const SpecSection& root, FailurePolicy& out) {
  std::vector<std::string_view> keys(kFailureKeys.begin(), kFailureKeys.end());
  for (const auto& [name, outcome] : kFailureCauses) keys.push_back(name);
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(root.Find("failure"), "failure"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(keys));
  TUNE_RETURN_IF_ERROR(
      section.ReadInt("max_failures", -1, kFailuresMax, kFailuresWhat, out.max_failures));
  TUNE_RETURN_IF_ERROR(section.ReadWait("backoff", out.backoff));
  TUNE_RETURN_IF_ERROR(section.ReadWait("backoff_max", out.backoff_max));
  for (const auto& [name, outcome] : kFailureCauses) {
    if (section.Find(name) == nullptr) continue;
    TUNE_RETURN_IF_ERROR(ReadCause(section, name, out.causes[outcome]));
  }
  return OkStatus();
}

// Of keys below it: the sweep's name, the trial's number, and what a checkpoint's files are called.
Status ReadStorage(const SpecSection& section, CheckpointPolicy& out) {
  constexpr std::string_view kWhat = "auto, or s3://bucket/prefix";
  const Value* const value = section.Find("storage");
  if (value == nullptr) return OkStatus();
  if (!value->is_string()) return section.Expected(*value, "storage", kWhat);
  if (value->AsString() == kStorageAuto) return OkStatus();
  const Result<S3Address> address = ParseS3Url(value->AsString());
  if (!address.ok() || address->key.size() > limits::kS3PrefixBytesMax) {
    return section.Expected(*value, "storage",
                            std::string(kWhat) +
                                ": a bucket of 3 to 63 lower-case letters, digits, '.' "
                                "and '-', and a prefix of at most " +
                                std::to_string(limits::kS3PrefixBytesMax) +
                                " bytes without empty parts, '.' and '..'");
  }
  out.storage = address->ToUrl();
  return OkStatus();
}

Status ReadCheckpoint(const SpecSection& root, CheckpointPolicy& out) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection section,
                        SpecSection::Open(root.Find("checkpoint"), "checkpoint"));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kCheckpointKeys));
  constexpr int64_t kMax = 1'000'000;
  TUNE_RETURN_IF_ERROR(section.ReadInt("every", 1, kMax, "an integer of 1 or more", out.every));
  TUNE_RETURN_IF_ERROR(section.ReadInt("keep", 1, kMax, "an integer of 1 or more", out.keep));
  int64_t disk_budget = 0;
  TUNE_RETURN_IF_ERROR(section.ReadBytes("disk_budget", disk_budget));
  if (disk_budget > 0) out.disk_budget_bytes = disk_budget;
  TUNE_RETURN_IF_ERROR(ReadStorage(section, out));
  if (const Value* const whose = section.Find("storage_credentials")) {
    const bool is_known =
        *whose == Value(kWhoseCredentials[0]) || *whose == Value(kWhoseCredentials[1]);
    if (!is_known) return section.Expected(*whose, "storage_credentials", "own or tuner");
    out.lends_credentials = *whose == Value(kWhoseCredentials[1]);
    if (out.lends_credentials && out.storage.empty()) {
      return InvalidAt(whose->place,
                       "checkpoint.storage_credentials: tuner is for a storage in an object store; "
                       "expected one beside it, storage: s3://bucket/prefix");
    }
  }
  if (const Value* const async = section.Find("async")) {
    if (!async->is_bool()) return section.Expected(*async, "async", "true or false");
    out.is_async = async->AsBool();
  }
  return section.ReadInt("keep_best", 0, kMax, "an integer of 0 or more", out.keep_best);
}

}  // namespace tune
