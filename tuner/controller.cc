#include "tuner/controller.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/limits.h"

namespace tune {
namespace {

// Of a head, where no sweep says another one.
constexpr Duration kLease = Seconds(60);
// Of the sweeps that a worker is told of when it joins: half of what one message may hold.
constexpr size_t kIntroducedBytesMax = limits::kMessageBytesMax / 2;

// Not less than it has on the wire.
size_t BytesOf(const SweepInfo& info) {
  constexpr size_t kNamesBytes = 8 << 10;
  size_t bytes = kNamesBytes + info.trainable.size();
  for (const DataSeen& data : info.data) bytes += data.url.size() + data.hash.size() + 64;
  return bytes;
}

}  // namespace

OpenSweep& Controller::Enlist(ExperimentId id, ControllerOptions options,
                              std::unique_ptr<Searcher> searcher,
                              std::unique_ptr<TrialScheduler> scheduler) {
  auto& sweeps = board_.sweeps();
  const auto [entry, is_new] =
      sweeps.try_emplace(id, id, std::move(options), std::move(searcher), std::move(scheduler));
  TUNE_CHECK(is_new);
  OpenSweep& open = entry->second;
  if (!options_.ends_with_sweeps) {
    open.is_new = !cluster().IsEmpty();
    return open;
  }
  for (const auto& [worker, record] : cluster().workers().all()) {
    if (cluster().leases().HasWorker(worker)) open.out.workers.push_back(record.row);
  }
  return open;
}

void Controller::NoteRows(ExperimentId id, const std::vector<WorkerRow>& rows) {
  if (options_.ends_with_sweeps) return;
  OpenSweep& open = At(id);
  for (const WorkerRow& row : rows) {
    open.has_rows_of.insert(row.worker);
    if (!cluster().workers().Has(row.worker)) continue;  // Yet, or any more.
    // A sweep of another tuner may have another worker of that number.
    const WorkerRow& known = cluster().workers().At(row.worker).row;
    const bool is_same = known.joined_at == row.joined_at && known.session == row.session;
    if (is_same || cluster().leases().HasWorker(row.worker)) open.out.workers.push_back(known);
  }
}

void Controller::Release(ExperimentId id) {
  TUNE_CHECK(At(id).sweep.has_ended());
  board_.sweeps().erase(id);
}

HeadTransition Controller::Apply(const std::vector<HeadEvent>& events, Instant now) {
  board_.Begin(now);
  for (const HeadEvent& event : events) {
    addressed_ = event.sweep;
    std::visit([this](const auto& e) { On(e); }, event.event);
    board_.Settle();
  }
  // One after the other: the end of one's trials may end a sweep, and with it the wait for the
  // others.
  while (auto notices = board_.cluster().EndOverdue(now)) board_.Heed(*std::move(notices));
  CheckLimits();
  giver_.Fill();
  bool is_news = false;
  for (auto& [id, sweep] : board_.sweeps()) {
    if (sweep.is_touched) is_news |= board_.Tell(sweep, NoMoreTold{}).is_news;
  }
  if (is_news) giver_.Fill();
  giver_.LookAtWaiting();
  EndStep();
  if (const char* const broken = cluster().BrokenInvariant()) {
    CheckFailed(__FILE__, __LINE__, broken);
  }
  board_.cluster().AcknowledgeEnds();
  return board_.End();
}

void Controller::CheckLimits() {
  for (auto& [id, sweep] : board_.sweeps()) {
    const std::optional<Instant> due = sweep.sweep.NextDeadline();
    if (!sweep.is_touched && (!due || board_.now() < *due)) continue;
    board_.Tell(sweep, TimeLimitsChecked{});
    board_.Settle();
  }
}

std::optional<Instant> Controller::NextDeadline() const {
  std::optional<Instant> next;
  const auto take = [&next](const std::optional<Instant>& due) {
    if (due && (!next || *due < *next)) next = due;
  };
  if (HasEnded()) return next;
  for (const auto& [id, open] : sweeps()) {
    if (!open.sweep.has_ended()) take(open.sweep.NextDeadline());
  }
  take(cluster().NextReturn());
  take(giver_.NextDeadline());
  return next;
}

Duration Controller::lease() const {
  if (options_.lease) return *options_.lease;
  return sweeps().size() == 1 ? sweeps().begin()->second.sweep.lease() : kLease;
}

// Three that are missing are a quarter of the lease: time enough to connect again.
Duration Controller::heartbeat() const {
  return Milliseconds(std::min(limits::kHeartbeatMs, lease().us / 1000 / 12));
}

// ---- what was committed before

Transition Controller::Follow(ExperimentId id, const std::vector<SweepEvent>& stream) {
  OpenSweep& open = At(id);
  for (const SweepEvent& event : stream) {
    open.sweep.Apply(event);
    open.sweep.TakeWishes();  // They were heard.
  }
  open.sweep.CheckInvariants();
  open.sweep.Conclude();
  Transition rows = std::exchange(open.out, Transition{});
  // Of the workers that were there when it was enlisted: its next step writes them.
  std::swap(open.out.workers, rows.workers);
  return rows;
}

Status Controller::RestoreCluster(const std::vector<WorkerRow>& workers) {
  std::set<WorkerId> may_queue;
  for (const WorkerRow& row : workers) {
    if (MayQueue(row.capacity)) may_queue.insert(row.worker);
  }
  Holdings held;
  for (const auto& [id, open] : sweeps()) {
    Holdings of_sweep = open.sweep.leases().All();
    held.last_epoch = std::max(held.last_epoch, of_sweep.last_epoch);
    for (HeldLease& one : of_sweep.leases) {
      one.lease.ref = open.Marked(one.lease.ref);
      held.leases.push_back(std::move(one));
    }
  }
  std::stable_sort(
      held.leases.begin(), held.leases.end(),
      [](const HeldLease& a, const HeldLease& b) { return a.lease.ref.epoch < b.lease.ref.epoch; });
  return board_.cluster().Restore(workers, may_queue, held);
}

// ---- events

std::vector<OpenSweep*> Controller::Addressed() {
  std::vector<OpenSweep*> sweeps;
  for (auto& [id, open] : board_.sweeps()) {
    if (addressed_ == ExperimentId{} || addressed_ == id) sweeps.push_back(&open);
  }
  return sweeps;
}

// Leases ahead. Several sweeps have no queues; one may come to a sweep that has one, so it is the
// worker alone that decides.
bool Controller::MayQueue(const WorkerCapacity& capacity) const {
  if (options_.ends_with_sweeps && sweeps().size() == 1) {
    return sweeps().begin()->second.sweep.MayQueue(capacity);
  }
  return std::all_of(capacity.devices.begin(), capacity.devices.end(),
                     [](const Device& device) { return device.uuid.empty(); });
}

bool Controller::HasEnded() const {
  return options_.ends_with_sweeps && !sweeps().empty() &&
         std::all_of(sweeps().begin(), sweeps().end(),
                     [](const auto& entry) { return entry.second.sweep.has_ended(); });
}

// A journal of the oldest version may have the events of workers, which lead to what they led to.
bool Controller::RemembersDrains() const {
  return std::none_of(sweeps().begin(), sweeps().end(), [](const auto& entry) {
    return entry.second.sweep.options().decision_version == kOldestDecisionVersion;
  });
}

// All that the worker holds attempts of, or that have any, which may be sent to it again. Of the
// others as many as go into one message: a head may have thousands that wait, and a worker is told
// of a sweep before its first attempt at the latest.
std::vector<SweepInfo> Controller::IntroduceTo(const WorkerJoined& event) {
  std::vector<SweepInfo> infos;
  size_t bytes = 0;
  for (auto& [id, open] : board_.sweeps()) {
    const bool is_held =
        std::any_of(event.held.begin(), event.held.end(),
                    [id = id](const HeldAttempt& held) { return held.ref.sweep == id; });
    const SweepLeases& leases = open.sweep.leases();
    const bool is_needed = options_.ends_with_sweeps || is_held || leases.running_count() > 0 ||
                           leases.queued_count() > 0;
    const size_t its_bytes = BytesOf(open.sweep.Info());
    if (!is_needed && bytes + its_bytes > kIntroducedBytesMax) continue;
    bytes += its_bytes;
    infos.push_back(open.Introduce(event.worker));
  }
  return infos;
}

void Controller::On(const WorkerJoined& event) {
  for (const std::string& session : event.ended_sessions) {
    if (session == event.session) continue;
    while (auto notices = board_.cluster().EndFormer(session, board_.now())) {
      board_.Heed(*std::move(notices));
    }
  }
  Welcome welcome{
      event.worker, heartbeat().us / 1000, lease().us / 1000, {}, !options_.ends_with_sweeps};
  welcome.sweeps = IntroduceTo(event);
  // What it has of others is over: it ends that unasked, and says nothing of it.
  WorkerJoined joined = event;
  std::erase_if(joined.held,
                [this](const HeldAttempt& held) { return board_.Find(held.ref.sweep) == nullptr; });
  const bool is_to_leave = RemembersDrains() && cluster().workers().WasAskedToLeave(event.session);
  board_.Heed(
      board_.cluster().Join(joined, std::move(welcome), MayQueue(event.capacity), board_.now()));
  // A worker that has heard it does not come back.
  if (is_to_leave) board_.cluster().AskToLeave(event.worker, board_.now());
  if (!HasEnded()) return;
  const Sweep& last = sweeps().rbegin()->second.sweep;
  board_.Add(
      SendToWorker{event.worker, Shutdown{"", last.status() == ExperimentStatus::kInterrupted}});
}

void Controller::On(const WorkerGone& event) {
  const bool may_wait =
      sweeps().empty() || std::any_of(sweeps().begin(), sweeps().end(), [](const auto& entry) {
        return !entry.second.sweep.is_ending();
      });
  board_.Heed(board_.cluster().Leave(event, may_wait, lease(), board_.now()));
}

void Controller::On(const ReportArrived& event) {
  const AttemptRef& ref = event.message.ref;
  OpenSweep* const open = board_.Find(ref.sweep);
  ReportArrived report = event;
  if (open != nullptr) report.message.ref = open->Unmarked(ref);
  if (open == nullptr || !open->sweep.Knows(report.worker, report.message.ref)) {
    if (!cluster().leases().HasWorker(event.worker)) return;
    board_.Add(SendToWorker{event.worker,
                            AnswerReport{ref, event.message.sequence, ReportAnswer::kRefused}});
    return;
  }
  const Neighbours beside =
      open->sweep.MeasuresLanes() ? cluster().BesideFirstRankOf(ref) : Neighbours{};
  const WorkerId worker = event.worker;
  if (board_.Tell(*open, Reported{std::move(report), beside}).is_news) {
    board_.cluster().NoteReport(worker);
  }
}

void Controller::On(const CheckpointArrived& event) {
  OpenSweep* const open = board_.Find(event.message.ref.sweep);
  if (open == nullptr) return;
  CheckpointArrived arrived = event;
  arrived.message.ref = open->Unmarked(arrived.message.ref);
  if (open->sweep.Knows(arrived.worker, arrived.message.ref)) {
    board_.Tell(*open, std::move(arrived));
  }
}

void Controller::On(const AttemptFinished& event) {
  const LeaseTable::Ended ended = board_.cluster().End(event.worker, event.message.ref);
  if (!ended.known) return;
  OpenSweep& open = At(event.message.ref.sweep);
  AttemptEnded end = event.message;
  end.ref = open.Unmarked(end.ref);
  // The worker is about to leave, unless it has said that it is, or was, no more than unfit: after
  // a connection that was long broken an end may come behind the word that it tries again.
  const bool was_unfit = open.told_unfit.contains(event.worker);
  if (open.sweep.IsUnasked(end) && !was_unfit) board_.cluster().Drain(event.worker, board_.now());
  LeaseEnded told{event.worker, std::move(end), ended.was_running, {}, false};
  if (ended.begun) {
    TUNE_CHECK(ended.begun->ref.sweep == open.id);  // LeaseGiver::FillAhead.
    told.begun = open.Unmarked(ended.begun->ref);
  }
  told.could_have_whole = board_.CouldHaveWhole(open);
  board_.Tell(open, std::move(told));
}

// Of the whole tuner, or of one sweep that comes from another one.
void Controller::On(const TunerRestarted& event) {
  if (addressed_ != ExperimentId{}) return BeginLife(At(addressed_));
  std::map<ExperimentId, bool> was_stopped;
  Instant last_active = board_.now();
  bool is_first = true;
  for (auto& [id, open] : board_.sweeps()) {
    was_stopped[id] = board_.Tell(open, LifeEnded{}).is_news;
    last_active =
        is_first ? open.sweep.last_active() : std::max(last_active, open.sweep.last_active());
    is_first = false;
  }
  // Fenced: whatever still runs under a lease of the earlier life has no effect any more, and ended
  // with that life: the time since is none of its trial's. Only workers that can find this tuner
  // may come back with theirs.
  const Instant now = board_.now();
  board_.TurnClock(last_active);
  for (auto& [id, open] : board_.sweeps()) board_.SetTime(open, open.sweep.last_active());
  Cluster& cluster = board_.cluster();
  for (const WorkerView& view : cluster.leases().Views()) {
    // The end of another's trials may have ended the sweep, and the wait for this one.
    if (!cluster.leases().HasWorker(view.worker)) continue;
    const bool may_come_back = event.listens && !cluster.workers().At(view.worker).row.is_local &&
                               cluster.leases().HoldsAny(view.worker);
    if (may_come_back) continue;
    board_.Heed(cluster.Remove(view.worker, WorkerState::kLost, "the tuner ended", last_active));
  }
  board_.TurnClock(now);
  for (auto& [id, open] : board_.sweeps()) {
    board_.SetTime(open, now);
    board_.Tell(open, LifeBegan{});
  }
  for (const WorkerView& view : cluster.leases().Views()) {
    board_.Heed(cluster.SetAway(view.worker, lease(), board_.now()));
  }
  for (auto& [id, open] : board_.sweeps()) board_.Tell(open, WentOn{was_stopped[id]});
}

// Its leases are of another tuner, which has ended, and they with it.
void Controller::BeginLife(OpenSweep& open) {
  const bool was_stopped = board_.Tell(open, LifeEnded{}).is_news;
  board_.SetTime(open, open.sweep.last_active());
  Notices notices;
  for (const HeldLease& held : open.sweep.leases().All().leases) {
    const AttemptRef ref = open.Marked(held.lease.ref);
    if (held.is_queued) {
      notices.push_back(LeaseDropped{ref});
    } else {
      notices.push_back(LeaseLost{ref, "the tuner ended"});
    }
  }
  board_.Heed(std::move(notices));
  board_.SetTime(open, board_.now());
  board_.Tell(open, LifeBegan{});
  board_.Tell(open, WentOn{was_stopped});
}

// Nobody else was silent while we did not run.
void Controller::On(const TunerSlept& event) {
  for (auto& [id, open] : board_.sweeps()) board_.Tell(open, event);
  board_.cluster().PutOffReturns(event.duration);
}

void Controller::On(const WorkerDrainRequested& event) {
  const LeaseTable& leases = cluster().leases();
  if (!leases.HasWorker(event.worker) || leases.IsAway(event.worker)) return;
  board_.cluster().AskToLeave(event.worker, board_.now());
}

void Controller::On(const DeviceFellAway& event) {
  board_.cluster().LoseDevice(event, board_.now());
}

void Controller::On(const DeviceMemorySeen& event) {
  OpenSweep* const open = board_.Find(event.message.ref.sweep);
  if (open == nullptr) return;
  DeviceMemorySeen seen = event;
  seen.message.ref = open->Unmarked(seen.message.ref);
  const auto next = open->sweep.LearnedRequest(seen, cluster().LargestDeviceMemory());
  // It ran: ranks that could not all be had with so much go on with their shares' parts. A worker
  // that is away may be one of those that are here, started anew.
  if (!next || !cluster().leases().CouldPresentTake(*next)) return;
  const int64_t bytes = event.message.bytes;
  const bool is_beyond = cluster().IsBeyondShare(WithMargin(bytes), open->sweep.Request());
  board_.Tell(*open, MemoryLearned{*next, bytes, is_beyond});
}

void Controller::On(const WorkerUnfit& event) {
  OpenSweep* const open = board_.Find(event.message.sweep);
  if (open == nullptr || !cluster().leases().HasWorker(event.worker)) return;
  const std::string& why = event.message.why;
  if (why.empty()) {
    open->unfit.erase(event.worker);
    open->told_unfit.try_emplace(event.worker);
    return;
  }
  if (!open->unfit.emplace(event.worker, why).second) return;
  if (std::exchange(open->told_unfit[event.worker], why) == why) return;
  board_.Add(
      Say{"worker " + cluster().workers().NameOf(event.worker) + " gets no trials of it: " + why,
          open->id});
}

// ---- the end of a step, and of sweeps

void Controller::EndStep() {
  for (auto& [id, open] : board_.sweeps()) {
    if (!open.is_touched || !board_.Tell(open, StepEnded{}).is_news) continue;
    const ExperimentStatus status = open.sweep.status();
    if (HasEnded()) {
      SendHome(status == ExperimentStatus::kInterrupted);
    } else {
      board_.cluster().EndSweep(id);
    }
    board_.Add(EndOfExperiment{status, id});
  }
}

void Controller::SendHome(bool is_interrupted) {
  for (const WorkerView& view : cluster().leases().Views()) {
    board_.Add(SendToWorker{view.worker, Shutdown{"", is_interrupted}});
    board_.Heed(
        board_.cluster().Remove(view.worker, WorkerState::kLeft, "the sweep ended", board_.now()));
  }
}

std::optional<std::string> Controller::BrokenInvariant() const {
  int64_t running = 0;
  int64_t queued = 0;
  for (const auto& [id, open] : sweeps()) {
    if (auto broken = open.sweep.BrokenInvariant()) return broken;
    running += open.sweep.leases().running_count();
    queued += open.sweep.leases().queued_count();
  }
  const LeaseTable& leases = cluster().leases();
  if (running != leases.running_count() || queued != leases.ahead_count()) {
    return "the workers hold another number of leases than the trials";
  }
  if (const char* const broken = cluster().BrokenInvariant()) return broken;
  return std::nullopt;
}

}  // namespace tune
