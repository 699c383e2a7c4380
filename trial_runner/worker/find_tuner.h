// How a worker gets to its tuner: its own one by a secret in the environment, another machine's by
// a join token.
//
// Thread rule: from the main thread; it waits for the network when there is a token.
#pragma once

#include "core/status.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/worker/run_worker.h"

namespace tune {

// kUnavailable: nobody there. Other errors are the caller's to mend.
Result<TunerEndpoint> FindTuner(const WorkerOptions& options);

}  // namespace tune
