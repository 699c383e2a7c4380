// How a worker's calls get to its tuner: plain on this machine's loopback, over TLS otherwise.
//
// Thread rule: pure functions.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "trial_runner/grpc/tuner_channel.h"

namespace tune {

// Connects with the first call on it.
std::shared_ptr<grpc::Channel> DialTuner(const TunerEndpoint& tuner);
// What a call shows of itself.
void ShowSecret(const TunerEndpoint& tuner, grpc::ClientContext& context);

}  // namespace tune
