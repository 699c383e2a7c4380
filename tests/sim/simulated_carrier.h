// What carries checkpoints between a machine that does not see the tuner's disk and the tuner
// (worker/checkpoint_carrier.h, worker/checkpoint_store.h), without threads or connections: each
// call takes a while, breaks at times, and is made again. A call whose text has arrived may come to
// its end at the tuner although nobody waits for it any more.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/random.h"
#include "core/status.h"
#include "tests/sim/environment.h"
#include "tests/sim/simulated_disk.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune::sim {

class SimulatedCarrier {
 public:
  struct Worker {
    // Runs `act` once the worker is awake; never in another life of it.
    std::function<void(Happenings::Act act)> when_awake;
    std::function<std::string()> session;
    std::function<bool()> is_cut_off;  // Calls of its machine do not reach the tuner.
    std::function<void(const AttemptRef&, Result<KeptCheckpoint>)> kept;
    std::function<void(const AttemptRef&, Result<CheckpointCopy>)> obtained;
    std::function<void(const AttemptRef&, const Status&)> log_sent;
  };

  // `root`: the folder on `disk` for what trials of this machine save.
  SimulatedCarrier(Environment& environment, SimulatedDisk& disk, std::string root,
                   KeyedRandom random, Worker worker);

  void Keep(const KeepCheckpoint& keep);
  void Obtain(const ObtainCheckpoint& obtain);
  void Send(const SendLog& send);  // The last of an attempt, of which nobody asks what it says.
  void GiveUp(const AttemptRef& ref);
  void Drop(const std::string& folder);
  // The worker is gone, and nobody waits for anything.
  void End() { jobs_.clear(); }

  void set_full(bool is_full) { is_full_ = is_full; }
  bool is_full() const { return is_full_; }

 private:
  using JobId = int64_t;
  using Call = std::function<Status(int64_t tuner_life)>;  // kUnavailable: it broke.

  // Asks the tuner whether it takes the call, and makes it after a while; again and again. An
  // answer other than kUnavailable goes to `refused`.
  void ObtainFilesAlone(JobId job, const ObtainCheckpoint& obtain,
                        const std::function<void(const Result<CheckpointCopy>&)>& tell);
  void Try(JobId job, const AttemptRef& ref, const Call& call,
           const std::function<void(const Status&)>& refused);
  void TryAgain(JobId job, const AttemptRef& ref, const Call& call,
                const std::function<void(const Status&)>& refused);
  // Ends the job, if somebody still waits for it, and tells it.
  void Answer(JobId job, const std::function<void()>& tell);
  // Jobs begin in order, and a few are at work at a time.
  bool IsAtWork(JobId job) const;
  Result<CheckpointCopy> Write(const std::string& path, const std::string& text);

  Environment& environment_;
  SimulatedDisk& disk_;
  const std::string root_;
  KeyedRandom random_;
  const Worker worker_;
  JobId last_job_ = 0;
  std::map<JobId, AttemptRef> jobs_;
  bool is_full_ = false;
};

}  // namespace tune::sim
