#include "tuner/lease_giver.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "tuner/fair_share.h"

namespace tune {

namespace {

// A thousand that wait need not be looked at one by one where all is taken.
bool IsAnyCpuFree(const LeaseTable& leases) {
  const std::vector<WorkerView> views = leases.Views();
  return std::any_of(views.begin(), views.end(),
                     [](const WorkerView& view) { return view.free_cpu_milli > 0; });
}

// Of what is placed next: some trials need a whole device.
ResourceRequest LargestOf(const std::vector<Want>& wants, const Sweep& sweep) {
  ResourceRequest largest = sweep.Request();
  for (const Want& want : wants) {
    largest.gpu_milli = std::max(largest.gpu_milli, want.request.gpu_milli);
  }
  return largest;
}

}  // namespace

void LeaseGiver::Fill() {
  for (auto& [id, sweep] : board_.sweeps()) ForgetWhatNobodyHas(sweep);
  const auto grant_one = [this] {
    const bool is_full = board_.sweeps().size() > 1 && !IsAnyCpuFree(board_.cluster().leases());
    const std::vector<ExperimentId> order = Order();
    return std::any_of(order.begin(), order.end(), [&](ExperimentId id) {
      OpenSweep& sweep = *board_.Find(id);
      if (!sweep.sweep.HasPlace()) return false;
      const bool has_no_room = is_full && sweep.sweep.options().spec.resources.cpu_milli > 0;
      return !has_no_room && GrantNext(sweep, order);
    });
  };
  while (grant_one()) {
  }
  FillAhead();
}

// What was learned while a worker was there that is gone: as with DeviceMemorySeen, ranks that
// cannot all be had with so much go on with their shares' parts. A trial of one rank waits: it
// would find no memory.
void LeaseGiver::ForgetWhatNobodyHas(OpenSweep& sweep) {
  const LeaseTable& leases = board_.cluster().leases();
  ResourceRequest request = sweep.sweep.Request();
  const bool is_learned = request.workers > 1 && request.learned_gpu_memory_bytes > 0;
  if (!is_learned || leases.CouldTake(request)) return;
  request.learned_gpu_memory_bytes = 0;
  if (leases.CouldPresentTake(request)) {
    board_.Tell(sweep, MemoryLearned{request, 0, /*is_beyond_share=*/false});
  }
}

std::vector<ExperimentId> LeaseGiver::Turn() const {
  std::vector<ExperimentId> turn = Order();
  std::erase_if(turn, [this](ExperimentId id) { return !board_.Find(id)->sweep.HasPlace(); });
  return turn;
}

// Those that may begin one more trial, and those for which room is held free, by whose turn it is.
std::vector<ExperimentId> LeaseGiver::Order() const {
  std::vector<ExperimentId> open;
  std::vector<Claimant> claimants;
  const LeaseTable& leases = board_.cluster().leases();
  for (const auto& [id, sweep] : board_.sweeps()) {
    const bool has_unmet_reserve = UnmetTrials(sweep) > 0;
    if (!sweep.sweep.HasPlace() && !has_unmet_reserve) continue;
    open.push_back(id);
    const Share& share = sweep.sweep.options().spec.share;
    claimants.push_back(
        {id, share, leases.UsageOf(id), {}, sweep.waiting_since, has_unmet_reserve});
  }
  if (open.size() < 2) return open;
  std::map<std::string_view, Usage> by_owner;
  for (const auto& [id, sweep] : board_.sweeps()) {
    Usage& sum = by_owner[sweep.sweep.options().spec.share.owner];
    const Usage used = leases.UsageOf(id);
    sum.cpu_milli += used.cpu_milli;
    sum.gpu_milli += used.gpu_milli;
  }
  for (Claimant& claimant : claimants) {
    claimant.used_by_owner = by_owner.at(claimant.share.owner);
  }
  std::vector<ExperimentId> turn;
  for (const size_t i : FairOrder(claimants, leases.Total(), board_.now())) {
    turn.push_back(open[i]);
  }
  return turn;
}

int64_t LeaseGiver::UnmetTrials(const OpenSweep& open) {
  const Sweep& sweep = open.sweep;
  const Reserve& reserve = sweep.options().spec.share.reserve;
  if (reserve == Reserve{}) return 0;
  const int64_t unmet = TrialsWorth(reserve, sweep.Request()) - sweep.leases().running_count();
  return std::max<int64_t>(0, std::min(unmet, sweep.MayRunBesides()));
}

std::vector<HeldRoom> LeaseGiver::ReservedBefore(ExperimentId id,
                                                 const std::vector<ExperimentId>& order) const {
  std::vector<HeldRoom> held;
  for (const ExperimentId other : order) {
    if (other == id) break;
    const OpenSweep& sweep = *board_.Find(other);
    const int64_t trials = UnmetTrials(sweep);
    if (trials > 0) held.push_back({sweep.sweep.Request(), trials, sweep.UnfitWorkers()});
  }
  return held;
}

LeaseGiver::ReservesInTurn LeaseGiver::LookAtReserves() const {
  ReservesInTurn reserves;
  for (const ExperimentId id : Order()) {
    reserves.places.emplace(id, reserves.places.size());
    if (UnmetTrials(*board_.Find(id)) > 0) reserves.unmet.push_back(id);
  }
  return reserves;
}

std::optional<ExperimentId> LeaseGiver::FirstThatHolds(const ResourceRequest& request,
                                                       const std::set<WorkerId>& unfit,
                                                       const ReservesInTurn& reserves,
                                                       size_t before) const {
  const LeaseTable& leases = board_.cluster().leases();
  if (!leases.HasRoom(request, unfit)) return std::nullopt;
  const std::vector<WorkerView> views = leases.Views();
  std::vector<HeldRoom> held;
  for (size_t i = 0; i < before; ++i) {
    const OpenSweep& other = *board_.Find(reserves.unmet[i]);
    held.push_back({other.sweep.Request(), UnmetTrials(other), other.UnfitWorkers()});
    std::set<WorkerId> closed = ClosedByReserves(held, request, views, unfit);
    closed.insert(unfit.begin(), unfit.end());
    if (!leases.HasRoom(request, closed)) return other.id;
  }
  return std::nullopt;
}

std::optional<ExperimentId> LeaseGiver::HeldBackFor(ExperimentId id,
                                                    ReservesInTurn& reserves) const {
  const auto place = reserves.places.find(id);
  size_t before = 0;
  while (before < reserves.unmet.size() &&
         (place == reserves.places.end() ||
          reserves.places.at(reserves.unmet[before]) < place->second)) {
    ++before;
  }
  if (before == 0) return std::nullopt;
  const OpenSweep& sweep = *board_.Find(id);
  const std::optional<ResourceRequest> request = sweep.sweep.Unplaced();
  if (!request) return std::nullopt;
  const std::set<WorkerId> unfit = sweep.UnfitWorkers();
  if (!unfit.empty()) return FirstThatHolds(*request, unfit, reserves, before);
  auto& last = reserves.last;
  if (!last || last->request != *request || last->before != before) {
    last = {*request, before, FirstThatHolds(*request, unfit, reserves, before)};
  }
  return last->holder;
}

bool LeaseGiver::GrantNext(OpenSweep& sweep, const std::vector<ExperimentId>& order) {
  Cluster& cluster = board_.cluster();
  std::set<WorkerId> kept = cluster.leases().QueuesBeside(sweep.id);
  // A claim waits for what is reserved.
  const auto claim_at = std::find(order.begin(), order.end(), claimant_);
  const bool is_before_claim =
      UnmetTrials(sweep) > 0 && std::find(order.begin(), claim_at, sweep.id) != claim_at;
  if (claimant_ != sweep.id && !is_before_claim) kept.insert(claimed_.begin(), claimed_.end());
  const std::set<WorkerId> unfit = sweep.UnfitWorkers();
  kept.insert(unfit.begin(), unfit.end());
  const std::vector<HeldRoom> reserved = ReservedBefore(sweep.id, order);
  do {
    const std::vector<Want> wants = sweep.sweep.Wants();
    if (!reserved.empty()) {
      const std::set<WorkerId> closed =
          ClosedByReserves(reserved, LargestOf(wants, sweep.sweep), cluster.leases().Views(), kept);
      kept.insert(closed.begin(), closed.end());
    }
    const std::optional<Choice> choice = cluster.Choose(wants, sweep.sweep.Request(), kept);
    if (!choice) return false;
    const Want& want = wants[choice->want];
    if (const auto candidate = board_.Tell(sweep, TrialTaken{want.waiting}).candidate) {
      std::vector<GrantedRank> ranks = cluster.Grant(want, *choice, *candidate);
      for (GrantedRank& rank : ranks) {
        rank.lease.ref = sweep.Unmarked(rank.lease.ref);
        const WorkerId worker = rank.lease.placement.worker;
        if (sweep.known_by.contains(worker)) continue;
        board_.Add(SendToWorker{worker, sweep.Introduce(worker)});
      }
      board_.Tell(sweep, Granted{candidate->trial, std::move(ranks)});
      NoteGranted(sweep);
      return true;
    }
  } while (sweep.sweep.IsAnyWaiting());  // There is no new one after all.
  return false;
}

// Whoever has a queue on a worker takes over what ends there, whose turn it is or not: so only one
// that is alone, and others are given nothing there until the queue is empty.
void LeaseGiver::FillAhead() {
  Cluster& cluster = board_.cluster();
  if (board_.sweeps().size() != 1) return;
  OpenSweep& sweep = board_.sweeps().begin()->second;
  const int64_t ahead_per_running = sweep.sweep.AheadPerRunning();
  const std::set<WorkerId> unfit = sweep.UnfitWorkers();
  while (sweep.sweep.HasPlaceAhead()) {
    const auto worker = cluster.RoomAhead(ahead_per_running, sweep.sweep.Request(), unfit);
    if (!worker) return;
    const std::vector<Want> wants = sweep.sweep.Wants();
    const std::optional<size_t> choice = cluster.ChooseAhead(wants, *worker);
    if (!choice) return;
    const auto candidate = board_.Tell(sweep, TrialTaken{wants[*choice].waiting}).candidate;
    if (!candidate) return;
    GrantedRank rank = cluster.GrantAhead(*worker, *candidate);
    rank.lease.ref = sweep.Unmarked(rank.lease.ref);
    board_.Tell(sweep, GrantedAhead{std::move(rank)});
  }
}

void LeaseGiver::NoteGranted(OpenSweep& sweep) {
  sweep.waiting_since.reset();
  if (claimant_ != sweep.id) return;
  claimant_.reset();
  claimed_.clear();
}

void LeaseGiver::LookAtWaiting() {
  for (auto& [id, sweep] : board_.sweeps()) WatchForUnplaceable(sweep);
  for (auto& [id, sweep] : board_.sweeps()) {
    const bool waits = sweep.sweep.HasPlace() && sweep.sweep.Unplaced();
    if (!waits) {
      sweep.waiting_since.reset();
    } else if (!sweep.waiting_since) {
      sweep.waiting_since = board_.now();
    }
  }
  GiveClaim();
}

void LeaseGiver::Promise(std::vector<WorkerCapacity> capacities, bool any) {
  promised_ = std::move(capacities);
  is_any_promised_ = any;
}

bool LeaseGiver::IsPromised(const ResourceRequest& request) const {
  return is_any_promised_ || CouldEverFit(request, promised_);
}

void LeaseGiver::WatchForUnplaceable(OpenSweep& sweep) {
  Cluster& cluster = board_.cluster();
  const std::optional<ResourceRequest> request = sweep.sweep.Unplaced();
  PlaceableSeen seen;
  seen.is_placeable = !request || cluster.leases().CouldTake(*request, sweep.UnfitWorkers()) ||
                      IsPromised(*request);
  if (!seen.is_placeable) seen.have = cluster.Capacities();
  for (const auto& [worker, why] : sweep.unfit) {
    if (seen.is_placeable || !cluster.leases().HasWorker(worker)) continue;
    seen.have += "; " + cluster.workers().NameOf(worker) + " cannot run it: " + why;
  }
  // A sweep that was told nothing else in this step hears of it when it changes.
  const bool is_as_before =
      seen.is_placeable == sweep.is_placeable && seen.have == sweep.workers_have;
  if (!sweep.is_touched && is_as_before) return;
  sweep.is_placeable = seen.is_placeable;
  sweep.workers_have = seen.have;
  board_.Tell(sweep, std::move(seen));
  board_.Settle();
}

// Whether the sweep's next trial has room on those workers, once they are empty, beside all that is
// reserved for others: a claim that has to wait for their ends would keep the workers idle.
bool LeaseGiver::LeavesReserves(const OpenSweep& sweep, const std::set<WorkerId>& claim) const {
  if (board_.now() >= *sweep.waiting_since + kBeforeReserves) return true;
  std::vector<HeldRoom> reserved;
  for (const auto& [id, other] : board_.sweeps()) {
    const Reserve& reserve = other.sweep.options().spec.share.reserve;
    if (id == sweep.id || reserve == Reserve{}) continue;
    const int64_t may_run = other.sweep.leases().running_count() + other.sweep.MayRunBesides();
    const int64_t trials = std::min(TrialsWorth(reserve, other.sweep.Request()), may_run);
    reserved.push_back({other.sweep.Request(), trials, other.UnfitWorkers()});
  }
  if (reserved.empty()) return true;
  std::vector<WorkerView> views = board_.cluster().leases().Views();
  for (WorkerView& view : views) {
    if (claim.contains(view.worker)) view = EmptyWorker(view.worker, view.capacity);
  }
  views = WithoutReserves(reserved, std::move(views));
  std::erase_if(views, [&](const WorkerView& view) { return !claim.contains(view.worker); });
  return !PlaceRanks(*sweep.sweep.Unplaced(), std::move(views)).empty();
}

// To the first whose turn it is and that waited too long, of those that would have room on machines
// that were empty: those of them with the fewest leases, so many as its ranks need.
void LeaseGiver::GiveClaim() {
  const LeaseTable& leases = board_.cluster().leases();
  if (claimant_) {
    OpenSweep* const sweep = board_.Find(*claimant_);
    const bool stands = sweep != nullptr && sweep->waiting_since &&
                        LeavesReserves(*sweep, claimed_) &&
                        std::all_of(claimed_.begin(), claimed_.end(), [&](WorkerId worker) {
                          return leases.HasWorker(worker) && !leases.IsAway(worker);
                        });
    if (stands) return;
    claimant_.reset();
    claimed_.clear();
  }
  if (board_.sweeps().size() < 2) return;
  for (const ExperimentId id : Turn()) {
    OpenSweep* const sweep = board_.Find(id);
    if (!sweep->waiting_since || board_.now() < *sweep->waiting_since + kPatience) continue;
    const std::vector<WorkerId> needed = leases.EmptiestFor(*sweep->sweep.Unplaced());
    const bool is_any_unfit = std::any_of(needed.begin(), needed.end(), [&](WorkerId worker) {
      return sweep->unfit.contains(worker);
    });
    if (needed.empty() || is_any_unfit || !LeavesReserves(*sweep, {needed.begin(), needed.end()})) {
      continue;
    }
    claimant_ = sweep->id;
    claimed_ = {needed.begin(), needed.end()};
    return;
  }
}

std::optional<Instant> LeaseGiver::NextDeadline() const {
  std::optional<Instant> next;
  if (board_.sweeps().size() < 2) return next;
  const auto take = [&](Instant due) {
    if (due > board_.now() && (!next || due < *next)) next = due;
  };
  for (const auto& [id, sweep] : board_.sweeps()) {
    if (!sweep.waiting_since) continue;
    if (!claimant_) take(*sweep.waiting_since + kPatience);
    take(*sweep.waiting_since + kBeforeReserves);
  }
  return next;
}

}  // namespace tune
