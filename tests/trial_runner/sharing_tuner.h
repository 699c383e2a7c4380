// A tuner that shares its disk with the worker: nothing is sent to it.
//
// Thread rule: any thread.
#pragma once

#include <stop_token>
#include <string>

#include "trial_runner/checkpoint_transfer.h"

namespace tune {

class SharingTuner : public CheckpointLink {
 public:
  Result<bool> Sees(const SeeNonce& /*see*/, std::stop_token /*stop*/) override { return true; }
  Result<std::string> Put(const PutCheckpoint& /*put*/, const PackageSource& /*text*/,
                          std::stop_token /*stop*/) override {
    return Internal("a checkpoint was sent");
  }
  Status Get(const GetCheckpoint& /*get*/, const Taker& /*taker*/,
             std::stop_token /*stop*/) override {
    return Internal("a checkpoint was asked for");
  }
  Result<int64_t> SendLog(const PutLog& /*put*/, std::stop_token /*stop*/) override { return 0; }
};

}  // namespace tune
