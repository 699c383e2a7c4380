// Checkpoints that are kept in an object store: this machine sends them there itself, with
// credentials of its own, and the tuner hears of them when they are durable.
//
// A store that is away, slow, or refuses (a key that was revoked, a bucket that is gone, no room)
// is waited for, as long as nobody gives up: nothing that was trained is lost for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/status.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/worker/checkpoint_store.h"

namespace tune {

class BucketStore final : public CheckpointStore {
 public:
  // What a checkpoint waits for, one line; called again as that changes, by any thread.
  using OnWait = std::function<void(const AttemptRef&, std::string why)>;

  // `root`: below which the sweep's are kept. `artifacts`: this machine's folder, for
  // <trial>/<checkpoint>.
  // `signer`: the tuner, which signs what is asked of the store; null: this machine has credentials
  // of its own.
  BucketStore(S3Address root, std::string artifacts, OnWait on_wait, CheckpointLink* signer)
      : root_(std::move(root)),
        artifacts_(std::move(artifacts)),
        on_wait_(std::move(on_wait)),
        signer_(signer) {}

  // kUnavailable: `stop` was requested; kInvalidArgument: such a checkpoint cannot be kept;
  // kFailedPrecondition: the lease is over.
  Result<KeptCheckpoint> Keep(const AttemptRef& ref, const std::string& local,
                              std::stop_token stop) override;
  // kNotFound also of one that is damaged there.
  Result<CheckpointCopy> Obtain(const AttemptRef& ref, const std::string& path,
                                const CheckpointCopy& copy, std::stop_token stop) override;

 private:
  // An attempt that waits for the store, for as long as this lives.
  class Asking;
  Result<std::shared_ptr<S3Client>> Client(const AttemptRef& ref);
  void TellAll(const std::string& why);

  const S3Address root_;
  const std::string artifacts_;
  const OnWait on_wait_;
  CheckpointLink* const signer_;
  std::mutex mutex_;
  std::shared_ptr<S3Client> client_;
  std::mutex asking_mutex_;  // Held while they are told: nobody is told after its answer.
  std::multiset<AttemptRef> asking_;
};

}  // namespace tune
