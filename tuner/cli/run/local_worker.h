// The tuner's own worker, on its machine.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/ids.h"
#include "core/posix/child_process.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/cli/run/restart_limit.h"

namespace tune {

struct LocalWorkerOptions {
  std::string program_dir;  // Where tune_worker is.
  WorkerCapacity capacity;  // What it offers; nothing of either: none is started.
  std::string prewarm;      // The kind of trainable that it warms up for; empty: none.
  std::string address;      // The plain port,
  std::string secret;       // and what is to be said there.
};

// Keeps a local worker alive: one that dies (out of memory, killed by somebody) or was given up (a
// stopped process) is replaced, unless that happens again and again without a report; its trials go
// on from their checkpoints.
class LocalWorkerKeeper {
 public:
  explicit LocalWorkerKeeper(LocalWorkerOptions options) : options_(std::move(options)) {}

  Status Start();
  // A line to say when something happened; an error when the worker cannot be kept:
  // kFailedPrecondition where it has left since it cannot run the sweep's trials. `leased`: the
  // latest local worker that the controller counts with, which may still be the one before.
  Result<std::string> Look(Instant now, int64_t report_count, std::optional<WorkerId> leased);
  void End() { worker_.reset(); }

 private:
  const LocalWorkerOptions options_;
  std::unique_ptr<ChildProcess> worker_;
  std::optional<WorkerId> joined_;      // The present one, since the controller counts with it.
  std::optional<WorkerId> before_;      // The one before it.
  std::optional<Instant> given_up_at_;  // One that said goodbye ends by itself a moment later.
  RestartLimit restarts_{3, Seconds(60)};
};

}  // namespace tune
