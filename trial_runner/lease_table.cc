#include "trial_runner/lease_table.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {

void LeaseTable::AddWorker(WorkerId worker, const WorkerCapacity& capacity, bool takes_ahead) {
  TUNE_CHECK(!workers_.contains(worker));
  WorkerBooks& books = workers_[worker];
  books.takes_ahead = takes_ahead;
  books.view = EmptyWorker(worker, capacity);
  order_.Insert(books.view);
  if (takes_ahead) takes_ahead_.insert(worker);
}

LeaseTable::Lost LeaseTable::RemoveWorker(WorkerId worker) {
  Lost lost;
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return lost;
  for (const auto& [epoch, lease] : found->second.running) {
    lost.running.push_back(lease.ref);
    CountOut(lease);
  }
  lost.ahead.assign(found->second.ahead.begin(), found->second.ahead.end());
  ahead_count_ -= static_cast<int64_t>(lost.ahead.size());
  order_.Erase(found->second.view);
  takes_ahead_.erase(worker);
  workers_.erase(found);
  return lost;
}

bool LeaseTable::Drain(WorkerId worker) {
  WorkerView& view = workers_.at(worker).view;
  order_.Erase(view);
  return !std::exchange(view.is_draining, true);
}

bool LeaseTable::LoseDevice(WorkerId worker, int64_t device) {
  WorkerView& view = workers_.at(worker).view;
  std::vector<Device>& devices = view.capacity.devices;
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [device](const Device& d) { return d.index == device; });
  if (found == devices.end()) return false;
  order_.Erase(view);
  const auto at = found - devices.begin();
  devices.erase(found);
  view.free_gpu_milli.erase(view.free_gpu_milli.begin() + at);
  view.free_gpu_memory.erase(view.free_gpu_memory.begin() + at);
  if (!view.fuse_keys.empty()) view.fuse_keys.erase(view.fuse_keys.begin() + at);
  order_.Insert(view);
  return true;
}

void LeaseTable::SetAway(WorkerId worker) {
  WorkerBooks& books = workers_.at(worker);
  books.is_away = true;
  order_.Erase(books.view);
  books.view.is_draining = true;  // PlaceTrial() passes it over.
}

LeaseTable::Rejoined LeaseTable::Rejoin(WorkerId from, WorkerId to, const WorkerCapacity& capacity,
                                        const std::vector<HeldAttempt>& held) {
  const WorkerBooks before = std::move(workers_.at(from));
  TUNE_CHECK(!before.takes_ahead && before.ahead.empty());
  for (const auto& [epoch, lease] : before.running) CountOut(lease);
  order_.Erase(before.view);
  workers_.erase(from);
  AddWorker(to, capacity, false);
  WorkerBooks& books = workers_.at(to);

  Rejoined rejoined;
  for (const HeldAttempt& attempt : held) {
    const auto running = before.running.find(attempt.ref.epoch);
    const bool has_lease = running != before.running.end() && running->second.ref == attempt.ref &&
                           !books.running.contains(attempt.ref.epoch);
    const std::string key = has_lease ? running->second.placement.fuse_key : "";
    const Placement placement{to, attempt.cpu_milli, attempt.slices, key};
    if (!has_lease || !Fits(books, placement)) {
      rejoined.unknown.push_back(attempt.ref);
      Occupy(to, attempt);
      continue;
    }
    rejoined.kept.push_back(Lease{attempt.ref, placement, running->second.rank});
    Run(books, rejoined.kept.back());
  }
  for (const auto& [epoch, lease] : before.running) {
    if (books.running.contains(epoch)) continue;
    Placement placement = lease.placement;
    placement.worker = to;
    if (!Fits(books, placement)) {
      rejoined.lost.push_back(lease.ref);
      continue;
    }
    rejoined.unsent.push_back(Lease{lease.ref, placement, lease.rank});
    Run(books, rejoined.unsent.back());
  }
  std::sort(rejoined.kept.begin(), rejoined.kept.end(),
            [](const Lease& a, const Lease& b) { return a.ref.epoch < b.ref.epoch; });
  std::sort(rejoined.unknown.begin(), rejoined.unknown.end(),
            [](const AttemptRef& a, const AttemptRef& b) { return a.epoch < b.epoch; });
  return rejoined;
}

void LeaseTable::Occupy(WorkerId worker, const HeldAttempt& attempt) {
  WorkerBooks& books = workers_.at(worker);
  const Lease fenced{attempt.ref, Placement{worker, attempt.cpu_milli, attempt.slices}};
  if (books.running.contains(attempt.ref.epoch) || !Fits(books, fenced.placement)) return;
  if (books.fenced.emplace(attempt.ref.epoch, fenced).second) Take(books, fenced.placement, -1);
}

AttemptRef LeaseTable::WithEpoch(AttemptRef attempt) {
  ++last_epoch_.value;
  attempt.epoch = last_epoch_;
  return attempt;
}

// It takes its room and runs.
void LeaseTable::Run(WorkerBooks& books, const Lease& lease) {
  Take(books, lease.placement, -1);
  books.running.emplace(lease.ref.epoch, lease);
  CountIn(lease);
}

void LeaseTable::CountIn(const Lease& lease) {
  ++rank_counts_[KeyOf(lease.ref)];
  Usage& usage = usage_[lease.ref.sweep];
  usage.cpu_milli += lease.placement.cpu_milli;
  for (const DeviceSlice& slice : lease.placement.slices) usage.gpu_milli += slice.milli;
}

// One that ran does not any more.
void LeaseTable::CountOut(const Lease& lease) {
  const auto count = rank_counts_.find(KeyOf(lease.ref));
  if (--count->second == 0) rank_counts_.erase(count);
  Usage& usage = usage_[lease.ref.sweep];
  usage.cpu_milli -= lease.placement.cpu_milli;
  for (const DeviceSlice& slice : lease.placement.slices) usage.gpu_milli -= slice.milli;
}

// Whether a worker's books have room for what the worker itself says.
bool LeaseTable::Fits(const WorkerBooks& books, const Placement& placement) {
  if (placement.cpu_milli > books.view.free_cpu_milli) return false;
  WorkerView left = books.view;
  for (const DeviceSlice& slice : placement.slices) {
    const std::vector<Device>& devices = left.capacity.devices;
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [&slice](const Device& d) { return d.index == slice.device; });
    if (device == devices.end()) return false;
    const auto at = static_cast<size_t>(device - devices.begin());
    left.free_gpu_milli[at] -= slice.milli;
    if (device->memory_bytes > 0) left.free_gpu_memory[at] -= slice.memory_bytes;
    if (left.free_gpu_milli[at] < 0 || left.free_gpu_memory[at] < 0) return false;
  }
  return true;
}

void LeaseTable::Take(WorkerBooks& books, const Placement& placement, int64_t sign) {
  order_.Erase(books.view);
  Book(placement, sign, books.view);
  order_.Insert(books.view);
}

std::vector<Placement> LeaseTable::FindRoom(const ResourceRequest& request,
                                            const std::string& fuse_key,
                                            const std::set<WorkerId>& except) const {
  if (request.workers > 1) {
    std::vector<WorkerView> views = Views();
    std::erase_if(views, [&](const WorkerView& view) { return except.contains(view.worker); });
    return PlaceRanks(request, std::move(views));
  }
  auto placement = order_.PlaceTrial(
      request, [this](WorkerId worker) -> const WorkerView& { return workers_.at(worker).view; },
      fuse_key, except);
  if (!placement) return {};
  return {*std::move(placement)};
}

bool LeaseTable::HasRoom(const ResourceRequest& request, const std::set<WorkerId>& except) const {
  return !FindRoom(request, "", except).empty();
}

bool LeaseTable::CouldTakeOn(WorkerId worker, const ResourceRequest& request) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return false;
  const WorkerBooks& books = found->second;
  return !books.is_away && !books.view.is_draining && CouldEverFit(request, books.view.capacity);
}

bool LeaseTable::CouldTake(const ResourceRequest& request, const std::set<WorkerId>& except) const {
  // The first that is looked at usually can; that none is away takes a look at all of thousands.
  return CouldPresentTake(request, except) ||
         std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& entry) { return entry.second.is_away; });
}

bool LeaseTable::CouldPresentTake(const ResourceRequest& request,
                                  const std::set<WorkerId>& except) const {
  std::vector<WorkerCapacity> together;
  for (const auto& [id, books] : workers_) {
    if (books.is_away || books.view.is_draining || except.contains(id)) continue;
    if (CouldEverFit(request, books.view.capacity)) return true;
    together.push_back(books.view.capacity);
  }
  return request.workers > 1 && CouldEverFit(request, together);
}

std::vector<LeaseTable::Lease> LeaseTable::Grant(const ResourceRequest& request,
                                                 const AttemptRef& attempt,
                                                 const std::string& fuse_key,
                                                 const std::set<WorkerId>& except) {
  std::vector<Lease> leases;
  for (Placement& placement : FindRoom(request, fuse_key, except)) {
    const auto rank = static_cast<int64_t>(leases.size());
    leases.push_back(Lease{WithEpoch(attempt), std::move(placement), rank});
    Run(workers_.at(leases.back().placement.worker), leases.back());
  }
  return leases;
}

std::optional<WorkerId> LeaseTable::RoomAhead(int64_t ahead_per_running,
                                              const std::set<WorkerId>& except) const {
  std::optional<WorkerId> best;
  int64_t best_ahead = 0;
  int64_t best_running = 1;
  if (ahead_per_running == 0) return best;
  for (const WorkerId id : takes_ahead_) {
    if (except.contains(id)) continue;
    const WorkerBooks& books = workers_.at(id);
    const auto running = static_cast<int64_t>(books.running.size());
    const auto ahead = static_cast<int64_t>(books.ahead.size());
    if (books.view.is_draining || ahead >= running * ahead_per_running) continue;
    // ahead / running < best_ahead / best_running, without fractions.
    if (best && ahead * best_running >= best_ahead * running) continue;
    best = id;
    best_ahead = ahead;
    best_running = running;
  }
  return best;
}

AttemptRef LeaseTable::GrantAhead(WorkerId worker, const AttemptRef& attempt) {
  const AttemptRef ref = WithEpoch(attempt);
  workers_.at(worker).ahead.push_back(ref);
  ++ahead_count_;
  return ref;
}

std::set<WorkerId> LeaseTable::QueuesBeside(ExperimentId sweep) const {
  std::set<WorkerId> workers;
  for (const WorkerId id : takes_ahead_) {
    const std::deque<AttemptRef>& ahead = workers_.at(id).ahead;
    if (!ahead.empty() && ahead.front().sweep != sweep) workers.insert(id);
  }
  return workers;
}

bool LeaseTable::IsRunning(WorkerId worker, const AttemptRef& ref) const {
  const auto books = workers_.find(worker);
  if (books == workers_.end()) return false;
  const auto lease = books->second.running.find(ref.epoch);
  return lease != books->second.running.end() && lease->second.ref == ref;
}

void LeaseTable::Restore(const Lease& lease, bool is_queued) {
  WorkerBooks& books = workers_.at(lease.placement.worker);
  if (!is_queued) return Run(books, lease);
  books.ahead.push_back(lease.ref);
  ++ahead_count_;
}

LeaseTable::Ended LeaseTable::End(WorkerId worker, const AttemptRef& ref) {
  Ended ended;
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return ended;
  WorkerBooks& books = found->second;
  ++books.ends_seen;

  const auto waiting = std::find(books.ahead.begin(), books.ahead.end(), ref);
  if (waiting != books.ahead.end()) {
    books.ahead.erase(waiting);
    --ahead_count_;
    ended.known = true;
    return ended;
  }
  const auto running = books.running.find(ref.epoch);
  if (running == books.running.end() || running->second.ref != ref) {
    const auto fenced = books.fenced.find(ref.epoch);
    if (fenced == books.fenced.end() || fenced->second.ref != ref) return ended;
    Take(books, fenced->second.placement, +1);
    books.fenced.erase(fenced);
    return ended;
  }
  ended.known = true;
  ended.was_running = true;
  const Placement placement = running->second.placement;
  CountOut(running->second);
  books.running.erase(running);
  if (books.ahead.empty()) {
    Take(books, placement, +1);
    return ended;
  }
  const Lease begun{books.ahead.front(), placement};
  books.ahead.pop_front();
  --ahead_count_;
  books.running.emplace(begun.ref.epoch, begun);
  CountIn(begun);
  ended.begun = begun;
  return ended;
}

void LeaseTable::Fence(WorkerId worker, const AttemptRef& ref) {
  WorkerBooks& books = workers_.at(worker);
  const auto running = books.running.find(ref.epoch);
  TUNE_CHECK(running != books.running.end() && running->second.ref == ref);
  CountOut(running->second);
  books.fenced.insert(books.running.extract(running));
}

void LeaseTable::ForgetFenced(ExperimentId sweep) {
  for (auto& [id, books] : workers_) {
    for (auto fenced = books.fenced.begin(); fenced != books.fenced.end();) {
      if (fenced->second.ref.sweep != sweep) {
        ++fenced;
        continue;
      }
      Take(books, fenced->second.placement, +1);
      fenced = books.fenced.erase(fenced);
    }
  }
}

int64_t LeaseTable::EndsSeen(WorkerId worker) const { return workers_.at(worker).ends_seen; }

std::vector<std::pair<WorkerId, AttemptRef>> LeaseTable::All() const {
  std::vector<std::pair<WorkerId, AttemptRef>> all;
  for (const auto& [id, books] : workers_) {
    for (const auto& [epoch, lease] : books.running) {
      if (lease.rank == 0) all.emplace_back(id, lease.ref);
    }
  }
  for (const auto& [id, books] : workers_) {
    for (const AttemptRef& ref : books.ahead) all.emplace_back(id, ref);
  }
  return all;
}

std::vector<LeaseTable::Lease> LeaseTable::RunningOn(WorkerId worker) const {
  std::vector<Lease> leases;
  for (const auto& [epoch, lease] : workers_.at(worker).running) leases.push_back(lease);
  return leases;
}

std::vector<LeaseTable::Lease> LeaseTable::RanksOf(ExperimentId sweep, TrialNumber trial) const {
  std::vector<Lease> ranks;
  for (const auto& [id, books] : workers_) {
    for (const auto& [epoch, lease] : books.running) {
      if (KeyOf(lease.ref) == TrialKey{sweep, trial}) ranks.push_back(lease);
    }
  }
  return ranks;
}

Usage LeaseTable::UsageOf(ExperimentId sweep) const {
  const auto found = usage_.find(sweep);
  return found == usage_.end() ? Usage{} : found->second;
}

Usage LeaseTable::Total() const {
  Usage total;
  for (const auto& [id, books] : workers_) {
    total.cpu_milli += books.view.capacity.cpu_milli;
    total.gpu_milli += kWholeMilli * static_cast<int64_t>(books.view.capacity.devices.size());
  }
  return total;
}

std::vector<WorkerId> LeaseTable::EmptiestFor(const ResourceRequest& request) const {
  std::vector<std::pair<size_t, WorkerId>> by_leases;
  for (const auto& [id, books] : workers_) {
    if (books.is_away || books.view.is_draining) continue;
    by_leases.emplace_back(books.running.size(), id);
  }
  std::sort(by_leases.begin(), by_leases.end());
  std::vector<WorkerId> chosen;
  std::vector<WorkerCapacity> together;
  for (const auto& [leases, id] : by_leases) {
    const WorkerCapacity& capacity = workers_.at(id).view.capacity;
    if (CouldEverFit(request, capacity)) return {id};
    if (request.workers == 1) continue;
    chosen.push_back(id);
    together.push_back(capacity);
    if (CouldEverFit(request, together)) return chosen;
  }
  return {};
}

std::vector<WorkerView> LeaseTable::Views() const {
  std::vector<WorkerView> views;
  views.reserve(workers_.size());
  for (const auto& [id, books] : workers_) views.push_back(books.view);
  return views;
}

}  // namespace tune
