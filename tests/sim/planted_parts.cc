#include "tests/sim/planted_parts.h"

#include <deque>
#include <optional>
#include <utility>

#include "search/searcher.h"
#include "tests/forwarding_store.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"

namespace tune::sim {
namespace {

class AckingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status CommitSteps(std::span<const SweepStep> steps) override {
    Status status;
    const SweepStep& only = steps.front();
    if (waiting_) status = inner_.Commit(only.experiment, waiting_->first, waiting_->second);
    waiting_.emplace(only.step, only.rows);
    return status;
  }

 private:
  std::optional<std::pair<JournalStep, Transition>> waiting_;
};

// Says ok where the disk is full, and writes when there is room.
class FullDiskAckingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status CommitSteps(std::span<const SweepStep> steps) override {
    while (!waiting_.empty() && Commit(waiting_.front()).ok()) waiting_.pop_front();
    Status status =
        waiting_.empty() ? inner_.CommitSteps(steps) : ResourceExhausted("it is still full");
    if (status.code() != StatusCode::kResourceExhausted) return status;
    std::vector<Saved>& saved = waiting_.emplace_back();
    for (const SweepStep& step : steps) saved.push_back({step.experiment, step.step, step.rows});
    return OkStatus();
  }

 private:
  struct Saved {
    ExperimentId experiment;
    JournalStep step;
    Transition rows;
  };
  Status Commit(const std::vector<Saved>& saved) {
    std::vector<SweepStep> steps;
    for (const Saved& one : saved) steps.push_back({one.experiment, one.step, one.rows});
    return inner_.CommitSteps(steps);
  }
  std::deque<std::vector<Saved>> waiting_;
};

class TailSkippingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status EachStep(ExperimentId experiment, const StepTaker& take) override {
    TUNE_ASSIGN_OR_RETURN(std::vector<JournalStep> steps, inner_.ReadJournal(experiment));
    if (steps.size() > 1) steps.pop_back();
    for (const JournalStep& step : steps) TUNE_RETURN_IF_ERROR(take(step));
    return OkStatus();
  }
};

// Hears nothing while the journal is replayed.
class ForgetfulScheduler final : public TrialScheduler {
 public:
  ForgetfulScheduler(std::unique_ptr<TrialScheduler> inner, std::shared_ptr<bool> is_replaying)
      : inner_(std::move(inner)), is_replaying_(std::move(is_replaying)) {}
  void OnTrialAdded(TrialNumber trial) override { inner_->OnTrialAdded(trial); }
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override {
    if (*is_replaying_) return {};
    return inner_->OnReport(trial, iteration, value);
  }
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override {
    if (*is_replaying_) return {};
    return inner_->OnLastReport(trial, iteration, value);
  }
  void OnTrialEnded(TrialNumber trial, bool failed) override {
    inner_->OnTrialEnded(trial, failed);
  }
  void OnNoMoreTrials() override { inner_->OnNoMoreTrials(); }
  std::vector<Order> TakeOrders() override { return inner_->TakeOrders(); }
  std::vector<RungView> Rungs() const override { return inner_->Rungs(); }
  std::string name() const override { return inner_->name(); }
  std::string DebugString() const override { return inner_->DebugString(); }

 private:
  std::unique_ptr<TrialScheduler> inner_;
  std::shared_ptr<bool> is_replaying_;
};

}  // namespace

std::unique_ptr<Store> PlantInStore(PlantedFault fault, Store& inner) {
  if (fault == PlantedFault::kAckBeforeCommit) return std::make_unique<AckingStore>(inner);
  if (fault == PlantedFault::kAckOnFullDisk) return std::make_unique<FullDiskAckingStore>(inner);
  if (fault == PlantedFault::kJournalTailSkipped) {
    return std::make_unique<TailSkippingStore>(inner);
  }
  return nullptr;
}

std::unique_ptr<ExperimentController> PlantInController(
    PlantedFault fault, std::unique_ptr<ExperimentController> recovered, Store& store,
    const StoredExperiment& experiment) {
  if (fault != PlantedFault::kRungNotRebuilt) return recovered;
  const ControllerOptions& options = recovered->options();
  auto searcher = MakeSearcher(options.spec.search, ProblemOf(options.spec, options.space,
                                                              experiment.samples, options.seed));
  auto scheduler = MakeScheduler(options.spec.scheduler, options.spec.mode, options.seed);
  auto suggestions = store.ReadSuggestions(experiment.id);
  if (!searcher.ok() || !scheduler.ok() || !suggestions.ok()) return recovered;
  const auto is_replaying = std::make_shared<bool>(true);
  auto controller = std::make_unique<ExperimentController>(
      options, *std::move(searcher),
      std::make_unique<ForgetfulScheduler>(*std::move(scheduler), is_replaying));
  controller->RestoreSuggestions(*std::move(suggestions));
  const bool is_replayed = Replay(store, experiment.id, *controller).ok();
  *is_replaying = false;
  return is_replayed ? std::move(controller) : std::move(recovered);
}

void PlantInGateway(PlantedFault fault, KeyedRandom& random, const ExperimentController& controller,
                    std::vector<Incoming>& incoming) {
  if (fault != PlantedFault::kLeaseNotFenced && fault != PlantedFault::kDuplicateCounted) return;
  std::vector<Incoming> rewritten;
  for (Incoming& one : incoming) {
    auto* const message = std::get_if<FromWorker>(&one.message);
    auto* const report = message == nullptr ? nullptr : std::get_if<AttemptReport>(message);
    if (report == nullptr) {
      rewritten.push_back(std::move(one));
      continue;
    }
    if (fault == PlantedFault::kDuplicateCounted) {
      Incoming twice = one;
      rewritten.push_back(std::move(one));
      if (random.NextBelow(20) != 0) continue;
      auto& again = std::get<AttemptReport>(std::get<FromWorker>(twice.message));
      ++again.sequence;
      ++again.report.iteration;
      rewritten.push_back(std::move(twice));
      continue;
    }
    const TrialRecord& trial = controller.trials()[static_cast<size_t>(report->ref.trial.value)];
    if (trial.is_running() && *trial.lease != report->ref) {
      report->ref = *trial.lease;
      report->sequence = trial.last_sequence + 1;
      one.worker = *trial.attempt.worker;
    }
    rewritten.push_back(std::move(one));
  }
  incoming = std::move(rewritten);
}

void PlantInSending(PlantedFault fault, KeyedRandom& random, std::vector<ToWorker>& messages) {
  if (fault == PlantedFault::kAnswerLost) {
    std::erase_if(messages, [&random](const ToWorker& message) {
      return std::holds_alternative<AnswerReport>(message) && random.NextBelow(100) == 0;
    });
  } else if (fault == PlantedFault::kDeviceSharedTwice) {
    for (ToWorker& message : messages) {
      auto* const start = std::get_if<StartAttempt>(&message);
      if (start == nullptr) continue;
      for (DeviceSlice& slice : start->slices) slice.device = 0;
    }
  }
}

void PlantInStream(PlantedFault fault, std::vector<SweepEvent>& stream) {
  if (fault != PlantedFault::kAwayNotInStream) return;
  std::erase_if(stream, [](const SweepEvent& event) {
    const auto* const booked = std::get_if<NoticeBooked>(&event);
    return booked != nullptr && std::holds_alternative<WorkerAway>(booked->notice);
  });
}

void PlantInRemoval(PlantedFault fault, SimulatedDisk& disk, const std::string& path) {
  if (fault != PlantedFault::kCheckpointRemovedEarly) return;
  const std::vector<std::string> left = disk.List(path.substr(0, path.rfind('/') + 1));
  if (left.empty()) return;
  disk.Remove(left.back());
  disk.SyncName(left.back());
}

}  // namespace tune::sim
