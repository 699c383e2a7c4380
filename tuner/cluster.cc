#include "tuner/cluster.h"

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "core/resource_text.h"

namespace tune {
namespace {

// So many attempts, the first ones of a worker, that all fail before they report are the machine's
// fault, where another worker's attempts report.
constexpr int64_t kFailedStartsMax = 5;

bool ShareDevice(const Placement& a, const Placement& b) {
  return std::any_of(a.slices.begin(), a.slices.end(), [&b](const DeviceSlice& slice) {
    return std::any_of(b.slices.begin(), b.slices.end(),
                       [&slice](const DeviceSlice& other) { return other.device == slice.device; });
  });
}

void Append(Notices more, Notices& notices) {
  notices.insert(notices.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

}  // namespace

std::optional<Instant> Cluster::NextReturn() const {
  std::optional<Instant> next;
  for (const WorkerId worker : workers_.away()) {
    const Instant until = *workers_.At(worker).away_until;
    if (!next || until < *next) next = until;
  }
  return next;
}

// ---- lives of the tuner

Status Cluster::Restore(const std::vector<WorkerRow>& workers, const std::set<WorkerId>& may_queue,
                        const Holdings& held) {
  leases_ = LeaseTable();
  workers_ = WorkerBook();
  for (const WorkerRow& row : workers) {
    workers_.Restore(row);
    const bool is_there = row.state == WorkerState::kAlive || row.state == WorkerState::kDraining;
    if (!is_there) continue;
    leases_.AddWorker(row.worker, row.capacity, row.is_local && may_queue.contains(row.worker));
    if (row.state == WorkerState::kDraining) leases_.Drain(row.worker);
  }
  for (const auto& [lease, is_queued, is_away] : held.leases) {
    const WorkerId worker = lease.placement.worker;
    if (!leases_.HasWorker(worker)) {
      return DataLoss("trial " + std::to_string(lease.ref.trial.value) + " runs on worker " +
                      std::to_string(worker.value) + ", which is not there");
    }
    leases_.Restore(lease, is_queued);
    if (!is_away || leases_.IsAway(worker)) continue;
    leases_.SetAway(worker);
    workers_.SetAway(worker, workers_.At(worker).row.last_seen_at);
  }
  leases_.BeginAfter(held.last_epoch);
  return OkStatus();
}

void Cluster::WriteAll() {
  for (const auto& [worker, record] : workers_.all()) out_.workers.push_back(record.row);
}

// ---- workers

std::optional<Notices> Cluster::EndFormer(const std::string& session, Instant now) {
  if (session.empty()) return std::nullopt;
  for (const auto& [id, record] : workers_.all()) {
    if (record.row.is_local || record.row.session != session || !leases_.HasWorker(id)) continue;
    const std::string& name = record.row.name;
    out_.actions.push_back(DisconnectWorker{id});
    Say("worker " + name + " is lost: its process ended");
    return Remove(id, WorkerState::kLost, "the process of worker " + name + " ended", now);
  }
  return std::nullopt;
}

Notices Cluster::Join(const WorkerJoined& event, Welcome welcome, bool may_queue, Instant now) {
  const std::optional<WorkerId> before = workers_.EarlierConnection(event, leases_);
  const bool was_here = workers_.WasHere(event.session);
  out_.workers.push_back(workers_.Add(event, now).row);
  welcome.worker = event.worker;
  out_.actions.push_back(SendToWorker{event.worker, std::move(welcome)});
  if (before) return Rejoin(*before, event, now);

  leases_.AddWorker(event.worker, event.capacity, event.is_local && may_queue);
  Notices notices;
  // What it holds has lost its lease meanwhile, or is of a tuner that we know nothing of: then
  // the worker ends it unasked, says nothing of it, and its room could be waited for in vain.
  for (const HeldAttempt& held : event.held) {
    if (was_here) leases_.Occupy(event.worker, held);
    notices.push_back(LeaseUnknown{held.ref, event.worker});
  }
  return notices;
}

Notices Cluster::Rejoin(WorkerId from, const WorkerJoined& event, Instant now) {
  WorkerRecord& before = workers_.At(from);
  before.row.state = WorkerState::kLeft;
  workers_.SetPresent(from);
  Write(before, now);
  out_.actions.push_back(DisconnectWorker{from});
  Say("worker " + event.name + " is back");
  workers_.CarryOver(from, event.worker);
  Write(workers_.At(event.worker), now);

  const WorkerId to = event.worker;
  const LeaseTable::Rejoined rejoined = leases_.Rejoin(from, to, event.capacity, event.held);
  Notices notices = {WorkerBack{from, to}};
  for (const LeaseTable::Lease& lease : rejoined.kept) notices.push_back(LeaseKept{lease, from});
  for (const LeaseTable::Lease& lease : rejoined.unsent) {
    notices.push_back(LeaseUnsent{Describe(lease), from});
  }
  for (const AttemptRef& ref : rejoined.lost) {
    notices.push_back(LeaseLost{ref, "worker " + event.name + " does not know it"});
  }
  for (const AttemptRef& ref : rejoined.unknown) notices.push_back(LeaseUnknown{ref, to});
  return notices;
}

Notices Cluster::Leave(const WorkerGone& event, bool may_wait, Duration lease, Instant now) {
  if (!leases_.HasWorker(event.worker)) return {};  // It said goodbye before its connection ended.
  const WorkerRecord& record = workers_.At(event.worker);
  const std::string& name = record.row.name;
  if (event.how == Departure::kBroken && may_wait && !record.row.is_local &&
      leases_.HoldsAny(event.worker)) {
    if (leases_.IsAway(event.worker)) return {};
    Say("the connection to worker " + name + " broke; its trials are waited for, " +
        FormatDuration(lease));
    return SetAway(event.worker, lease, now);
  }
  Notices notices;
  switch (event.how) {
    case Departure::kBroken:
      notices = Remove(event.worker, WorkerState::kLost,
                       "the connection to worker " + name + " broke", now);
      notices.push_back(WorkerLeft{name, " is lost: its connection broke"});
      break;
    case Departure::kGoodbye: {
      const std::string news = event.why.empty() ? " left" : " left: " + event.why;
      notices = Remove(event.worker, WorkerState::kLeft, "worker " + name + news, now);
      notices.push_back(WorkerLeft{name, news});
      break;
    }
    case Departure::kSilent:
      notices = Remove(event.worker, WorkerState::kLost, "worker " + name + " was silent", now);
      out_.actions.push_back(DisconnectWorker{event.worker});
      notices.push_back(
          WorkerLeft{name, " is lost: nothing was heard of it for " + FormatDuration(lease)});
      break;
  }
  return notices;
}

Notices Cluster::SetAway(WorkerId worker, Duration lease, Instant now) {
  leases_.SetAway(worker);
  workers_.SetAway(worker, now + lease);
  Write(workers_.At(worker), now);
  return {WorkerAway{worker}};
}

std::optional<Notices> Cluster::EndOverdue(Instant now) {
  for (const WorkerId worker : workers_.away()) {
    const WorkerRecord& record = workers_.At(worker);
    if (now < *record.away_until) continue;
    const std::string& name = record.row.name;
    Say("worker " + name + " is lost: it did not come back");
    return Remove(worker, WorkerState::kLost, "worker " + name + " did not come back", now);
  }
  return std::nullopt;
}

Notices Cluster::EndAway(const std::string& why, Instant now) {
  Notices notices;
  for (const WorkerView& view : leases_.Views()) {
    if (!leases_.IsAway(view.worker)) continue;
    Append(Remove(view.worker, WorkerState::kLost, why, now), notices);
  }
  return notices;
}

Notices Cluster::EndAwayOf(ExperimentId sweep, const std::string& why) {
  Notices notices;
  for (const WorkerId worker : workers_.away()) {
    for (const LeaseTable::Lease& lease : leases_.RunningOn(worker)) {
      if (lease.ref.sweep != sweep) continue;
      leases_.Fence(worker, lease.ref);
      notices.push_back(LeaseLost{lease.ref, why});
    }
  }
  return notices;
}

Notices Cluster::Remove(WorkerId worker, WorkerState state, const std::string& why, Instant now) {
  WorkerRecord& record = workers_.At(worker);
  record.row.state = state;
  workers_.Remove(worker);
  Write(record, now);
  const LeaseTable::Lost lost = leases_.RemoveWorker(worker);
  Notices notices;
  for (const AttemptRef& ref : lost.running) notices.push_back(LeaseLost{ref, why});
  for (const AttemptRef& ref : lost.ahead) notices.push_back(LeaseDropped{ref});
  return notices;
}

void Cluster::Drain(WorkerId worker, Instant now) {
  if (!leases_.Drain(worker)) return;
  WorkerRecord& record = workers_.At(worker);
  record.row.state = WorkerState::kDraining;
  Write(record, now);
}

void Cluster::AskToLeave(WorkerId worker, Instant now) {
  Drain(worker, now);
  workers_.At(worker).is_asked_to_leave = true;
  out_.actions.push_back(SendToWorker{worker, Shutdown{"tune drain"}});
}

// The ends of what ran there come from the worker.
void Cluster::LoseDevice(const DeviceFellAway& event, Instant now) {
  if (!leases_.HasWorker(event.worker)) return;
  if (!leases_.LoseDevice(event.worker, event.message.device)) return;
  WorkerRecord& record = workers_.At(event.worker);
  std::erase_if(record.row.capacity.devices,
                [&event](const Device& device) { return device.index == event.message.device; });
  Write(record, now);
  Say("worker " + record.row.name + " lost device " + std::to_string(event.message.device) + ": " +
      event.message.why + "; what ran there goes on elsewhere");
}

// ---- leases

std::optional<Choice> Cluster::Choose(const std::vector<Want>& wants, const ResourceRequest& any,
                                      const std::set<WorkerId>& kept) {
  std::set<WorkerId> shunned = Shunned(any);
  shunned.insert(kept.begin(), kept.end());
  std::optional<Choice> put_off;
  for (size_t i = 0; i < wants.size(); ++i) {
    const Want& want = wants[i];
    Choice choice{i, shunned};
    if (!leases_.HasRoom(want.request, shunned)) return put_off;
    if (Avoids(want)) {
      std::set<WorkerId> except = shunned;
      except.insert(*want.failed_on);
      if (leases_.HasRoom(want.request, except)) {
        choice.except = std::move(except);
      } else if (MayPutOff(want)) {
        if (!put_off) put_off = std::move(choice);
        continue;
      }
    }
    return choice;
  }
  return put_off;
}

std::optional<size_t> Cluster::ChooseAhead(const std::vector<Want>& wants, WorkerId worker) const {
  for (size_t i = 0; i < wants.size(); ++i) {
    if (wants[i].failed_on != worker || !Avoids(wants[i])) return i;
  }
  return std::nullopt;
}

bool Cluster::Avoids(const Want& want) const {
  return want.failed_on && want.request.workers == 1 && leases_.HasWorker(*want.failed_on) &&
         HasOtherThan(*want.failed_on, want.request);
}

// Nothing has gone well since where it failed, and elsewhere it would.
bool Cluster::MayPutOff(const Want& want) const {
  return want.may_be_put_off && workers_.At(*want.failed_on).row.failed_starts > 0 &&
         HasGoodOtherThan(*want.failed_on, want.request);
}

std::vector<GrantedRank> Cluster::Grant(const Want& want, const Choice& choice,
                                        const Candidate& candidate) {
  std::vector<GrantedRank> ranks;
  for (const LeaseTable::Lease& lease :
       leases_.Grant(want.request, candidate.ref(), candidate.fuse_key, choice.except)) {
    ranks.push_back(Describe(lease));
  }
  if (ranks.size() > 1) {
    GrantedRank& first = ranks.front();
    first.address = workers_.At(first.lease.placement.worker).rank_address;
  }
  return ranks;
}

std::optional<WorkerId> Cluster::RoomAhead(int64_t ahead_per_running, const ResourceRequest& any,
                                           const std::set<WorkerId>& kept) {
  std::set<WorkerId> except = Shunned(any);
  except.insert(kept.begin(), kept.end());
  return leases_.RoomAhead(ahead_per_running, except);
}

GrantedRank Cluster::GrantAhead(WorkerId worker, const Candidate& candidate) {
  LeaseTable::Lease lease;
  lease.ref = leases_.GrantAhead(worker, candidate.ref());
  lease.placement.worker = worker;
  return Describe(lease);
}

LeaseTable::Ended Cluster::End(WorkerId worker, const AttemptRef& ref) {
  if (leases_.HasWorker(worker) && !workers_.At(worker).row.is_local) acknowledge_.insert(worker);
  return leases_.End(worker, ref);
}

void Cluster::EndSweep(ExperimentId sweep) {
  leases_.ForgetFenced(sweep);
  for (const WorkerView& view : leases_.Views()) {
    out_.actions.push_back(SendToWorker{view.worker, SweepOver{sweep}});
  }
}

void Cluster::AcknowledgeEnds() {
  for (const WorkerId worker : std::exchange(acknowledge_, {})) {
    if (!leases_.HasWorker(worker)) continue;
    out_.actions.push_back(SendToWorker{worker, EndsAcknowledged{leases_.EndsSeen(worker)}});
  }
}

GrantedRank Cluster::Describe(const LeaseTable::Lease& lease) const {
  return {lease, DeviceOf(lease.placement), leases_.EndsSeen(lease.placement.worker)};
}

// ---- what is there

std::string Cluster::DeviceOf(const Placement& placement) const {
  if (placement.slices.empty()) return "";
  for (const Device& device : workers_.At(placement.worker).row.capacity.devices) {
    const bool is_used = placement.slices.front().device == device.index;
    if (is_used && !device.uuid.empty()) return device.name;
  }
  return "";
}

Neighbours Cluster::BesideFirstRankOf(const AttemptRef& attempt) const {
  const Placement placement = leases_.RanksOf(attempt.sweep, attempt.trial).front().placement;
  Neighbours beside{0, DeviceOf(placement)};
  for (const LeaseTable::Lease& lease : leases_.RunningOn(placement.worker)) {
    const bool is_beside = placement.slices.empty() || ShareDevice(placement, lease.placement);
    beside.count += is_beside ? 1 : 0;
  }
  return beside;
}

int64_t Cluster::LargestDeviceMemory() const {
  int64_t largest = 0;
  for (const WorkerView& view : leases_.Views()) {
    for (const Device& device : view.capacity.devices) {
      largest = std::max(largest, device.memory_bytes);
    }
  }
  return largest;
}

bool Cluster::IsBeyondShare(int64_t bytes, const ResourceRequest& request) const {
  for (const WorkerView& view : leases_.Views()) {
    for (const Device& device : view.capacity.devices) {
      if (bytes > SliceMemory(request, device)) return true;
    }
  }
  return false;
}

std::string Cluster::Capacities() const {
  std::string have;
  for (const WorkerView& view : leases_.Views()) {
    if (view.is_draining) continue;
    have += (have.empty() ? "" : "; ") + DescribeCapacity(view.capacity);
  }
  return have;
}

// ---- how attempts go on a worker

void Cluster::NoteReport(WorkerId worker) {
  if (workers_.NoteReport(worker)) out_.workers.push_back(workers_.At(worker).row);
}

void Cluster::NoteFailedStart(WorkerId worker) {
  if (workers_.NoteFailedStart(worker)) out_.workers.push_back(workers_.At(worker).row);
}

std::set<WorkerId> Cluster::Shunned(const ResourceRequest& request) {
  std::set<WorkerId> shunned;
  for (const WorkerId id : workers_.unproven()) {
    WorkerRecord& record = workers_.At(id);
    if (record.row.failed_starts < kFailedStartsMax || !leases_.HasWorker(id) ||
        request.workers > 1 || !HasGoodOtherThan(id, request)) {
      continue;
    }
    shunned.insert(id);
    if (std::exchange(record.row.is_shunning_said, true)) continue;
    out_.workers.push_back(record.row);
    Say("worker " + record.row.name + " gets no more trials: the first " +
        Counted(record.row.failed_starts, "attempt") +
        " on it failed before any report, while other workers' trials report; see what is wrong "
        "there (tune logs), and let it join again");
  }
  return shunned;
}

bool Cluster::HasGoodOtherThan(WorkerId worker, const ResourceRequest& request) const {
  return std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& entry) {
    const WorkerRow& row = entry.second.row;
    return entry.first != worker && row.has_reported && row.failed_starts == 0 &&
           leases_.CouldTakeOn(entry.first, request);
  });
}

bool Cluster::HasOtherThan(WorkerId worker, const ResourceRequest& request) const {
  return std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& entry) {
    return entry.first != worker && leases_.CouldTakeOn(entry.first, request);
  });
}

const char* Cluster::BrokenInvariant() const {
  for (const WorkerId worker : workers_.away()) {
    if (!workers_.At(worker).away_until) return "a worker is away, and not waited for";
    if (!leases_.HasWorker(worker) || !leases_.IsAway(worker)) {
      return "a worker is waited for, and is not away";
    }
  }
  return nullptr;
}

void Cluster::Write(WorkerRecord& record, Instant now) {
  record.row.last_seen_at = now;
  out_.workers.push_back(record.row);
}

void Cluster::Say(std::string text) { out_.actions.push_back(tune::Say{std::move(text)}); }

std::optional<WorkerId> Cluster::LocalWorker() const {
  std::optional<WorkerId> latest;
  for (const WorkerView& view : leases_.Views()) {
    if (workers_.At(view.worker).row.is_local)
      latest = std::max(latest, std::optional(view.worker));
  }
  return latest;
}

}  // namespace tune
