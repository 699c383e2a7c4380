// Giving out work: which trial next, on which worker, and when nothing is left to give.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "search/grid.h"
#include "search/trial_seed.h"
#include "tuner/experiment_controller.h"
#include "tuner/search_problem.h"

namespace tune {

// Trials whose wait is over can begin.
void ExperimentController::EndBackOffs() {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now_) {
    Move(At(backing_off_.begin()->second), TrialCause::kDue);
  }
}

// What a new trial needs.
ResourceRequest ExperimentController::Request() const {
  ResourceRequest request = options_.spec.resources;
  request.learned_gpu_memory_bytes = learned_gpu_memory_;
  return request;
}

ResourceRequest ExperimentController::RequestOf(const TrialRecord& trial) const {
  ResourceRequest request = Request();
  if (trial.on_whole_device) request.gpu_milli = std::max(request.gpu_milli, kWholeMilli);
  return request;
}

// A trial that backs off keeps its place under max_concurrent, so that with one place the order of
// the reports is that of a sweep in which nothing failed. One that needs more than the others is
// waited for, so that it gets its turn.
void ExperimentController::Fill() {
  if (!GivesOut() || is_paused_) return;
  while (held_.running_count() + backing_off_count() < max_concurrent_) {
    const std::optional<Turn> turn = NextTurn();
    if (!turn) break;
    TrialRecord* const trial = TakeTurn(*turn);
    if (trial == nullptr && !waiting_.empty()) continue;  // There is no new one after all.
    if (trial == nullptr) return;
    PinCheckpoint(*trial);
    const Fusion fusion = FusionFor(*trial);
    const std::vector<LeaseTable::Lease> ranks = cluster_.Grant(
        turn->request, turn->except, trial->row.number, AttemptNumber{trial->row.attempts + 1},
        fusion.lanes_max > 1 ? fusion.shape : "");
    TUNE_CHECK(!ranks.empty());
    for (const LeaseTable::Lease& rank : ranks) {
      held_.Add({rank.ref, rank.placement.worker, rank.rank});
    }
    trial->lease = ranks.front().ref;
    Move(*trial, TrialCause::kGrant);
    for (const LeaseTable::Lease& rank : ranks) SendStart(*trial, rank);
    std::vector<WorkerId> others;
    for (size_t i = 1; i < ranks.size(); ++i) others.push_back(ranks[i].placement.worker);
    BeginAttempt(*trial, ranks.front().placement.worker, std::move(others));
  }
  // With fewer places than before, those that become free are not taken over.
  if (held_.running_count() + backing_off_count() > max_concurrent_) return;
  const int64_t ahead_per_running = AheadPerRunning();
  const std::set<WorkerId> shunned = cluster_.Shunned(Request());
  while (const auto worker = cluster_.leases().RoomAhead(ahead_per_running, shunned)) {
    // It would take over the room of another.
    if (!waiting_.empty() && At(*waiting_.begin()).on_whole_device) return;
    TrialRecord* const trial = NextAheadOn(*worker);
    if (trial == nullptr) return;
    PinCheckpoint(*trial);
    trial->lease =
        cluster_.GrantAhead(*worker, trial->row.number, AttemptNumber{trial->row.attempts + 1});
    held_.Add({*trial->lease, *worker, 0, /*is_queued=*/true});
    Move(*trial, TrialCause::kGrantAhead);
    StartAttempt message = StartMessage(*trial, *worker);
    message.ahead = true;
    Send(*worker, std::move(message));
  }
}

// A scheduler that waits for trials which never come would wait for ever.
void ExperimentController::TellWhetherMoreCome() {
  if (!GivesOut() || HasMoreToCreate() || std::exchange(no_more_trials_said_, true)) return;
  SayIfExhausted();
  scheduler_->OnNoMoreTrials();
  FollowOrders();
  Fill();
}

// Fewer trials than were asked for: nothing new is left to try.
void ExperimentController::SayIfExhausted() {
  const auto count = [this](int64_t samples) {
    return TrialCountOf(options_.spec, options_.space, samples);
  };
  const bool is_short =
      samples_ >= 0 && trial_count_max_ == count(-1) && trial_count_max_ < samples_ * count(1);
  if (!space_exhausted_ && !is_short) return;
  const std::string after = Counted(static_cast<int64_t>(trials_.size()), "trial");
  // A space without an end of points is never exhausted, but its constraints may leave too little
  // of it to be found.
  const bool is_found_no_more = space_exhausted_ && !Grid::OfAll(options_.space).ok();
  out_.actions.push_back(Say{
      is_found_no_more
          ? "after " + after +
                " the search found no further configuration that satisfies the constraints; "
                "loosen them, or name configurations in points"
          : "the search space is exhausted after " + after + ": every configuration was tried"});
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
  List(trials_.back());
  FollowOrders();
  return &trials_.back();
}

// Leases ahead serve trials shorter than the wait for a commit. A searcher that learns is asked as
// late as possible. With one place at a time a failure must not let another trial go first. The
// ranks of a trial begin together or not at all.
int64_t ExperimentController::AheadPerRunning() const {
  if (options_.spec.resources.workers > 1) return 0;
  if (searcher_->LearnsFromResults() || !mean_attempt_ || max_concurrent_ == 1) return 0;
  const int64_t mean_us = std::max<int64_t>(mean_attempt_->us, 1);
  return std::min<int64_t>(limits::kAheadHorizonUs / mean_us, limits::kAheadPerSlotMax);
}

void ExperimentController::BeginAttempt(TrialRecord& trial, WorkerId worker,
                                        std::vector<WorkerId> other_workers) {
  TUNE_CHECK(trial.lease.has_value());
  ++trial.row.attempts;
  trial.last_answer = ReportAnswer::kContinue;
  if (!trial.row.started_at) trial.row.started_at = now_;
  trial.ranks_left = options_.spec.resources.workers;
  trial.rank_end.reset();
  trial.are_ranks_told_to_end = false;
  trial.attempt_iteration = trial.resume_iteration;
  trial.open_iteration = 0;
  trial.open_metrics.clear();
  trial.last_sequence = 0;
  trial.failed_on.reset();
  trial.progress_at = now_;
  trial.is_silence_said = false;
  trial.clock_shift = Duration{};
  trial.attempt = AttemptRow{};
  trial.attempt.trial = trial.row.number;
  trial.attempt.number = AttemptNumber{trial.row.attempts};
  trial.attempt.worker = worker;
  trial.attempt.other_workers = std::move(other_workers);
  trial.attempt.from_iteration = trial.resume_iteration;
  trial.attempt.started_at = now_;
  out_.attempts.push_back(trial.attempt);
  doubts_.OnAttemptBegun(trial);
  MarkChanged(trial);
  if (const auto limit = LimitOf(worker, trial)) limits_due_ = std::min(limits_due_, *limit);
}

// What it is told to go on from stays until its first report, or the lease's end: also if it is
// stopped before it has read it.
void ExperimentController::PinCheckpoint(const TrialRecord& trial) {
  if (trial.resume_path.empty()) return;
  retention_.Pin(trial.row.number, trial.resume_owner.value_or(trial.row.number),
                 trial.resume_path);
}

// A lease that begins at once.
void ExperimentController::SendStart(const TrialRecord& trial, const LeaseTable::Lease& lease) {
  const WorkerId worker = lease.placement.worker;
  StartAttempt message = StartMessage(trial, worker);
  message.ref = lease.ref;
  message.cpu_milli = lease.placement.cpu_milli;
  message.slices = lease.placement.slices;
  message.lanes_max = LanesMaxOf(trial, lease.placement);
  message.rank = lease.rank;
  message.world_size = options_.spec.resources.workers;
  if (message.world_size > 1) {
    const std::vector<SweepLease> ranks = held_.RanksOf(trial.row.number);
    message.is_spread = std::any_of(ranks.begin(), ranks.end(),
                                    [worker](const auto& rank) { return rank.worker != worker; });
  }
  if (message.is_spread && !std::exchange(said_spread_, true)) {
    out_.actions.push_back(
        Say{"ranks of one trial run on several workers: what goes between them is neither "
            "encrypted nor authenticated, as it would be between tuner and worker"});
  }
  Send(worker, std::move(message));
}

StartAttempt ExperimentController::StartMessage(const TrialRecord& trial, WorkerId worker) const {
  StartAttempt message;
  message.ref = *trial.lease;
  message.ends_seen = cluster_.leases().EndsSeen(worker);
  message.seed = TrialSeed(options_.seed, trial.row.number, RepeatCount(options_.spec.search));
  message.config = ToJson(trial.configuration.ToNested());
  message.from_iteration = trial.resume_iteration;
  message.artifact_dir = options_.artifact_root + "/" + std::to_string(trial.row.number.value);
  if (!trial.resume_path.empty()) {
    const TrialNumber owner = trial.resume_owner.value_or(trial.row.number);
    message.checkpoint_path =
        options_.artifact_root + "/" + std::to_string(owner.value) + "/" + trial.resume_path;
    message.has_other_config = trial.resume_has_other_config;
  }
  message.config_since = trial.config_since;
  message.checkpoint_every = options_.spec.checkpoint.every;
  message.saves_first = MayPauseAfter(trial, trial.resume_iteration);
  message.memory_bytes = options_.spec.resources.memory_bytes;
  return message;
}

// Of what is placed next: all others wait for it.
ResourceRequest ExperimentController::NextRequest() const {
  if (waiting_.empty()) return Request();
  return RequestOf(trials_[static_cast<size_t>(waiting_.begin()->value)]);
}

// Something waits, and no worker that is there could ever take it.
void ExperimentController::WatchForUnplaceable() {
  const ResourceRequest request = NextRequest();
  if (!GivesOut() || is_paused_ || (waiting_.empty() && !HasMoreToCreate()) ||
      cluster_.leases().CouldTake(request)) {
    unplaceable_since_.reset();
    return;
  }
  std::string have;
  for (const WorkerView& view : cluster_.leases().Views()) {
    if (view.is_draining) continue;
    have += (have.empty() ? "" : "; ") + DescribeCapacity(view.capacity);
  }
  const std::string shortfall =
      "no worker can take a trial: it needs " + DescribeRequest(request) +
      (have.empty() ? "; no worker is there" : "; the workers have " + have);
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
  out_.actions.push_back(Say{shortfall + "; the sweep ends after waiting " +
                             FormatDuration(patience) + " (limits.unplaceable)"});
  StopGiving(ExperimentStatus::kInterrupted);
}

void ExperimentController::FinishIfDone() {
  if (has_ended_ || held_.running_count() > 0 || held_.queued_count() > 0) return;
  const bool is_more = HasMoreToCreate() || !waiting_.empty() || !backing_off_.empty();
  if (GivesOut() && (is_more || WaitsForPerson())) return;
  // What a scheduler paused and never took up again stays PAUSED: when the sweep is extended, it
  // may be.
  has_ended_ = true;
  unplaceable_since_.reset();
  status_ = end_status_.value_or(ExperimentStatus::kFinished);
  out_.experiment = ExperimentRow{status_, samples_, now_};
  for (const WorkerView& view : cluster_.leases().Views()) {
    Send(view.worker, Shutdown{"", status_ == ExperimentStatus::kInterrupted});
    Heed(cluster_.Remove(view.worker, WorkerState::kLeft, "the sweep ended", now_));
  }
  out_.actions.push_back(EndOfExperiment{status_});
}

// Nothing is left but trials that somebody paused by command. Says so, once.
bool ExperimentController::WaitsForPerson() {
  std::string names;
  for (const TrialNumber number : paused_) {
    if (!At(number).held_by_command) continue;
    names += (names.empty() ? "" : ", ") + std::to_string(number.value);
  }
  if (names.empty()) return false;
  if (!std::exchange(is_waiting_said_, true)) {
    out_.actions.push_back(Say{"only paused trials are left (" + names +
                               "): tune unpause lets them go on, tune stop ends the sweep"});
  }
  return true;
}

}  // namespace tune
