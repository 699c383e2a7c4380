#include "trial_runner/worker/food11_rank.h"

#include <csignal>
#include <span>
#include <string>
#include <utility>

#include "models/ranks/gloo_all_reduce.h"
#include "models/train/trainer.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "trial_runner/worker/food11_attempt.h"

namespace tune {
namespace {

// Ranks of several workers meet in the trial's artifact folder: where each has one of its own, they
// would wait for each other for ever.
bool CannotMeet(const TrialStart& start) {
  return start.group.node_count > 1 && start.place.has_own_artifacts;
}

// What is unavailable is another rank.
TrialEnd EndForRank(const Status& status, models::DeviceKind device) {
  if (status.code() != StatusCode::kUnavailable) return EndForTraining(status, device);
  return {Outcome::kCrashed, status.message(), EndDetail::kRankLost};
}

class Rank {
 public:
  Rank(int64_t lane, const TrialStart& start, models::Trainer& trainer, models::AllReduce& ranks,
       LaneSession& session)
      : lane_(lane),
        start_(start),
        trainer_(trainer),
        ranks_(ranks),
        session_(session),
        place_(start) {}

  TrialEnd Train() {
    while (!trainer_.finished()) {
      const Result<models::EpochReport> epoch = trainer_.RunEpoch();
      if (!epoch.ok()) return EndForRank(epoch.status(), Device());
      bool goes_on = false;
      if (IsFirst()) {
        const Result<bool> answer = SaveAndReport(*epoch);
        if (!answer.ok()) return EndForUnsaved(place_.folder(), answer.status());
        goes_on = *answer;
      }
      if (trainer_.finished()) break;
      const Result<bool> all_go_on = AllGoOn(goes_on);
      if (!all_go_on.ok()) return EndForRank(all_go_on.status(), Device());
      // Who is told nothing itself has done its part.
      if (!*all_go_on) return {IsFirst() ? Outcome::kStopped : Outcome::kCompleted, ""};
    }
    return {Outcome::kCompleted, ""};
  }

 private:
  bool IsFirst() const { return start_.rank == 0; }
  models::DeviceKind Device() const { return trainer_.options().device; }

  // Whether the attempt goes on.
  Result<bool> SaveAndReport(const models::EpochReport& epoch) {
    Report report;
    report.iteration = epoch.epoch;
    report.metrics = models::ToMetrics(epoch);
    report.final = trainer_.finished();
    const bool is_due = epoch.epoch % start_.checkpoint_every == 0;
    if (report.final || is_due || session_.ShallSave(lane_)) {
      TUNE_RETURN_IF_ERROR(SaveInto(trainer_.run(), place_, report));
    }
    session_.Report(lane_, report);
    if (report.final) return false;
    const std::optional<OfLane<LaneEvent>> event = session_.Next(TrialSocket::kForever);
    if (!event) TrialSocket::EndProcess("the worker is gone");
    return std::holds_alternative<LaneGoesOn>(event->message);
  }

  // What the first rank was answered, for all of them.
  Result<bool> AllGoOn(bool goes_on) {
    double answer = IsFirst() && goes_on ? 1 : 0;
    TUNE_RETURN_IF_ERROR(ranks_.Sum(std::span(&answer, 1)));
    return answer > 0;
  }

  const int64_t lane_;
  const TrialStart& start_;
  models::Trainer& trainer_;
  models::AllReduce& ranks_;
  LaneSession& session_;
  CheckpointPlace place_;
};

}  // namespace

TrialEnd TrainAsRank(int64_t lane, const TrialStart& start, const models::Food11Options& wanted,
                     std::shared_ptr<const models::Dataset> dataset, LaneSession& session) {
  if (CannotMeet(start)) {
    return {Outcome::kBadConfig,
            "ranks of food11 on several workers meet in the trial's artifact folder, and " +
                start.artifact_dir +
                " is a folder of this machine alone; put the database where all workers reach it "
                "under one path, or leave out spread: true",
            EndDetail::kUnfitMachine};
  }
  // Gloo writes to ranks that may be gone: that is an error to tell, no signal to die of.
  std::signal(SIGPIPE, SIG_IGN);
  const auto ranks = models::ConnectRanks(
      {static_cast<int>(start.rank), static_cast<int>(start.world_size),
       start.artifact_dir + "/ranks_" + std::to_string(start.attempt.value), start.place.address});
  if (!ranks.ok()) return EndForRank(ranks.status(), wanted.device);
  const auto device = models::AgreeOnDevice(wanted.device, **ranks);
  if (!device.ok()) return EndForRank(device.status(), models::DeviceKind::kCuda);
  Log(device->note);
  models::Food11Options options = wanted;
  options.device = device->kind;
  const auto trainer = models::MakeTrainer(
      options, std::move(dataset), static_cast<int>(start.threads), MonotonicSeconds, ranks->get());
  if (!trainer.ok()) return EndForRank(OfPath(start, "weights", trainer.status()), options.device);
  Log((*trainer)->Note());
  if (!start.checkpoint_path.empty()) {
    const Status restored = (*trainer)->RestoreCheckpoint(
        start.checkpoint_path, start.has_other_config ? models::CheckpointOf::kOtherOptions
                                                      : models::CheckpointOf::kThisRun);
    if (!restored.ok()) return EndForUnrestored(restored);
    Log((*trainer)->run().ThreadsNote());
  }
  return Rank(lane, start, **trainer, **ranks, session).Train();
}

}  // namespace tune
