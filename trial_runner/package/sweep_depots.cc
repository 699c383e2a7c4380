#include "trial_runner/package/sweep_depots.h"

#include <utility>

namespace tune {

void SweepDepots::Add(ExperimentId sweep, std::shared_ptr<ArtifactDepot> depot) {
  const std::lock_guard lock(mutex_);
  depots_.insert_or_assign(sweep, std::move(depot));
}

void SweepDepots::Drop(ExperimentId sweep) {
  std::shared_ptr<ArtifactDepot> last;  // Ends without the lock: it removes files.
  const std::lock_guard lock(mutex_);
  const auto found = depots_.find(sweep);
  if (found == depots_.end()) return;
  last = std::move(found->second);
  depots_.erase(found);
}

Result<std::shared_ptr<ArtifactDepot>> SweepDepots::Find(ExperimentId sweep) {
  const std::lock_guard lock(mutex_);
  const auto found = depots_.find(sweep);
  if (found != depots_.end()) return found->second;
  return FailedPrecondition("the tuner runs no sweep " + std::to_string(sweep.value));
}

bool SweepDepots::Sees(const SeeNonce& see) {
  const auto depot = Find(see.sweep);
  return depot.ok() && (*depot)->Sees(see);
}

Result<std::unique_ptr<IncomingCheckpoint>> SweepDepots::Receive(const PutCheckpoint& put) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<ArtifactDepot> depot, Find(put.ref.sweep));
  return depot->Receive(put);
}

Result<std::unique_ptr<PackageSource>> SweepDepots::Open(const GetCheckpoint& get) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<ArtifactDepot> depot, Find(get.ref.sweep));
  return depot->Open(get);
}

Result<int64_t> SweepDepots::TakeLog(const PutLog& put) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<ArtifactDepot> depot, Find(put.ref.sweep));
  return depot->TakeLog(put);
}

Result<std::string> SweepDepots::Sign(const SignStoreRequest& request) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<ArtifactDepot> depot, Find(request.ref.sweep));
  return depot->Sign(request);
}

int64_t SweepDepots::BytesOfLastHour() {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [sweep, depot] : depots_) sum += depot->BytesOfLastHour();
  return sum;
}

}  // namespace tune
