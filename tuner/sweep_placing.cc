// Giving out work: which trial next, on which worker, and when nothing is left to give.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "search/grid.h"
#include "search/trial_seed.h"
#include "tuner/search_problem.h"
#include "tuner/sweep.h"

namespace tune {
namespace {

RankGroup RankGroupOf(const LeaseTable::Lease& lease, const TrialRecord& trial,
                      const SweepLeases& held, uint64_t seed) {
  std::vector<PlacedRank> ranks;
  for (const SweepLease& other : held.RanksOf(trial.row.number)) {
    ranks.push_back({other.rank, held.PlacementOf(other.ref)});
  }
  RankGroup group = GroupOf(lease.rank, std::move(ranks));
  if (group.node_count > 1) group.master_address = trial.ranks_meet_at;
  group.master_port = MasterPort(seed, trial.row.number, trial.lease->epoch);
  return group;
}

}  // namespace

// Trials whose wait is over can begin.
void Sweep::EndBackOffs() {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now_) {
    Move(At(backing_off_.begin()->second), TrialCause::kDue);
  }
}

// What a new trial needs.
ResourceRequest Sweep::Request() const {
  ResourceRequest request = options_.spec.resources;
  request.learned_gpu_memory_bytes = learned_gpu_memory_;
  return request;
}

ResourceRequest Sweep::RequestOf(const TrialRecord& trial) const {
  ResourceRequest request = Request();
  if (trial.on_whole_device) request.gpu_milli = std::max(request.gpu_milli, kWholeMilli);
  return request;
}

std::optional<ResourceRequest> Sweep::WholeDevices() const {
  ResourceRequest request = Request();
  const bool is_share = request.gpu_milli > 0 && request.gpu_milli < kWholeMilli;
  if (request.workers == 1 || !is_share) return std::nullopt;
  request.gpu_milli = kWholeMilli;
  return request;
}

// A trial that backs off keeps its place under max_concurrent, so that with one place the order of
// the reports is that of a sweep in which nothing failed.
bool Sweep::HasPlace() const {
  return GivesOut() && !is_paused_ && held_.running_count() + backing_off_count() < max_concurrent_;
}

// With fewer places than before, those that become free are not taken over. A trial that waits for
// a whole device would lose the room that it waits for.
bool Sweep::HasPlaceAhead() const {
  return GivesOut() && !is_paused_ &&
         held_.running_count() + backing_off_count() <= max_concurrent_ &&
         (waiting_.empty() || !At(*waiting_.begin()).on_whole_device);
}

void Sweep::On(const Granted& event) {
  const std::vector<GrantedRank>& ranks = event.ranks;
  TrialRecord& trial = At(event.trial);
  TUNE_CHECK(!ranks.empty());
  std::vector<WorkerId> workers;
  for (const GrantedRank& rank : ranks) {
    workers.push_back(rank.lease.placement.worker);
    held_.Add(rank.lease);
  }
  trial.lease = ranks.front().lease.ref;
  trial.ranks_meet_at = ranks.front().address;
  Move(trial, TrialCause::kGrant);
  for (const GrantedRank& rank : ranks) SendStart(trial, rank);
  BeginAttempt(trial, workers.front(), {workers.begin() + 1, workers.end()});
}

void Sweep::On(const GrantedAhead& event) {
  const LeaseTable::Lease& lease = event.rank.lease;
  TrialRecord& trial = At(lease.ref.trial);
  const WorkerId worker = lease.placement.worker;
  trial.lease = lease.ref;
  held_.Add(lease, /*is_queued=*/true);
  Move(trial, TrialCause::kGrantAhead);
  StartAttempt message = StartMessage(trial, event.rank.ends_seen);
  message.ahead = true;
  Send(worker, std::move(message));
}

// A scheduler that waits for trials which never come would wait for ever.
void Sweep::On(const NoMoreTold&) {
  if (!GivesOut() || HasMoreToCreate() || std::exchange(no_more_trials_said_, true)) return;
  SayIfExhausted();
  scheduler_->OnNoMoreTrials();
  FollowOrders();
  answer_.is_news = true;
}

// Fewer trials than were asked for: nothing new is left to try.
void Sweep::SayIfExhausted() {
  if (gain_.is_over()) return;  // It ends for another reason, which was said.
  const auto count = [this](int64_t samples) {
    return TrialCountOf(options_.spec, options_.space, samples, options_.decision_version);
  };
  const bool is_short =
      samples_ >= 0 && trial_count_max_ == count(-1) && trial_count_max_ < samples_ * count(1);
  if (!space_exhausted_ && !is_short) return;
  const std::string after = Counted(static_cast<int64_t>(trials_.size()), "trial");
  // A space without an end of points is never exhausted, but its constraints may leave too little
  // of it to be found.
  const bool is_found_no_more = space_exhausted_ && !Grid::OfAll(options_.space).ok();
  if (is_found_no_more) {
    return EndEarly("after " + after +
                        " the search found no further configuration that satisfies the constraints",
                    "loosen them, or name configurations in points");
  }
  EndEarly("the search space is exhausted after " + after + ": every configuration was tried", "");
}

// For who watches, and for who asks later.
void Sweep::EndEarly(std::string why, const std::string& remedy) {
  out_.actions.push_back(Say{why + (remedy.empty() ? "" : "; " + remedy)});
  ended_early_ = std::move(why);
}

// By `until: {regret: ...}`.
bool Sweep::HasFoundEnough() {
  const std::optional<double>& most = options_.spec.regret_max;
  if (!most || !gain_.heeds_regret()) return false;
  const std::optional<double> expected = searcher_->RemainingRegret();
  if (!expected || !(*expected < *most)) return false;
  EndByRegret();
  answer_.none_made = NoneMade::kRegret;
  return true;
}

void Sweep::EndByRegret() {
  gain_.OnRegretMet();
  EndEarly(
      "until.regret: the best configuration of the space is expected to be better than the best "
      "trial by less than " +
          ToJson(Value(*options_.spec.regret_max)),
      GainWatch::HowToGoOn(options_.name, samples_));
}

// In its own life no trial was made here. Why is not asked again: what a model expects may differ
// in its last bits on another machine, or in another build.
void Sweep::FollowNoneMade(NoneMade why) {
  if (why == NoneMade::kRegret && options_.spec.regret_max && gain_.heeds_regret()) {
    EndByRegret();
  } else {
    space_exhausted_ = true;
  }
}

TrialRecord* Sweep::CreateTrial() {
  const TrialNumber number{static_cast<int64_t>(trials_.size())};
  if (!HasMoreToCreate()) return nullptr;
  // Streams of older builds do not say where none was made, and the number may be a later trial's.
  if (options_.decision_version < 15 && HasFoundEnough()) return nullptr;
  TrialRecord trial;
  if (const auto known = suggestions_.find(number); known != suggestions_.end()) {
    trial.configuration = known->second;
    searcher_->Restore(number, trial.configuration);
  } else {
    if (HasFoundEnough()) return nullptr;
    std::optional<Configuration> suggestion = searcher_->Suggest(number);
    if (std::string news = searcher_->TakeNews(); !news.empty()) {
      out_.actions.push_back(Say{std::move(news)});
    }
    if (!suggestion) {
      space_exhausted_ = true;
      answer_.none_made = NoneMade::kExhausted;
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
int64_t Sweep::AheadPerRunning() const {
  if (options_.spec.resources.workers > 1) return 0;
  if (searcher_->LearnsFromResults() || !mean_attempt_ || max_concurrent_ == 1) return 0;
  const int64_t mean_us = std::max<int64_t>(mean_attempt_->us, 1);
  return std::min<int64_t>(limits::kAheadHorizonUs / mean_us, limits::kAheadPerSlotMax);
}

void Sweep::BeginAttempt(TrialRecord& trial, WorkerId worker, std::vector<WorkerId> other_workers) {
  TUNE_CHECK(trial.lease.has_value());
  ++trial.row.attempts;
  trial.last_answer = ReportAnswer::kContinue;
  if (!trial.row.started_at) trial.row.started_at = now_;
  trial.ranks_left = options_.spec.resources.workers;
  trial.rank_end.reset();
  trial.ranks_told.reset();
  trial.attempt_iteration = trial.resume_iteration;
  trial.open_iteration = 0;
  trial.open_metrics.clear();
  trial.last_sequence = 0;
  if (options_.decision_version >= 14) trial.reports_without_metric = 0;
  trial.failed_on.reset();
  trial.progress_at = now_;
  trial.is_silence_said = false;
  LookForSilenceAfter(paces_.first.patience());
  trial.clock_shift = Duration{};
  trial.attempt = AttemptRow{};
  trial.attempt.trial = trial.row.number;
  trial.attempt.number = AttemptNumber{trial.row.attempts};
  trial.attempt.worker = worker;
  trial.attempt.other_workers = std::move(other_workers);
  for (const SweepLease& rank : held_.RanksOf(trial.row.number)) {
    for (const DeviceSlice& slice : held_.PlacementOf(rank.ref).slices) {
      trial.attempt.devices.emplace_back(rank.worker, slice);
    }
  }
  trial.attempt.from_iteration = trial.resume_iteration;
  trial.attempt.started_at = now_;
  out_.attempts.push_back(trial.attempt);
  doubts_.OnAttemptBegun(trial);
  MarkChanged(trial);
  if (const auto limit = LimitOf(worker, trial)) limits_due_ = std::min(limits_due_, *limit);
}

// What it is told to go on from stays until its first report, or the lease's end: also if it is
// stopped before it has read it.
void Sweep::PinCheckpoint(const TrialRecord& trial) {
  if (trial.resume_path.empty()) return;
  retention_.Pin(trial.row.number, trial.resume_owner.value_or(trial.row.number),
                 trial.resume_path);
}

// A lease that begins at once.
void Sweep::SendStart(const TrialRecord& trial, const GrantedRank& rank) {
  const LeaseTable::Lease& lease = rank.lease;
  const WorkerId worker = lease.placement.worker;
  StartAttempt message = StartMessage(trial, rank.ends_seen);
  message.ref = lease.ref;
  message.cpu_milli = lease.placement.cpu_milli;
  message.slices = lease.placement.slices;
  message.lanes_max = LanesMaxOf(trial, rank.device);
  message.rank = lease.rank;
  // Not what a setting may have made of it since.
  message.world_size = static_cast<int64_t>(held_.RanksOf(trial.row.number).size());
  if (message.world_size > 1) {
    message.group = RankGroupOf(lease, trial, held_, options_.seed);
    message.is_spread = message.group.node_count > 1;
  }
  if (message.is_spread && !std::exchange(said_spread_, true)) {
    out_.actions.push_back(
        Say{"ranks of one trial run on several workers: what goes between them is neither "
            "encrypted nor authenticated, as it would be between tuner and worker"});
  }
  Send(worker, std::move(message));
}

StartAttempt Sweep::StartMessage(const TrialRecord& trial, int64_t ends_seen) const {
  StartAttempt message;
  message.ref = *trial.lease;
  message.ends_seen = ends_seen;
  message.seed = TrialSeed(options_.seed, trial.row.number, RepeatCount(options_.spec.search));
  message.config = ToJson(trial.configuration.ToNested());
  message.from_iteration = trial.resume_iteration;
  message.artifact_dir = options_.artifact_root + "/" + std::to_string(trial.row.number.value);
  if (!trial.resume_path.empty()) {
    const TrialNumber owner = trial.resume_owner.value_or(trial.row.number);
    message.checkpoint_path =
        options_.checkpoint_root() + "/" + std::to_string(owner.value) + "/" + trial.resume_path;
    message.has_other_config = trial.resume_has_other_config;
  }
  message.config_since = trial.config_since;
  message.checkpoint_every = options_.spec.checkpoint.every;
  message.saves_first = MayPauseAfter(trial, trial.resume_iteration);
  message.memory_bytes = options_.spec.resources.memory_bytes;
  return message;
}

// All others wait for it.
std::optional<ResourceRequest> Sweep::Unplaced() const {
  if (!GivesOut() || is_paused_ || (waiting_.empty() && !HasMoreToCreate())) return std::nullopt;
  if (waiting_.empty()) return Request();
  return RequestOf(At(*waiting_.begin()));
}

namespace {

// limits.unplaceable is in its space file; what is not said is the default.
bool SaysHowLongToWait(const ExperimentSpec& spec) {
  if (!spec.document.is_map()) return false;
  const Value* const limits = spec.document.Find("limits");
  return limits != nullptr && limits->is_map() && limits->Find("unplaceable") != nullptr;
}

}  // namespace

// `have`: what the workers have, where none of them could ever take what is placed next.
void Sweep::On(const PlaceableSeen& event) {
  const std::string& have = event.have;
  const std::optional<ResourceRequest> request = Unplaced();
  const bool is_placeable = event.is_placeable || !request;
  answer_.is_news = !is_placeable || unplaceable_since_.has_value();
  if (is_placeable) {
    unplaceable_since_.reset();
    return;
  }
  const std::string shortfall =
      "no worker can take a trial: it needs " + DescribeRequest(*request) +
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
  if (SaysHowLongToWait(options_.spec)) {
    given_up_ = "no worker could take " + DescribeRequest(*request) + " for " +
                FormatDuration(patience) + " (limits.unplaceable)";
  }
  StopGiving(ExperimentStatus::kInterrupted);
}

void Sweep::On(const StepEnded&) {
  MeetDiskBudget();
  if (has_ended_ || held_.running_count() > 0 || held_.queued_count() > 0) return;
  const bool is_more = HasMoreToCreate() || !waiting_.empty() || !backing_off_.empty();
  if (GivesOut() && (is_more || WaitsForPerson())) return;
  // What a scheduler paused and never took up again stays PAUSED: when the sweep is extended, it
  // may be.
  has_ended_ = true;
  unplaceable_since_.reset();
  status_ = end_status_.value_or(ExperimentStatus::kFinished);
  const bool was_cut_off = status_ == ExperimentStatus::kInterrupted;
  out_.experiment =
      ExperimentRow{status_, samples_, now_, given_up_, was_cut_off ? "" : ended_early_};
  answer_.is_news = true;
}

// Nothing is left but trials that somebody paused by command. Says so, once.
bool Sweep::WaitsForPerson() {
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
