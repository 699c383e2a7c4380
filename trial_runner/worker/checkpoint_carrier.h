// Carries checkpoints between this machine and the place where they are kept (checkpoint_store.h),
// and what trials' programs leave in their folders (package/trial_files.h), beside the worker's
// loop. Each sweep has a queue for its object store and one for the tuner: a few jobs of a queue
// are at work at a time, and the others wait in order. So a store that is away, or slow, holds up
// nothing of another sweep, and nothing that goes to the tuner.
//
// What is to be removed is moved aside within the call, and removed later: a folder of many files
// takes a slow disk minutes.
//
// Thread rule: one thread, which is never kept waiting but for a moment when a sweep is left, and
// for the destructor. The answers come from threads of the carrier's, or within the call where
// nothing is to be carried; none comes once the destructor has returned.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/worker/checkpoint_store.h"
#include "trial_runner/worker/work_place.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune {

class CheckpointCarrier {
 public:
  struct Answers {
    std::function<void(const AttemptRef&, Result<KeptCheckpoint>)> kept;
    std::function<void(const AttemptRef&, Result<CheckpointCopy>)> obtained;
    std::function<void(const SendLog&)> files_sent = {};
    // What a checkpoint waits for (bucket_store.h).
    std::function<void(const AttemptRef&, std::string)> waits = {};
  };
  // `link`: to the tuner; must outlive the carrier.
  CheckpointCarrier(CheckpointLink& link, Answers answers);
  // What is on its way is given up. What the tuner has is not left on this machine's disk.
  ~CheckpointCarrier();

  // When it is known where the sweep runs; first. Of a folder of this machine's own, what workers
  // that were killed, and their trials, left there goes, unless another one works in it.
  void Settle(ExperimentId sweep, const FoundPlace& found);
  // As the destructor does, of that sweep. A job that does not heed it at once, as it reads or
  // writes a large file, is not waited for: its folder is cleared when it has ended.
  void Leave(ExperimentId sweep);

  // Each is answered, unless it is given up. In a folder that the tuner shares nothing is carried.
  void Keep(const KeepCheckpoint& keep);
  void Obtain(const ObtainCheckpoint& obtain);
  // What lies in the last log's folder; what is to be told of it stands in the log then.
  void SendFiles(const SendLog& last);
  void GiveUp(const AttemptRef& ref);
  void Drop(const std::string& folder);
  // What the trial's program left in this folder of this machine's own, but for logs and
  // checkpoints, is not there any more when it returns.
  void ClearTrial(const std::string& folder);

 private:
  // What a job may wait for.
  enum class Way { kTuner, kStore, kDisk };
  struct Job {
    AttemptRef ref;  // Of a drop: none.
    Way way = Way::kTuner;
    std::function<void(std::stop_token)> run;
  };
  struct Queue {
    std::deque<Job> jobs;
    size_t at_work = 0;
    size_t ready() const;  // Jobs that may begin now.
  };
  using Queues = std::map<std::pair<ExperimentId, Way>, Queue>;
  // Where a sweep's checkpoints are kept.
  struct Place {
    // Null: the artifact folder is the tuner's, and trials wrote into it themselves. Shared: a job
    // that was given up may still be at it.
    std::shared_ptr<CheckpointStore> store;
    std::string artifacts;   // For which it is.
    std::string bucket;      // Likewise.
    std::string own_folder;  // Not shared with the tuner.
    FileDescriptor hold;     // On it.
    // Of its checkpoints.
    Way way() const { return bucket.empty() ? Way::kTuner : Way::kStore; }
  };
  // A sweep that was left, one of whose jobs was still at work.
  struct Left {
    ExperimentId sweep;
    Place place;
  };
  // Moves what the place still has aside; returns the folders that are to be removed.
  static std::vector<std::string> Clear(const Place& place);
  static Job RemovalOf(const std::string& folder);
  // Requires mutex_.
  bool IsAtWork(ExperimentId sweep) const;
  void ClearLeft(ExperimentId sweep);
  Result<CheckpointCopy> Bring(CheckpointStore& store, const ObtainCheckpoint& obtain,
                               const std::stop_token& stop);
  bool BeganWithout(const AttemptRef& ref);
  void Put(Job job);
  // Require mutex_.
  void BeginThreadIfNeeded();
  Queues::iterator FirstReady();
  void Work(std::stop_token end);

  CheckpointLink& link_;
  const Answers answers_;
  std::map<ExperimentId, Place> places_;

  std::mutex mutex_;
  std::condition_variable_any has_jobs_;
  std::condition_variable has_ended_one_;
  Queues queues_;
  std::multimap<AttemptRef, std::stop_source> running_;
  std::vector<Left> left_;
  std::set<AttemptRef> began_without_;  // Attempts, what earlier ones of their trials left.
  // As many as were ever at work at the same time.
  std::vector<std::jthread> threads_;
};

}  // namespace tune
