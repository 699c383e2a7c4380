#include "trial_runner/worker/food11_trainable.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/hash.h"
#include "core/random.h"
#include "models/data/decode.h"
#include "models/data/load_data.h"
#include "models/train/trainer.h"
#include "trial_runner/worker/checkpoint_place.h"

namespace tune {
namespace {

constexpr char kSynthetic[] = "synthetic";

double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Resolve(const std::string& base_dir, const std::string& path) {
  if (path.empty() || path == kSynthetic) return path;
  return (std::filesystem::path(base_dir) / path).lexically_normal().string();
}

Result<models::Food11Options> ReadOptions(const TrialStart& start, const std::string& data_dir) {
  if (!start.config.is_map()) return InvalidArgument("config: expected a map");
  Configuration configuration;
  for (const MapEntry& entry : start.config.AsMap()) configuration.Set(entry.key, entry.value);
  KeyedRandom random(start.seed, "food11", static_cast<uint64_t>(start.trial.value));
  TUNE_ASSIGN_OR_RETURN(models::Food11Options options,
                        models::ParseFood11Options(configuration, random.NextU64(), data_dir));
  options.data = Resolve(start.base_dir, options.data);
  options.weights = Resolve(start.base_dir, options.weights);
  return options;
}

TrialEnd EndFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
      return {Outcome::kBadConfig, status.message()};
    case StatusCode::kResourceExhausted:
      return {Outcome::kOutOfMemory, status.message()};
    default:
      return {Outcome::kCrashed, status.message()};
  }
}

// Of training, where the memory that ran out may be a card's.
TrialEnd EndForTraining(const Status& status, models::DeviceKind device) {
  if (status.code() == StatusCode::kResourceExhausted && device == models::DeviceKind::kCuda) {
    return {Outcome::kDeviceOutOfMemory, status.message()};
  }
  return EndFor(status);
}

// Decoded images are kept on disk.
TrialEnd EndForUnloaded(const Status& status) {
  if (status.code() != StatusCode::kResourceExhausted) return EndFor(status);
  return {Outcome::kCrashed, "no room for the decoded images: " + status.message(),
          EndDetail::kDiskFull};
}

// Saves the epoch, and says where.
Status SaveInto(const models::Trainer& trainer, CheckpointPlace& place, Report& report) {
  TUNE_RETURN_IF_ERROR(place.Prepare());
  TUNE_ASSIGN_OR_RETURN(const std::string path,
                        trainer.SaveCheckpoint(place.folder(), place.NameOf(report.iteration)));
  TUNE_ASSIGN_OR_RETURN(const models::CheckpointIdentity identity,
                        models::IdentifyCheckpoint(path));
  place.RemoveEarlierOf(report.iteration);
  report.has_checkpoint = true;
  report.checkpoint = {path, static_cast<int64_t>(identity.bytes), HashToHex(identity.checksum)};
  return OkStatus();
}

TrialEnd Train(const TrialStart& start, models::Trainer& trainer, TrialSession& session) {
  CheckpointPlace place(start);
  while (!trainer.finished()) {
    const Result<models::EpochReport> epoch = trainer.RunEpoch();
    if (!epoch.ok()) return EndForTraining(epoch.status(), trainer.options().device);
    Report report;
    report.iteration = epoch->epoch;
    report.metrics = models::ToMetrics(*epoch);
    report.final = trainer.finished();
    if (report.final || epoch->epoch % start.checkpoint_every == 0 || session.ShallSave()) {
      const Status saved = SaveInto(trainer, place, report);
      if (!saved.ok()) return EndForUnsaved(place.folder(), saved);
    }
    if (!GoesOn(session.Report(report)) && !report.final) {
      return {Outcome::kStopped, ""};
    }
  }
  return {Outcome::kCompleted, ""};
}

}  // namespace

TrialEnd Food11Trainable::Run(const TrialStart& start, TrialSession& session) {
  const Result<models::Food11Options> options = ReadOptions(start, surroundings_.data_dir);
  if (!options.ok()) return EndFor(options.status());
  const int threads = static_cast<int>(start.threads);
  const auto dataset = Load(options->data, options->image_size, threads);
  if (!dataset.ok()) return EndForUnloaded(dataset.status());
  const Result<std::unique_ptr<models::Trainer>> trainer =
      models::MakeTrainer(*options, *dataset, threads, MonotonicSeconds);
  if (!trainer.ok()) return EndForTraining(trainer.status(), options->device);
  if (!start.checkpoint_path.empty()) {
    const Status restored = (*trainer)->RestoreCheckpoint(
        start.checkpoint_path, start.has_other_config ? models::CheckpointOf::kOtherOptions
                                                      : models::CheckpointOf::kThisRun);
    if (!restored.ok()) return EndForUnrestored(restored);
  }
  return Train(start, **trainer, session);
}

Result<std::shared_ptr<const models::Dataset>> Food11Trainable::Load(const std::string& data,
                                                                     int image_size, int threads) {
  if (dataset_ != nullptr && dataset_data_ == data && dataset_image_size_ == image_size) {
    return dataset_;
  }
  dataset_.reset();  // Never two at a time.
  TUNE_ASSIGN_OR_RETURN(
      models::Dataset dataset,
      models::LoadData(data, image_size, surroundings_.cache_folder, threads, models::DecodeImage));
  for (const auto& skipped : dataset.skipped) {
    std::printf("left out: %s: %s\n", skipped.path.c_str(), skipped.reason.c_str());
  }
  dataset_ = std::make_shared<const models::Dataset>(std::move(dataset));
  dataset_data_ = data;
  dataset_image_size_ = image_size;
  return dataset_;
}

}  // namespace tune
