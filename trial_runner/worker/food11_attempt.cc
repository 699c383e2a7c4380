#include "trial_runner/worker/food11_attempt.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "core/hash.h"
#include "core/random.h"
#include "trial_runner/food11_inputs.h"

namespace tune {
namespace {

constexpr char kSynthetic[] = "synthetic";

std::string Resolve(const std::string& base_dir, const std::string& path) {
  if (path.empty() || path == kSynthetic) return path;
  return (std::filesystem::path(base_dir) / path).lexically_normal().string();
}

}  // namespace

double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<models::Food11Options> ReadFood11Options(const TrialStart& start,
                                                const std::string& data_dir) {
  if (!start.config.is_map()) return InvalidArgument("config: expected a map");
  Configuration configuration;
  for (const MapEntry& entry : start.config.AsMap()) configuration.Set(entry.key, entry.value);
  KeyedRandom random(start.sweep_seed, "food11", static_cast<uint64_t>(start.trial.value));
  TUNE_ASSIGN_OR_RETURN(models::Food11Options options,
                        models::ParseFood11Options(configuration, random.NextU64(), data_dir));
  if (!IsS3Url(options.data)) {
    options.data = Resolve(start.base_dir, options.data);
  } else if (start.place.inputs.empty()) {
    return InvalidArgument("data: " + options.data +
                           " was not fetched: it must be the same for all "
                           "trials of the sweep");
  } else {
    options.data = start.place.inputs + "/" + kFood11Input;
  }
  options.weights = Resolve(start.base_dir, options.weights);
  options.best_epoch = models::BestEpochRule(start.metric, start.mode);
  // Ranks agree on the best epoch without a word, and each has times of its own.
  if (start.world_size > 1 && options.best_epoch.GoesByTime()) options.best_epoch = {};
  return options;
}

Status OfPath(const TrialStart& start, std::string_view parameter, const Status& status) {
  const bool is_own =
      std::find(start.own_paths.begin(), start.own_paths.end(), parameter) != start.own_paths.end();
  return status.code() == StatusCode::kNotFound && is_own ? InvalidArgument(status.message())
                                                          : status;
}

TrialEnd EndFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return {Outcome::kBadConfig, status.message()};
    case StatusCode::kNotFound:
      return {Outcome::kBadConfig, status.message(), EndDetail::kAbsentPath};
    case StatusCode::kResourceExhausted:
      return {Outcome::kOutOfMemory, status.message()};
    default:
      return {Outcome::kCrashed, status.message()};
  }
}

TrialEnd EndForTraining(const Status& status, models::DeviceKind device) {
  if (status.code() == StatusCode::kResourceExhausted && device == models::DeviceKind::kCuda) {
    return {Outcome::kDeviceOutOfMemory, status.message()};
  }
  return EndFor(status);
}

void Log(const std::string& note) {
  if (note.empty()) return;
  std::printf("%s\n", note.c_str());
  std::fflush(stdout);
}

Status SaveInto(const models::TrainingRun& run, CheckpointPlace& place, Report& report) {
  TUNE_RETURN_IF_ERROR(place.Prepare());
  TUNE_ASSIGN_OR_RETURN(const std::string path,
                        run.SaveCheckpoint(place.folder(), place.NameOf(report.iteration)));
  TUNE_ASSIGN_OR_RETURN(const models::CheckpointIdentity identity,
                        models::IdentifyCheckpoint(path));
  place.RemoveEarlierOf(report.iteration);
  report.has_checkpoint = true;
  report.checkpoint = {path, static_cast<int64_t>(identity.bytes), HashToHex(identity.checksum)};
  return OkStatus();
}

}  // namespace tune
