// A worker's calls about checkpoints, on a connection of their own, so that reports and heartbeats
// need not wait behind them.
//
// Thread rule: as CheckpointLink says.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/grpc/tuner_channel.h"

namespace tune {

class CheckpointChannel final : public CheckpointLink {
 public:
  // `session`: as in the worker's Hello. Connects with the first call.
  CheckpointChannel(const TunerEndpoint& tuner, std::string session);
  ~CheckpointChannel() override;

  Result<bool> Sees(const SeeNonce& see, std::stop_token stop) override;
  Result<std::string> Put(const PutCheckpoint& put, const PackageSource& text,
                          std::stop_token stop) override;
  Status Get(const GetCheckpoint& get, const Taker& taker, std::stop_token stop) override;
  Result<int64_t> SendLog(const PutLog& put, std::stop_token stop) override;
  Result<std::string> Sign(const SignStoreRequest& request, std::stop_token stop) override;

 private:
  class Connection;
  class Call;

  std::unique_ptr<Connection> connection_;
};

}  // namespace tune
