#include "tuner/sweep_leases.h"

#include <algorithm>

#include "core/check.h"

namespace tune {

void SweepLeases::Add(const LeaseTable::Lease& granted, bool is_queued) {
  const SweepLease lease{granted.ref, granted.placement.worker, granted.rank, is_queued};
  TUNE_CHECK(leases_.emplace(lease.ref.epoch, lease).second);
  placements_.emplace(lease.ref.epoch, granted.placement);
  last_epoch_ = std::max(last_epoch_, lease.ref.epoch);
  const Place place = PlaceOf(lease);
  places_.insert(place);
  if (lease.is_queued) {
    ++queued_count_;
  } else {
    ranks_[lease.ref.trial].insert(place);
  }
}

void SweepLeases::Begin(const AttemptRef& ref, const Placement& placement) {
  const SweepLease lease = leases_.at(ref.epoch);
  TUNE_CHECK(lease.is_queued);
  Remove(ref);
  Add({ref, placement, lease.rank});
}

void SweepLeases::Move(const LeaseTable::Lease& lease) {
  Remove(lease.ref);
  Add(lease);
}

void SweepLeases::Remove(const AttemptRef& ref) {
  const auto found = leases_.find(ref.epoch);
  TUNE_CHECK(found != leases_.end() && found->second.ref == ref);
  const SweepLease lease = found->second;
  const Place place = PlaceOf(lease);
  leases_.erase(found);
  placements_.erase(ref.epoch);
  places_.erase(place);
  if (lease.is_queued) {
    --queued_count_;
  } else if (const auto ranks = ranks_.find(ref.trial); ranks->second.erase(place) == 1) {
    if (ranks->second.empty()) ranks_.erase(ranks);
  }
  // One that may be away has no queue.
  if (!HoldsAny(lease.worker)) away_.erase(lease.worker);
}

bool SweepLeases::HoldsAny(WorkerId worker) const {
  const auto next = places_.lower_bound({false, worker, LeaseEpoch{}});
  return next != places_.end() && !std::get<bool>(*next) && std::get<WorkerId>(*next) == worker;
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

Holdings SweepLeases::All() const {
  Holdings all{{}, last_epoch_};
  for (const auto& [epoch, lease] : leases_) {
    all.leases.push_back({{lease.ref, placements_.at(epoch), lease.rank},
                          lease.is_queued,
                          away_.contains(lease.worker)});
  }
  return all;
}

}  // namespace tune
