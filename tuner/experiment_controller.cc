#include "tuner/experiment_controller.h"

#include <algorithm>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "tuner/artifact_path.h"

namespace tune {
namespace {

constexpr char kIterationName[] = "training_iteration";
constexpr char kTimeTotalName[] = "time_total";

bool CountsAsFailure(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCrashed:
    case Outcome::kKilled:
    case Outcome::kOutOfMemory:
    case Outcome::kDeviceOutOfMemory:
    case Outcome::kHung:
      return true;
    default:
      return false;
  }
}

}  // namespace

ExperimentController::ExperimentController(ControllerOptions options,
                                           std::unique_ptr<Searcher> searcher,
                                           std::unique_ptr<TrialScheduler> scheduler)
    : options_(std::move(options)),
      searcher_(std::move(searcher)),
      scheduler_(std::move(scheduler)),
      retention_(options_.spec.checkpoint, options_.spec.mode),
      samples_(options_.spec.samples),
      trial_count_max_(TrialCount(options_.spec.search, options_.space, samples_)) {}

void ExperimentController::RestoreSuggestions(
    std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
  for (auto& [number, configuration] : suggestions) {
    suggestions_.emplace(number, std::move(configuration));
  }
}

bool ExperimentController::HasMoreToCreate() const {
  return !space_exhausted_ &&
         (trial_count_max_ < 0 || static_cast<int64_t>(trials_.size()) < trial_count_max_);
}

Transition ExperimentController::Apply(const std::vector<Event>& events, Instant now) {
  now_ = now;
  if (!life_start_) life_start_ = last_active_ = now;
  for (const Event& event : events) {
    std::visit([this](const auto& e) { On(e); }, event);
  }
  CheckTimeLimits();
  Fill();
  WatchForUnplaceable();
  FinishIfDone();
  return TakeTransition();
}

// ---- workers

void ExperimentController::On(const WorkerJoined& event) {
  TUNE_CHECK(!workers_.contains(event.worker));
  leases_.AddWorker(event.worker, event.capacity);
  const WorkerRow row{event.worker,        event.name, event.address, event.capacity,
                      WorkerState::kAlive, now_,       now_};
  workers_[event.worker] = row;
  out_.workers.push_back(row);

  Welcome welcome;
  welcome.worker = event.worker;
  welcome.experiment = options_.name;
  welcome.metric = options_.spec.metric;
  welcome.trainable = ToJson(options_.spec.trainable);
  welcome.base_dir = options_.spec.base_dir;
  welcome.seed = options_.seed;
  welcome.heartbeat_ms = limits::kHeartbeatMs;
  welcome.lease_ms = limits::kLeaseMs;
  Send(event.worker, welcome);
  if (has_ended_) Send(event.worker, Shutdown{});
}

void ExperimentController::On(const WorkerGone& event) {
  if (!leases_.HasWorker(event.worker)) return;  // It said goodbye before its connection ended.
  const bool said_goodbye = event.how == Departure::kGoodbye;
  Remove(event.worker, said_goodbye ? WorkerState::kLeft : WorkerState::kLost);
  if (!GivesOut()) return;
  const bool is_last = leases_.Views().empty();
  out_.actions.push_back(Say{"worker " + WorkerName(event.worker) +
                             (said_goodbye ? " left" : " is lost: its connection broke") +
                             (is_last ? "; there is no other, waiting " +
                                            FormatDuration(options_.spec.limits.unplaceable) +
                                            " for one (limits.unplaceable)"
                                      : "")});
}

void ExperimentController::Remove(WorkerId worker, WorkerState state) {
  WorkerRow& row = workers_.at(worker);
  row.state = state;
  row.last_seen_at = now_;
  out_.workers.push_back(row);
  const LeaseTable::Lost lost = leases_.RemoveWorker(worker);
  for (const AttemptRef& ref : lost.running) {
    EndAttempt(At(ref.trial), Outcome::kLost, "the connection to worker " + row.name + " broke");
  }
  for (const AttemptRef& ref : lost.ahead) {
    At(ref.trial).lease.reset();
    WaitForLease(At(ref.trial));
  }
}

void ExperimentController::Drain(WorkerId worker) {
  if (!leases_.Drain(worker)) return;
  WorkerRow& row = workers_.at(worker);
  row.state = WorkerState::kDraining;
  row.last_seen_at = now_;
  out_.workers.push_back(row);
}

std::string ExperimentController::WorkerName(WorkerId worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? std::string() : found->second.name;
}

// ---- reports

void ExperimentController::On(const ReportArrived& event) {
  const AttemptReport& message = event.message;
  const AttemptRef& ref = message.ref;
  const bool is_known = ref.trial.value >= 0 &&
                        ref.trial.value < static_cast<int64_t>(trials_.size()) &&
                        leases_.IsRunning(event.worker, ref);
  if (!is_known) {
    if (leases_.HasWorker(event.worker)) {
      Send(event.worker, AnswerReport{ref, message.sequence, ReportAnswer::kRefused});
    }
    return;
  }
  TrialRecord& trial = At(ref.trial);
  if (message.sequence <= trial.last_sequence) {
    // It came twice: the same answer again.
    Send(event.worker, AnswerReport{ref, message.sequence, trial.last_answer});
    return;
  }
  if (trial.is_over() || trial.verdict) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    return;
  }
  if (const auto objection = Objection(trial, message.report)) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    Kill(trial, Outcome::kCrashed, *objection);
    return;
  }

  const Report& report = message.report;
  const Metric value = FindMetric(report.metrics, options_.spec.metric);
  const std::optional<Decision> decision = Decide(trial, report, value);
  trial.attempt_iteration = report.iteration;
  trial.progress_at = now_;
  out_.reports.push_back(
      ReportRow{ref.trial, ref.attempt, report.iteration, value, report.metrics, now_, decision});
  KeepCheckpoint(trial, report, value);
  const StopReason reason = ReasonToStop(trial, report, decision);
  if (reason != StopReason::kNone) EndTrial(trial, TrialStatus::kTerminated, reason);
  Answer(event.worker, trial, message,
         reason == StopReason::kNone ? ReportAnswer::kContinue : ReportAnswer::kStop);
  MarkChanged(trial);
}

std::optional<std::string> ExperimentController::Objection(const TrialRecord& trial,
                                                           const Report& report) const {
  if (report.iteration <= trial.attempt_iteration) {
    return "reported iteration " + std::to_string(report.iteration) + " after iteration " +
           std::to_string(trial.attempt_iteration) + "; iterations must rise";
  }
  const std::string& path = report.checkpoint.path;
  if (report.has_checkpoint && !path.empty() && !WithinArtifacts(trial, path)) {
    return "reported a checkpoint outside of its artifact folder: " + path;
  }
  return std::nullopt;
}

// Told by the end of the folder's path, .../<name>/<trial number>/: a replay must come to the same
// answer where the database was moved since.
std::optional<std::string> ExperimentController::WithinArtifacts(const TrialRecord& trial,
                                                                 const std::string& path) const {
  return WithinTrialFolder(path, options_.name, trial.row.number.value);
}

// Nothing for an iteration that was reported before a retry: it is stored and reaches no one.
std::optional<Decision> ExperimentController::Decide(TrialRecord& trial, const Report& report,
                                                     Metric value) {
  TrialRow& row = trial.row;
  if (report.iteration <= row.iterations) return std::nullopt;
  row.iterations = report.iteration;
  row.last_value = value;
  if (value && (!row.best_value || IsBetter(*value, *row.best_value, options_.spec.mode))) {
    row.best_value = value;
    row.best_iteration = report.iteration;
  }
  searcher_->OnReport(row.number, report.iteration, value);
  return scheduler_->OnReport(row.number, report.iteration, value);
}

StopReason ExperimentController::ReasonToStop(const TrialRecord& trial, const Report& report,
                                              const std::optional<Decision>& decision) const {
  if (report.final) return StopReason::kCompleted;
  for (const StopCondition& condition : options_.spec.stop) {
    Metric reached;
    if (condition.metric == kIterationName) {
      reached = static_cast<double>(report.iteration);
    } else if (condition.metric == kTimeTotalName) {
      reached = trial.row.run_seconds + (now_ - trial.attempt.started_at).seconds();
    } else {
      reached = FindMetric(report.metrics, condition.metric);
    }
    if (reached &&
        (condition.at_or_above ? *reached >= condition.value : *reached <= condition.value)) {
      return StopReason::kStopCondition;
    }
  }
  if (decision && decision->verdict == Verdict::kStop) {
    return decision->cause == StopCause::kMaxT ? StopReason::kMaxT : StopReason::kScheduler;
  }
  if (sweep_over_) return StopReason::kSweepLimit;
  return StopReason::kNone;
}

void ExperimentController::KeepCheckpoint(TrialRecord& trial, const Report& report, Metric value) {
  if (!report.has_checkpoint) return;
  trial.resume_iteration = report.iteration;
  trial.resume_path = WithinArtifacts(trial, report.checkpoint.path).value_or("");
  if (report.checkpoint.path.empty()) return;  // All there is to it is its iteration.
  out_.checkpoints.push_back(CheckpointRow{trial.row.number, report.iteration, report.checkpoint,
                                           CheckpointState::kDurable});
  RemoveCheckpoints(retention_.Add({trial.row.number, report.iteration, report.checkpoint, value}));
  if (!retention_.is_over_budget() || said_over_budget_) return;
  said_over_budget_ = true;
  out_.actions.push_back(
      Say{"checkpoint.disk_budget: " + std::to_string(retention_.bytes()) +
          " bytes of checkpoints are needed by trials that are not over, more than the budget of " +
          std::to_string(*options_.spec.checkpoint.disk_budget_bytes) + "; they stay"});
}

void ExperimentController::RemoveCheckpoints(
    const std::vector<CheckpointRetention::Entry>& removed) {
  for (const CheckpointRetention::Entry& entry : removed) {
    out_.checkpoints.push_back(
        CheckpointRow{entry.trial, entry.iteration, entry.ref, CheckpointState::kRemoved});
    // Where it lies now: the database may have been moved since.
    const auto within = WithinTrialFolder(entry.ref.path, options_.name, entry.trial.value);
    out_.actions.push_back(RemoveCheckpoint{
        within ? options_.artifact_root + "/" + std::to_string(entry.trial.value) + "/" + *within
               : entry.ref.path});
  }
}

void ExperimentController::Answer(WorkerId worker, TrialRecord& trial, const AttemptReport& message,
                                  ReportAnswer answer) {
  trial.last_sequence = message.sequence;
  trial.last_answer = answer;
  Send(worker, AnswerReport{message.ref, message.sequence, answer});
}

// ---- ends

void ExperimentController::On(const AttemptFinished& event) {
  const LeaseTable::Ended ended = leases_.End(event.worker, event.message.ref);
  if (!ended.known) return;
  TrialRecord& trial = At(event.message.ref.trial);
  if (event.message.outcome == Outcome::kPreempted && !trial.verdict && GivesOut()) {
    // It was not we who ended it: the worker is about to leave.
    Drain(event.worker);
  }
  if (!ended.was_running) {
    // Dropped from the queue before it began.
    trial.lease.reset();
    WaitForLease(trial);
    return;
  }
  const AttemptEnded& said = trial.verdict ? *trial.verdict : event.message;
  EndAttempt(trial, said.outcome, said.error);
  if (ended.begun) BeginAttempt(At(ended.begun->ref.trial), event.worker);
}

void ExperimentController::EndAttempt(TrialRecord& trial, Outcome outcome,
                                      const std::string& error) {
  TUNE_CHECK(trial.lease.has_value());
  const Duration ran = now_ - trial.attempt.started_at;
  trial.attempt.outcome = outcome;
  trial.attempt.error = error.substr(0, limits::kErrorBytesMax);
  trial.attempt.finished_at = now_;
  out_.attempts.push_back(trial.attempt);
  trial.row.run_seconds += ran.seconds();
  // An exponential mean with weight 1/8 follows the sweep's pace and is exact in integers.
  mean_attempt_ =
      mean_attempt_ ? Duration{mean_attempt_->us + (ran.us - mean_attempt_->us) / 8} : ran;
  trial.lease.reset();
  trial.is_running = false;
  AfterAttempt(trial, outcome, trial.attempt.error);
  trial.verdict.reset();
  MarkChanged(trial);
}

void ExperimentController::AfterAttempt(TrialRecord& trial, Outcome outcome,
                                        const std::string& error) {
  if (trial.is_over()) {
    trial.row.finished_at = now_;
    return;
  }
  if (outcome == Outcome::kCompleted) {
    if (trial.row.iterations == 0) {
      Fail(trial, "ended without reporting " + options_.spec.metric);
    } else {
      EndTrial(trial, TrialStatus::kTerminated, StopReason::kCompleted);
    }
    return;
  }
  if (outcome == Outcome::kBadConfig) {
    Fail(trial, error);
    return;
  }
  if (CountsAsFailure(outcome)) {
    ++trial.failure_count;
    const int64_t failures_max = options_.spec.max_failures;
    if (failures_max >= 0 && trial.failure_count > failures_max) {
      Fail(trial, error);
      return;
    }
  }
  WaitForLease(trial);
}

void ExperimentController::WaitForLease(TrialRecord& trial) {
  if (sweep_over_) {
    EndTrial(trial, TrialStatus::kTerminated, StopReason::kSweepLimit);
    return;
  }
  trial.row.status = TrialStatus::kPending;
  waiting_.insert(trial.row.number);
}

void ExperimentController::EndTrial(TrialRecord& trial, TrialStatus status, StopReason reason) {
  TUNE_CHECK(!trial.is_over());
  trial.row.status = status;
  trial.row.stop_reason = reason;
  trial.row.finished_at = now_;
  RemoveCheckpoints(retention_.OnTrialOver(trial.row.number));
  const bool has_failed = status == TrialStatus::kError;
  scheduler_->OnTrialEnded(trial.row.number, has_failed);
  searcher_->OnTrialEnded(trial.row.number, trial.row.last_value, has_failed);
  for (const TrialNumber resumed : scheduler_->TakeResumed()) {
    At(resumed).row.status = TrialStatus::kPending;
    waiting_.insert(resumed);
    MarkChanged(At(resumed));
  }
  MarkChanged(trial);
}

void ExperimentController::Fail(TrialRecord& trial, const std::string& error) {
  EndTrial(trial, TrialStatus::kError, StopReason::kNone);
  ++error_count_;
  out_.actions.push_back(
      Say{"trial " + std::to_string(trial.row.number.value) + " failed: " + error});
  const auto& failed_max = options_.spec.limits.failed_trials;
  if (failed_max && error_count_ >= *failed_max && !end_status_) {
    out_.actions.push_back(Say{"limits.failed_trials: " + std::to_string(error_count_) +
                               " trials failed; the sweep ends"});
    StopGiving(ExperimentStatus::kStopped);
  }
}

// The worker ends the process; what we say here stands as the attempt's end.
void ExperimentController::Kill(TrialRecord& trial, Outcome outcome, const std::string& error) {
  if (trial.verdict) return;
  trial.verdict = AttemptEnded{*trial.lease, outcome, error};
  Send(*trial.attempt.worker, KillAttempt{*trial.lease});
}

// ---- commands and time

void ExperimentController::On(const InterruptRequested&) {
  if (end_status_) return;
  StopGiving(ExperimentStatus::kInterrupted);
}

// Everything that has a lease is told to end; the sweep ends when all have.
void ExperimentController::StopGiving(ExperimentStatus end_status) {
  end_status_ = end_status;
  for (const auto& [worker, ref] : leases_.All()) {
    Send(worker, KillAttempt{ref});
  }
}

void ExperimentController::On(const TunerRestarted&) {
  active_before_ = active_before_ + (last_active_ - *life_start_);
  life_start_ = now_;
  std::vector<WorkerId> workers;
  for (const WorkerView& view : leases_.Views()) workers.push_back(view.worker);
  for (const WorkerId worker : workers) Remove(worker, WorkerState::kLost);
  end_status_.reset();
  has_ended_ = false;
  unplaceable_since_.reset();
  status_ = ExperimentStatus::kRunning;
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

void ExperimentController::On(const SamplesExtended& event) {
  samples_ = event.samples;
  trial_count_max_ = TrialCount(options_.spec.search, options_.space, samples_);
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

void ExperimentController::On(const TunerSlept&) {}
void ExperimentController::On(const PauseRequested&) {}
void ExperimentController::On(const UnpauseRequested&) {}
void ExperimentController::On(const StopRequested&) {}
void ExperimentController::On(const MaxConcurrentChanged&) {}
void ExperimentController::On(const ErroredRetried&) {}
void ExperimentController::On(const DeadlinePassed&) {}  // Apply looks at the time anyway.

void ExperimentController::CheckTimeLimits() {
  const SweepLimits& limits = options_.spec.limits;
  last_active_ = now_;
  const auto sweep_end = sweep_deadline();
  if (sweep_end && !sweep_over_ && now_ >= *sweep_end) {
    sweep_over_ = true;
    out_.actions.push_back(
        Say{"limits.sweep_time is used up: running trials end at their next report"});
    const std::set<TrialNumber> waiting = std::exchange(waiting_, {});
    for (const TrialNumber number : waiting) {
      EndTrial(At(number), TrialStatus::kTerminated, StopReason::kSweepLimit);
    }
    // What waits in a worker's queue shall not begin.
    for (const auto& [worker, ref] : leases_.All()) {
      if (!At(ref.trial).is_running) Send(worker, KillAttempt{ref});
    }
  }
  if (!limits.trial_time && !limits.no_progress) return;
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    if (!trial.is_running || trial.verdict) continue;
    const Duration ran{static_cast<int64_t>(trial.row.run_seconds * 1e6) +
                       (now_ - trial.attempt.started_at).us};
    if (limits.trial_time && ran >= *limits.trial_time && !trial.is_over()) {
      EndTrial(trial, TrialStatus::kTerminated, StopReason::kStopCondition);
      Kill(trial, Outcome::kStopped, "limits.trial_time reached");
    } else if (limits.no_progress && now_ >= trial.progress_at + *limits.no_progress) {
      Kill(trial, Outcome::kHung,
           "no report for " + FormatDuration(*limits.no_progress) + " (limits.no_progress)");
    }
  }
}

std::optional<Instant> ExperimentController::sweep_deadline() const {
  if (!options_.spec.limits.sweep_time || !life_start_) return std::nullopt;
  return Instant{life_start_->us + options_.spec.limits.sweep_time->us - active_before_.us};
}

std::optional<Instant> ExperimentController::NextDeadline() const {
  std::optional<Instant> next;
  const auto consider = [&next](Instant t) {
    if (!next || t < *next) next = t;
  };
  const SweepLimits& limits = options_.spec.limits;
  if (has_ended_) return next;
  if (const auto sweep_end = sweep_deadline(); sweep_end && !sweep_over_) consider(*sweep_end);
  if (unplaceable_since_) consider(*unplaceable_since_ + limits.unplaceable);
  if (!limits.trial_time && !limits.no_progress) return next;
  for (const auto& [worker, ref] : leases_.All()) {
    const TrialRecord& trial = trials_[static_cast<size_t>(ref.trial.value)];
    if (!trial.is_running || trial.verdict) continue;
    if (limits.no_progress) consider(trial.progress_at + *limits.no_progress);
    if (limits.trial_time && !trial.is_over()) {
      consider(Instant{trial.attempt.started_at.us + limits.trial_time->us -
                       static_cast<int64_t>(trial.row.run_seconds * 1e6)});
    }
  }
  return next;
}

// ---- giving out work

void ExperimentController::Fill() {
  if (!GivesOut()) return;
  const ResourceRequest& request = options_.spec.resources;
  while (leases_.running_count() < options_.spec.limits.max_concurrent &&
         Place(request, leases_.Views())) {
    TrialRecord* const trial = NextCandidate();
    if (trial == nullptr) return;
    const auto lease =
        leases_.Grant(request, trial->row.number, AttemptNumber{trial->row.attempts + 1});
    TUNE_CHECK(lease.has_value());
    trial->lease = lease->ref;
    StartAttempt message = StartMessage(*trial, lease->placement.worker);
    message.cpu_milli = lease->placement.cpu_milli;
    message.slices = lease->placement.slices;
    Send(lease->placement.worker, std::move(message));
    BeginAttempt(*trial, lease->placement.worker);
  }
  const int64_t ahead_per_running = AheadPerRunning();
  while (const auto worker = leases_.RoomAhead(ahead_per_running)) {
    TrialRecord* const trial = NextCandidate();
    if (trial == nullptr) return;
    trial->lease =
        leases_.GrantAhead(*worker, trial->row.number, AttemptNumber{trial->row.attempts + 1});
    StartAttempt message = StartMessage(*trial, *worker);
    message.ahead = true;
    Send(*worker, std::move(message));
  }
}

// Interrupted and retried trials in order of number, then a new one.
TrialRecord* ExperimentController::NextCandidate() {
  if (waiting_.empty()) return CreateTrial();
  TrialRecord& trial = At(*waiting_.begin());
  waiting_.erase(waiting_.begin());
  return &trial;
}

TrialRecord* ExperimentController::CreateTrial() {
  const TrialNumber number{static_cast<int64_t>(trials_.size())};
  if (!HasMoreToCreate()) return nullptr;
  TrialRecord trial;
  if (const auto known = suggestions_.find(number); known != suggestions_.end()) {
    trial.configuration = known->second;
    searcher_->Restore(number, trial.configuration);
  } else {
    std::optional<Configuration> suggestion = searcher_->Suggest(number);
    if (!suggestion) {
      space_exhausted_ = true;
      return nullptr;
    }
    trial.configuration = *std::move(suggestion);
  }
  trial.row.number = number;
  trial.row.created_at = now_;
  scheduler_->OnTrialAdded(number);
  trials_.push_back(std::move(trial));
  created_.insert(number);
  return &trials_.back();
}

// Leases ahead serve trials shorter than the wait for a commit. A searcher that learns is asked as
// late as possible. Where one trial runs at a time, the order of arrival is promised: one that dies
// is retried before the next begins, which a worker's queue would not wait for.
int64_t ExperimentController::AheadPerRunning() const {
  if (options_.spec.limits.max_concurrent == 1) return 0;
  if (searcher_->LearnsFromResults() || !mean_attempt_) return 0;
  const int64_t mean_us = std::max<int64_t>(mean_attempt_->us, 1);
  return std::min<int64_t>(limits::kAheadHorizonUs / mean_us, limits::kAheadPerSlotMax);
}

void ExperimentController::BeginAttempt(TrialRecord& trial, WorkerId worker) {
  TUNE_CHECK(trial.lease.has_value());
  ++trial.row.attempts;
  trial.row.status = TrialStatus::kRunning;
  if (!trial.row.started_at) trial.row.started_at = now_;
  trial.is_running = true;
  trial.attempt_iteration = trial.resume_iteration;
  trial.last_sequence = 0;
  trial.progress_at = now_;
  trial.attempt = AttemptRow{};
  trial.attempt.trial = trial.row.number;
  trial.attempt.number = AttemptNumber{trial.row.attempts};
  trial.attempt.worker = worker;
  trial.attempt.from_iteration = trial.resume_iteration;
  trial.attempt.started_at = now_;
  out_.attempts.push_back(trial.attempt);
  MarkChanged(trial);
}

StartAttempt ExperimentController::StartMessage(const TrialRecord& trial, WorkerId worker) const {
  StartAttempt message;
  message.ref = *trial.lease;
  message.ends_seen = leases_.EndsSeen(worker);
  message.config = ToJson(trial.configuration.ToNested());
  message.from_iteration = trial.resume_iteration;
  message.artifact_dir = options_.artifact_root + "/" + std::to_string(trial.row.number.value);
  if (!trial.resume_path.empty()) {
    message.checkpoint_path = message.artifact_dir + "/" + trial.resume_path;
  }
  message.checkpoint_every = options_.spec.checkpoint.every;
  message.memory_bytes = options_.spec.resources.memory_bytes;
  return message;
}

// Something waits, nothing runs, and no worker that is there could ever take it.
void ExperimentController::WatchForUnplaceable() {
  bool could_fit = false;
  std::string have;
  for (const WorkerView& view : leases_.Views()) {
    if (view.is_draining) continue;
    could_fit = could_fit || CouldEverFit(options_.spec.resources, view.capacity);
    have += (have.empty() ? "" : "; ") + DescribeCapacity(view.capacity);
  }
  if (!GivesOut() || (waiting_.empty() && !HasMoreToCreate()) || could_fit) {
    unplaceable_since_.reset();
    return;
  }
  const std::string shortfall = "no worker can take a trial: it needs " +
                                DescribeRequest(options_.spec.resources) + "; the workers have " +
                                (have.empty() ? "nothing, there is none" : have);
  const Duration patience = options_.spec.limits.unplaceable;
  if (!unplaceable_since_) {
    unplaceable_since_ = now_;
    unplaceable_with_.clear();
  }
  if (now_ < *unplaceable_since_ + patience) {
    if (!have.empty() && have != unplaceable_with_) {
      out_.actions.push_back(Say{shortfall + "; waiting " +
                                 FormatDuration(*unplaceable_since_ + patience - now_) +
                                 " for a worker that can (limits.unplaceable)"});
    }
    unplaceable_with_ = have;
    return;
  }
  out_.actions.push_back(
      Say{shortfall + "; limits.unplaceable (" + FormatDuration(patience) + ") is over"});
  StopGiving(ExperimentStatus::kInterrupted);
}

void ExperimentController::FinishIfDone() {
  if (has_ended_ || leases_.running_count() > 0 || leases_.ahead_count() > 0) return;
  if (GivesOut() && (HasMoreToCreate() || !waiting_.empty())) return;
  has_ended_ = true;
  unplaceable_since_.reset();
  status_ = end_status_.value_or(ExperimentStatus::kFinished);
  out_.experiment = ExperimentRow{status_, samples_, now_};
  for (const WorkerView& view : leases_.Views()) {
    Send(view.worker, Shutdown{});
    Remove(view.worker, WorkerState::kLeft);
  }
  out_.actions.push_back(EndOfExperiment{status_});
}

// ---- the transition

void ExperimentController::Send(WorkerId worker, ToWorker message) {
  out_.actions.push_back(SendToWorker{worker, std::move(message)});
}

void ExperimentController::MarkChanged(const TrialRecord& trial) {
  changed_.insert(trial.row.number);
}

Transition ExperimentController::TakeTransition() {
  for (const TrialNumber number : created_) {
    const TrialRecord& trial = At(number);
    out_.new_trials.push_back(NewTrialRow{trial.row, trial.configuration});
    changed_.erase(number);
  }
  for (const TrialNumber number : changed_) out_.trials.push_back(At(number).row);
  created_.clear();
  changed_.clear();
  return std::exchange(out_, Transition{});
}

}  // namespace tune
