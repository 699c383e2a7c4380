// What a worker does with an object store (worker/bucket_store.h), without threads or connections:
// each way there takes a while, and is gone again where the store is away. What it has is whole or
// not there, for good, beside everybody's disks: among the files of the tuner's, under "s3://".
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/random.h"
#include "core/status.h"
#include "tests/sim/environment.h"
#include "tests/sim/simulated_disk.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune::sim {

inline constexpr char kBucketPrefix[] = "s3://sim/p";

class SimulatedBucket {
 public:
  struct Worker {
    // Runs `act` once the worker is awake; never in another life of it.
    std::function<void(Happenings::Act act)> when_awake;
    std::function<bool()> is_disk_full;  // Of its machine.
    std::function<void(const AttemptRef&, Result<KeptCheckpoint>)> kept;
    std::function<void(const AttemptRef&, Result<CheckpointCopy>)> obtained;
    std::function<void(const AttemptRef&, const std::string& why)> waits;
  };

  // `disk`: of the machine.
  SimulatedBucket(Environment& environment, SimulatedDisk& disk, KeyedRandom random, Worker worker);

  // Of its only sweep.
  void Settle(const FoundPlace& found) { found_ = found; }
  void Keep(const KeepCheckpoint& keep);
  void Obtain(const ObtainCheckpoint& obtain);
  void GiveUp(const AttemptRef& ref);
  void Drop(const std::string& folder);
  // The worker is gone, and nobody waits for anything.
  void End() { jobs_.clear(); }

 private:
  using JobId = int64_t;

  // On its way for a while; `arrive` is called when it is there, or the next time.
  void Try(JobId job, const AttemptRef& ref, const Happenings::Act& arrive);
  void Answer(JobId job, const std::function<void()>& tell);
  // Jobs begin in order, and a few are at work at a time.
  bool IsAtWork(JobId job) const;
  Result<CheckpointCopy> Bring(const std::string& path);

  Environment& environment_;
  SimulatedDisk& disk_;
  KeyedRandom random_;
  const Worker worker_;
  FoundPlace found_;
  JobId last_job_ = 0;
  std::map<JobId, AttemptRef> jobs_;
};

// A checkpoint goes from the store a while after it was given up, when the store is not away.
void RemoveFromBucket(Environment& environment, const std::string& path, KeyedRandom& random);

}  // namespace tune::sim
