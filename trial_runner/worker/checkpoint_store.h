// Where a sweep's checkpoints are kept so that they outlive this machine, as a worker sees it: at
// the tuner, which gets them over the network, or in an object store (bucket_store.h). In an
// artifact folder that the worker shares with the tuner they need no store.
//
// What a trial process has saved here, the store keeps before it is reported; what an attempt goes
// on from, the store brings here before it begins.
//
// Thread rule: any thread, several at once.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // Durable wherever the tuner looks for it when it returns. Waits until the tuner can be reached,
  // or `stop` is requested (kUnavailable). kFailedPrecondition: the lease is over;
  // kResourceExhausted: the tuner has no room for it; kInvalidArgument: the tuner does not take
  // such a one; others: of this machine.
  virtual Result<KeptCheckpoint> Keep(const AttemptRef& ref, const std::string& local,
                                      std::stop_token stop) = 0;
  // `copy`: what may be here of it; its folder may be empty. kNotFound: the tuner does not have it;
  // kInvalidArgument: the tuner cannot send it; kFailedPrecondition: the lease is over;
  // kUnavailable: `stop` was requested; others: of this machine (kResourceExhausted: its disk is
  // full).
  virtual Result<CheckpointCopy> Obtain(const AttemptRef& ref, const std::string& path,
                                        const CheckpointCopy& copy, std::stop_token stop) = 0;
};

class TunerStore final : public CheckpointStore {
 public:
  // `artifacts`: this machine's folder, for <trial>/<checkpoint>.
  TunerStore(CheckpointLink& link, std::string artifacts)
      : link_(link), artifacts_(std::move(artifacts)) {}

  Result<KeptCheckpoint> Keep(const AttemptRef& ref, const std::string& local,
                              std::stop_token stop) override;
  Result<CheckpointCopy> Obtain(const AttemptRef& ref, const std::string& path,
                                const CheckpointCopy& copy, std::stop_token stop) override;

 private:
  Result<CheckpointCopy> Fetch(const AttemptRef& ref, const std::string& path,
                               const std::stop_token& stop);

  CheckpointLink& link_;
  const std::string artifacts_;
};

}  // namespace tune
