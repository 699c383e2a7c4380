#include "tuner/sweep_leases.h"

#include "core/check.h"

namespace tune {

void SweepLeases::Add(const SweepLease& lease) {
  TUNE_CHECK(leases_.emplace(lease.ref.epoch, lease).second);
  const Place place = PlaceOf(lease);
  places_.insert(place);
  if (lease.is_queued) {
    ++queued_count_;
  } else {
    ranks_[lease.ref.trial].insert(place);
  }
}

void SweepLeases::Begin(const AttemptRef& ref) {
  SweepLease lease = leases_.at(ref.epoch);
  TUNE_CHECK(lease.is_queued);
  Remove(ref);
  lease.is_queued = false;
  Add(lease);
}

void SweepLeases::Move(const AttemptRef& ref, WorkerId to) {
  SweepLease lease = leases_.at(ref.epoch);
  Remove(ref);
  lease.worker = to;
  Add(lease);
}

void SweepLeases::Remove(const AttemptRef& ref) {
  const auto found = leases_.find(ref.epoch);
  TUNE_CHECK(found != leases_.end() && found->second.ref == ref);
  const SweepLease lease = found->second;
  const Place place = PlaceOf(lease);
  leases_.erase(found);
  places_.erase(place);
  if (lease.is_queued) {
    --queued_count_;
  } else if (const auto ranks = ranks_.find(ref.trial); ranks->second.erase(place) == 1) {
    if (ranks->second.empty()) ranks_.erase(ranks);
  }
  // One that may be away has no queue.
  const auto next = places_.lower_bound({false, lease.worker, LeaseEpoch{}});
  const bool holds_more = next != places_.end() && std::get<WorkerId>(*next) == lease.worker;
  if (!holds_more) away_.erase(lease.worker);
}

bool SweepLeases::IsRunning(WorkerId worker, const AttemptRef& ref) const {
  const SweepLease* const lease = Find(ref);
  return lease != nullptr && !lease->is_queued && lease->worker == worker;
}

const SweepLease* SweepLeases::Find(const AttemptRef& ref) const {
  const auto found = leases_.find(ref.epoch);
  return found == leases_.end() || found->second.ref != ref ? nullptr : &found->second;
}

std::vector<SweepLease> SweepLeases::FirstRanks() const {
  std::vector<SweepLease> first;
  for (const Place& place : places_) {
    const SweepLease& lease = leases_.at(std::get<LeaseEpoch>(place));
    if (lease.rank == 0) first.push_back(lease);
  }
  return first;
}

std::vector<SweepLease> SweepLeases::RanksOf(TrialNumber trial) const {
  std::vector<SweepLease> ranks;
  const auto found = ranks_.find(trial);
  if (found == ranks_.end()) return ranks;
  for (const Place& place : found->second) {
    ranks.push_back(leases_.at(std::get<LeaseEpoch>(place)));
  }
  return ranks;
}

}  // namespace tune
