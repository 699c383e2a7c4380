#include "trial_runner/worker/food11_lanes.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>
#include <utility>

#include "models/data/decode.h"
#include "models/data/image_folder.h"
#include "models/data/load_data.h"
#include "models/train/trainer.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "trial_runner/worker/food11_attempt.h"
#include "trial_runner/worker/food11_rank.h"

namespace tune {
namespace {

// What waiting for others may cost: of an epoch, and at most.
constexpr double kOthersShare = 0.125;
constexpr double kOthersSecondsMax = 0.5;

// `data`: empty where neither the configuration nor this machine names a folder. Decoded images are
// kept on disk.
TrialEnd EndForUnloaded(const std::string& data, const Status& status) {
  if (data.empty()) return {Outcome::kBadConfig, status.message(), EndDetail::kUnfitMachine};
  if (status.code() != StatusCode::kResourceExhausted) return EndFor(status);
  return {Outcome::kCrashed, "cannot keep the decoded images: " + status.message(),
          EndDetail::kDiskFull};
}

// Of a share of one device; a whole one has no limit but its own.
int64_t DeviceBytes(const TrialStart& start) {
  const bool has_share = start.slices.size() == 1 && start.slices.front().milli < kWholeMilli;
  return has_share ? start.slices.front().memory_bytes : 0;
}

}  // namespace

Food11Lanes::Food11Lanes(Surroundings surroundings, LaneSession& session)
    : surroundings_(std::move(surroundings)), session_(session) {}

Food11Lanes::~Food11Lanes() = default;

void Food11Lanes::Run() {
  while (true) {
    while (const auto event = session_.Next(WaitMs())) {
      std::visit([this, &event](const auto& what) { On(event->lane, what); }, event->message);
    }
    if (session_.is_closed()) return;
    Step();
  }
}

bool Food11Lanes::AwaitsAnswers() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& entry) { return entry.second.awaits_answer; });
}

// How long the worker is listened to before the next step. An epoch begins when nobody awaits an
// answer: so all train in step. One that comes in the place of another is on its way then.
int Food11Lanes::WaitMs() const {
  if (lanes_.empty()) return TrialSocket::kForever;
  if (array_->is_in_epoch()) return 0;
  if (AwaitsAnswers()) return TrialSocket::kForever;
  if (lanes_.size() >= epoch_lane_count_) return 0;
  return std::max(0, static_cast<int>((awaits_others_until_ - MonotonicSeconds()) * 1000));
}

void Food11Lanes::On(int64_t lane, const TrialStart& start) {
  std::optional<TrialEnd> end;
  try {
    end = Begin(lane, start);
  } catch (const std::bad_alloc&) {
    end = session_.OutOfMemory();
  }
  if (end) End(lane, *end);
}

void Food11Lanes::On(int64_t lane, const LaneGoesOn&) { lanes_.at(lane).awaits_answer = false; }

void Food11Lanes::On(int64_t lane, const LaneShallEnd&) { End(lane, {Outcome::kStopped, ""}); }

// Nothing, or why it does not begin.
std::optional<TrialEnd> Food11Lanes::Begin(int64_t lane, const TrialStart& start) {
  Result<models::Food11Options> options = ReadFood11Options(start, surroundings_.data_dir);
  if (!options.ok()) return EndFor(options.status());
  const std::string shape = models::LaneShape(*options);
  if (!lanes_.empty() && shape != shape_) {
    return TrialEnd{Outcome::kCrashed, "it was to train beside trials of another shape"};
  }
  const int threads = static_cast<int>(start.threads);
  const auto dataset = Load(options->data, options->image_size);
  if (!dataset.ok()) {
    return EndForUnloaded(options->data, OfPath(start, "data", dataset.status()));
  }
  if (start.world_size > 1) return TrainAsRank(lane, start, *options, *dataset, session_);
  if (lanes_.empty()) {
    array_.reset();
    const auto device = models::PlaceDevice(options->device);
    if (!device.ok()) return EndForTraining(device.status(), models::DeviceKind::kCuda);
    Log(device->note);
    options->device = device_ = device->kind;
    auto runner = models::MakeLaneRunner(
        models::NetworkOptionsOf(*options, (*dataset)->class_count(), threads), *dataset);
    if (!runner.ok()) return EndForTraining(runner.status(), options->device);
    array_ = std::make_unique<models::LaneArray>(*dataset, *std::move(runner), MonotonicSeconds);
    shape_ = shape;
  }
  options->device = device_;  // That of all lanes of an array.
  const Result<models::TrainingRun*> run = array_->Add(*options, {threads, DeviceBytes(start)});
  if (!run.ok()) {
    return EndForTraining(OfPath(start, "weights", run.status()), options->device);
  }
  lanes_.try_emplace(lane, start, *run);
  logged_.clear();  // It has a log of its own.
  if (!start.checkpoint_path.empty()) {
    const Status restored = (*run)->RestoreCheckpoint(
        start.checkpoint_path, start.has_other_config ? models::CheckpointOf::kOtherOptions
                                                      : models::CheckpointOf::kThisRun);
    if (!restored.ok()) return EndForUnrestored(restored);
    Log((*run)->ThreadsNote());
  }
  if ((*run)->finished()) return TrialEnd{Outcome::kCompleted, ""};
  return std::nullopt;
}

void Food11Lanes::Step() {
  try {
    const bool begins = !array_->is_in_epoch();
    if (begins) epoch_lane_count_ = lanes_.size();
    const std::vector<models::LaneArray::Ended> ended =
        begins ? array_->BeginEpoch() : array_->Step();
    if (array_->Note() != logged_) Log(logged_ = array_->Note());
    // A card that fails fails for all that it runs, and nobody knows whose fault it was.
    const auto failed = std::count_if(ended.begin(), ended.end(), [](const auto& lane) {
      return !lane.report.ok() && lane.report.status().code() != StatusCode::kResourceExhausted;
    });
    if (failed > 1) TrialSocket::EndProcess(ended.front().report.status().message());
    for (const models::LaneArray::Ended& lane : ended) EndEpoch(lane);
  } catch (const std::bad_alloc&) {
    if (lanes_.size() > 1)
      TrialSocket::EndProcess("no memory is left for the trials that share it");
    End(lanes_.begin()->first, session_.OutOfMemory());
  }
}

void Food11Lanes::EndEpoch(const models::LaneArray::Ended& ended) {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&ended](const auto& entry) {
    return entry.second.run == ended.run;
  });
  const int64_t number = found->first;
  Lane& lane = found->second;
  const models::TrainingRun& run = *lane.run;
  if (!ended.report.ok()) {
    return End(number, EndForTraining(ended.report.status(), run.options().device));
  }
  awaits_others_until_ =
      MonotonicSeconds() + std::min(kOthersSecondsMax, kOthersShare * ended.report->epoch_seconds);
  Report report;
  report.iteration = ended.report->epoch;
  report.metrics = models::ToMetrics(*ended.report);
  report.final = run.finished();
  const bool is_due = report.iteration % lane.checkpoint_every == 0;
  if (report.final || is_due || session_.ShallSave(number)) {
    const Status saved = SaveInto(run, lane.place, report);
    if (!saved.ok()) return End(number, EndForUnsaved(lane.place.folder(), saved));
  }
  session_.Report(number, report);
  lane.awaits_answer = true;
  if (report.final) End(number, {Outcome::kCompleted, ""});
}

void Food11Lanes::End(int64_t lane, const TrialEnd& end) {
  const auto found = lanes_.find(lane);
  if (found != lanes_.end()) {
    array_->Remove(found->second.run);
    lanes_.erase(found);
  }
  if (lanes_.empty()) array_.reset();  // A card's memory is free for others.
  session_.End(lane, end);
}

// Whether what is kept is what the folder has. While others train on it, and where the folder
// cannot be looked at, it is used as it is.
bool Food11Lanes::IsAsLoaded(const std::string& data) const {
  if (!lanes_.empty() || dataset_->folder_hash == 0) return true;
  const Result<models::ImageFolder> found = models::FindImages(data);
  return !found.ok() || found->ListHash() == dataset_->folder_hash;
}

Result<std::shared_ptr<const models::Dataset>> Food11Lanes::Load(const std::string& data,
                                                                 int image_size) {
  const bool is_kept =
      dataset_ != nullptr && dataset_data_ == data && dataset_image_size_ == image_size;
  if (is_kept && IsAsLoaded(data)) return dataset_;
  dataset_.reset();  // Never two at a time.
  // Images are decoded once, while the sweep's other trials wait for it: on all processors, however
  // few this trial trains on.
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  TUNE_ASSIGN_OR_RETURN(
      models::Dataset dataset,
      models::LoadData(data, image_size, surroundings_.cache_folder, threads, models::DecodeImage));
  constexpr size_t kNamesShown = 20;  // For each reason.
  if (const std::string left_out = models::DescribeSkipped(dataset.skipped, kNamesShown);
      !left_out.empty()) {
    Log("warning: data: " + left_out);
  }
  dataset_ = std::make_shared<const models::Dataset>(std::move(dataset));
  dataset_data_ = data;
  dataset_image_size_ = image_size;
  return dataset_;
}

}  // namespace tune
