#include "tuner/experiment_controller.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {

ExperimentController::ExperimentController(ControllerOptions options,
                                           std::unique_ptr<Searcher> searcher,
                                           std::unique_ptr<TrialScheduler> scheduler)
    : cluster_(out_), sweep_(std::move(options), std::move(searcher), std::move(scheduler), out_) {}

Transition ExperimentController::Apply(const std::vector<Event>& events, Instant now) {
  SetNow(now);
  for (const Event& event : events) {
    std::visit([this](const auto& e) { On(e); }, event);
    Settle();
  }
  // One after the other: the end of one's trials may end the sweep, and with it the wait for the
  // others.
  while (auto notices = cluster_.EndOverdue(now_)) Heed(*std::move(notices));
  Tell(TimeLimitsChecked{});
  Settle();
  Fill();
  if (Tell(NoMoreTold{}).is_news) Fill();
  WatchForUnplaceable();
  EndStep();
  sweep_.CheckInvariants();
  if (const char* const broken = cluster_.BrokenInvariant()) {
    CheckFailed(__FILE__, __LINE__, broken);
  }
  cluster_.AcknowledgeEnds();
  sweep_.Conclude();
  return std::exchange(out_, Transition{});
}

SweepAnswer ExperimentController::Tell(SweepEvent event) {
  SweepAnswer answer = sweep_.Apply(event);
  // What is looked at in every step, and changes nothing in most.
  const bool is_look =
      std::holds_alternative<NoMoreTold>(event) || std::holds_alternative<PlaceableSeen>(event);
  if (!is_look || answer.is_news) out_.stream.push_back(std::move(event));
  return answer;
}

Transition ExperimentController::Follow(const std::vector<SweepEvent>& stream) {
  for (const SweepEvent& event : stream) {
    if (const auto* const time = std::get_if<TimeSet>(&event)) now_ = time->at;
    sweep_.Apply(event);
    sweep_.TakeWishes();  // They were heard.
  }
  sweep_.CheckInvariants();
  sweep_.Conclude();
  return std::exchange(out_, Transition{});
}

Status ExperimentController::RestoreCluster(const std::vector<WorkerRow>& workers) {
  std::set<WorkerId> may_queue;
  for (const WorkerRow& row : workers) {
    if (sweep_.MayQueue(row.capacity)) may_queue.insert(row.worker);
  }
  return cluster_.Restore(workers, may_queue, sweep_.leases().All());
}

void ExperimentController::SetNow(Instant now) {
  now_ = now;
  Tell(TimeSet{now});
}

std::optional<Instant> ExperimentController::NextDeadline() const {
  if (sweep_.has_ended()) return std::nullopt;
  const std::optional<Instant> next = sweep_.NextDeadline();
  const std::optional<Instant> back = cluster_.NextReturn();
  return next && back ? std::min(*next, *back) : next ? next : back;
}

// ---- events that are the cluster's, or of both

void ExperimentController::On(const WorkerJoined& event) {
  for (const std::string& session : event.ended_sessions) {
    if (session == event.session) continue;
    while (auto notices = cluster_.EndFormer(session, now_)) Heed(*std::move(notices));
  }
  Heed(cluster_.Join(event, sweep_.WelcomeMessage(), sweep_.MayQueue(event.capacity), now_));
  if (sweep_.has_ended()) {
    Send(event.worker, Shutdown{"", sweep_.status() == ExperimentStatus::kInterrupted});
  }
}

void ExperimentController::On(const WorkerGone& event) {
  Heed(cluster_.Leave(event, !sweep_.is_ending(), lease(), now_));
}

void ExperimentController::On(const ReportArrived& event) {
  if (!sweep_.Knows(event)) {
    if (!leases().HasWorker(event.worker)) return;
    const AttemptReport& message = event.message;
    Send(event.worker, AnswerReport{message.ref, message.sequence, ReportAnswer::kRefused});
    return;
  }
  const Neighbours beside =
      sweep_.MeasuresLanes() ? cluster_.BesideFirstRankOf(event.message.ref) : Neighbours{};
  if (Tell(Reported{event, beside}).is_news) cluster_.NoteReport(event.worker);
}

void ExperimentController::On(const AttemptFinished& event) {
  const LeaseTable::Ended ended = cluster_.End(event.worker, event.message.ref);
  if (!ended.known) return;
  if (sweep_.IsUnasked(event.message)) {
    // The worker is about to leave.
    cluster_.Drain(event.worker, now_);
  }
  Tell(LeaseEnded{event.worker, event.message, ended.was_running,
                  ended.begun ? std::optional(ended.begun->ref) : std::nullopt, CouldHaveWhole()});
}

void ExperimentController::On(const TunerRestarted& event) {
  const bool was_stopped = Tell(LifeEnded{}).is_news;
  // Fenced: whatever still runs under a lease of the earlier life has no effect any more, and ended
  // with that life: the time since is none of its trial's. Only workers that can find this tuner
  // may come back with theirs.
  const Instant now = now_;
  SetNow(sweep_.last_active());
  for (const WorkerView& view : leases().Views()) {
    // The end of another's trials may have ended the sweep, and the wait for this one.
    if (!leases().HasWorker(view.worker)) continue;
    const bool may_come_back = event.listens && !cluster_.workers().At(view.worker).row.is_local &&
                               leases().HoldsAny(view.worker);
    if (may_come_back) continue;
    Heed(cluster_.Remove(view.worker, WorkerState::kLost, "the tuner ended", now_));
  }
  SetNow(now);
  Tell(LifeBegan{});
  for (const WorkerView& view : leases().Views()) {
    Heed(cluster_.SetAway(view.worker, lease(), now_));
  }
  Tell(WentOn{was_stopped});
}

// Nobody else was silent while we did not run.
void ExperimentController::On(const TunerSlept& event) {
  Tell(event);
  cluster_.PutOffReturns(event.duration);
}

void ExperimentController::On(const WorkerDrainRequested& event) {
  if (!leases().HasWorker(event.worker) || leases().IsAway(event.worker)) return;
  cluster_.Drain(event.worker, now_);
  Send(event.worker, Shutdown{"tune drain"});
}

void ExperimentController::On(const DeviceFellAway& event) { cluster_.LoseDevice(event, now_); }

void ExperimentController::On(const DeviceMemorySeen& event) {
  const auto next = sweep_.LearnedRequest(event, cluster_.LargestDeviceMemory());
  // It ran: ranks that could not all be had with so much go on with their shares' parts. A worker
  // that is away may be one of those that are here, started anew.
  if (!next || !leases().CouldPresentTake(*next)) return;
  const int64_t bytes = event.message.bytes;
  Tell(MemoryLearned{*next, bytes, cluster_.IsBeyondShare(WithMargin(bytes), sweep_.Request())});
}

// ---- what one machine says to the other

// Who holds what is booked at once; what a notice leads to comes in order, behind those before it.
void ExperimentController::Queue(Notices notices) {
  for (const Notice& notice : notices) Tell(NoticeBooked{notice});
  notices_.insert(notices_.begin(), std::make_move_iterator(notices.begin()),
                  std::make_move_iterator(notices.end()));
}

void ExperimentController::Obey(const std::vector<Wish>& wishes) {
  for (const Wish& wish : wishes) {
    if (const auto* const end = std::get_if<EndLeasesAway>(&wish)) {
      Queue(cluster_.EndAway(end->why, now_));
    } else {
      cluster_.NoteFailedStart(std::get<NoteFailedStart>(wish).worker);
    }
  }
}

// What the sweep wishes comes before what else it was to be told.
void ExperimentController::Settle() {
  Obey(sweep_.TakeWishes());
  while (!notices_.empty()) {
    const Notice notice = std::move(notices_.front());
    notices_.pop_front();
    Deliver(notice);
    Obey(sweep_.TakeWishes());
  }
}

void ExperimentController::Heed(Notices notices) {
  Queue(std::move(notices));
  Settle();
}

void ExperimentController::Deliver(const Notice& notice) {
  if (const auto* const lost = std::get_if<LeaseLost>(&notice)) {
    Tell(NoticeHeeded{LeaseLost{lost->ref, lost->why, CouldHaveWhole()}});
    return;
  }
  if (const auto* const left = std::get_if<WorkerLeft>(&notice)) SayWhoLeft(*left);
  Tell(NoticeHeeded{notice});
}

// A worker that is away may be one of those that are here, started anew.
bool ExperimentController::CouldHaveWhole() const {
  const std::optional<ResourceRequest> request = sweep_.WholeDevices();
  return request && leases().CouldPresentTake(*request);
}

void ExperimentController::SayWhoLeft(const WorkerLeft& notice) {
  if (!sweep_.GivesOut()) return;
  out_.actions.push_back(
      Say{"worker " + notice.name + notice.news +
          (cluster_.IsEmpty() ? "; there is no other, waiting " +
                                    FormatDuration(options().spec.limits.unplaceable) +
                                    " for one (limits.unplaceable)"
                              : "")});
}

// ---- giving out work

// What was learned while a worker was there that is gone: as in On(DeviceMemorySeen), ranks that
// cannot all be had with so much go on with their shares' parts. A trial of one rank waits: it
// would find no memory.
void ExperimentController::ForgetWhatNobodyHas() {
  ResourceRequest request = sweep_.Request();
  const bool is_learned = request.workers > 1 && request.learned_gpu_memory_bytes > 0;
  if (!is_learned || leases().CouldTake(request)) return;
  request.learned_gpu_memory_bytes = 0;
  if (leases().CouldPresentTake(request))
    Tell(MemoryLearned{request, 0, /*is_beyond_share=*/false});
}

void ExperimentController::Fill() {
  ForgetWhatNobodyHas();
  while (sweep_.HasPlace()) {
    const std::vector<Want> wants = sweep_.Wants();
    const std::optional<Choice> choice = cluster_.Choose(wants, sweep_.Request());
    if (!choice) break;
    const Want& want = wants[choice->want];
    const std::optional<Candidate> candidate = Tell(TrialTaken{want.waiting}).candidate;
    if (!candidate && sweep_.IsAnyWaiting()) continue;  // There is no new one after all.
    if (!candidate) return;
    Tell(Granted{candidate->trial, cluster_.Grant(want, *choice, *candidate)});
  }
  FillAhead();
}

void ExperimentController::FillAhead() {
  const int64_t ahead_per_running = sweep_.AheadPerRunning();
  while (sweep_.HasPlaceAhead()) {
    const std::optional<WorkerId> worker = cluster_.RoomAhead(ahead_per_running, sweep_.Request());
    if (!worker) return;
    const std::vector<Want> wants = sweep_.Wants();
    const std::optional<size_t> choice = cluster_.ChooseAhead(wants, *worker);
    if (!choice) return;
    const std::optional<Candidate> candidate = Tell(TrialTaken{wants[*choice].waiting}).candidate;
    if (!candidate) return;
    Tell(GrantedAhead{cluster_.GrantAhead(*worker, *candidate)});
  }
}

void ExperimentController::WatchForUnplaceable() {
  const std::optional<ResourceRequest> request = sweep_.Unplaced();
  const bool is_placeable = !request || leases().CouldTake(*request);
  Tell(PlaceableSeen{is_placeable, is_placeable ? "" : cluster_.Capacities()});
  Settle();
}

void ExperimentController::EndStep() {
  if (!Tell(StepEnded{}).is_news) return;
  for (const WorkerView& view : leases().Views()) {
    Send(view.worker, Shutdown{"", sweep_.status() == ExperimentStatus::kInterrupted});
    Heed(cluster_.Remove(view.worker, WorkerState::kLeft, "the sweep ended", now_));
  }
  out_.actions.push_back(EndOfExperiment{sweep_.status()});
}

// ---- what a watcher is shown

bool ExperimentController::HasLocalWorker() const {
  const std::vector<WorkerView> views = leases().Views();
  return std::any_of(views.begin(), views.end(), [this](const WorkerView& view) {
    return cluster_.workers().At(view.worker).row.is_local;
  });
}

std::string ExperimentController::WorkerName(WorkerId worker) const {
  return cluster_.workers().NameOf(worker);
}

std::optional<std::string> ExperimentController::BrokenInvariant() const {
  if (auto broken = sweep_.BrokenInvariant()) return broken;
  if (sweep_.leases().running_count() != leases().running_count() ||
      sweep_.leases().queued_count() != leases().ahead_count()) {
    return "the workers hold another number of leases than the trials";
  }
  if (const char* const broken = cluster_.BrokenInvariant()) return broken;
  return std::nullopt;
}

void ExperimentController::Send(WorkerId worker, ToWorker message) {
  out_.actions.push_back(SendToWorker{worker, std::move(message)});
}

}  // namespace tune
