// The depots of several sweeps: what comes for one goes to its own.
//
// Thread rule: as CheckpointDepot says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/ids.h"
#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/package/artifact_depot.h"

namespace tune {

class SweepDepots final : public CheckpointDepot {
 public:
  void Add(ExperimentId sweep, std::shared_ptr<ArtifactDepot> depot);
  // What is on its way still comes to its end.
  void Drop(ExperimentId sweep);

  bool Sees(const SeeNonce& see) override;
  Result<std::unique_ptr<IncomingCheckpoint>> Receive(const PutCheckpoint& put) override;
  Result<std::unique_ptr<PackageSource>> Open(const GetCheckpoint& get) override;
  Result<int64_t> TakeLog(const PutLog& put) override;
  Result<std::string> Sign(const SignStoreRequest& request) override;

  // What came in within the last hour, to the minute, of all that are there.
  int64_t BytesOfLastHour();

 private:
  // kFailedPrecondition: it is none of those.
  Result<std::shared_ptr<ArtifactDepot>> Find(ExperimentId sweep);

  std::mutex mutex_;
  std::map<ExperimentId, std::shared_ptr<ArtifactDepot>> depots_;
};

}  // namespace tune
