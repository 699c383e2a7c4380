// The loop that makes decisions true: drain events, decide, commit, act. The only place where an
// action leaves the process, and it does so only after the commit that holds it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "core/status.h"
#include "trial_runner/liveness.h"
#include "trial_runner/worker_link.h"
#include "tuner/artifact_store.h"
#include "tuner/controller.h"
#include "tuner/device_status.h"
#include "tuner/effectless.h"
#include "tuner/event_queue.h"
#include "tuner/store.h"

namespace tune {

class Tuner {
 public:
  struct Parts {
    Controller& controller;
    Store& store;
    WorkerLink& link;
    ArtifactStore& artifacts;
    const Clock& clock;
    EventQueue& queue;
    // Sees what came in, and what was decided, before it is committed; may be none.
    std::function<void(const std::vector<HeadEvent>&, const HeadTransition&)> witness = nullptr;
  };

  // Of several sweeps: each is begun.
  explicit Tuner(Parts parts);
  // Of one, which the controller knows without a number.
  Tuner(Parts parts, ExperimentId experiment, int64_t last_step);

  // A sweep of the controller's, whose journal ends with this step; 0: it is new.
  void Begin(ExperimentId sweep, int64_t last_step) {
    steps_[sweep] = last_step;
    running_.insert(sweep);
  }

  // Waits for an event, a deadline or `wake_at`, whichever is first, and takes what is there. An
  // error means that nothing of this step is durable and nothing of it left the process: the sweep
  // can only be resumed.
  Status Step(std::optional<Instant> wake_at);

  // Takes these events, and none from the queue, as a step of their own. Durable when it returns
  // ok.
  Status Take(const std::vector<HeadEvent>& events);

  // When Step has something to do at the latest, if no event comes.
  std::optional<Instant> NextDeadline() const;

  // All sweeps that were begun have ended (for this life).
  bool is_done() const { return running_.empty(); }
  // Those that have ended since the last call.
  std::vector<EndOfExperiment> TakeEnded() { return std::exchange(ended_, {}); }
  // The devices' memory in use, as workers last told.
  const DeviceUseByWorker& device_use() const { return device_use_; }
  // When a connected worker was last heard of.
  std::optional<Instant> HeardAt(WorkerId worker) const { return liveness_.HeardAt(worker); }
  // Committed in this life.
  int64_t report_count() const { return report_count_; }
  // Lines for the person who watches, since the last call.
  std::vector<Say> TakeLines() { return std::exchange(lines_, {}); }

 private:
  // Whom was nothing heard of, and did we run ourselves?
  void LookAtWorkers(Instant due, Instant now, std::vector<HeadEvent>& events);
  void DropEffectless(std::vector<HeadEvent>& events);
  // What is removed here goes from the workers' caches, too.
  void LookAtCaches();
  bool IsNeededInCaches(const std::string& path) const;
  void Perform(std::vector<Action> actions);
  void Send(WorkerId worker, std::vector<ToWorker> messages);

  Parts parts_;
  ExperimentId nameless_;                  // In the database; 0: each has its number here, too.
  std::map<ExperimentId, int64_t> steps_;  // The journals' last ones.
  std::set<ExperimentId> running_;         // Those that have not ended in this life.
  Liveness liveness_;
  EffectlessEvents effectless_;
  Instant awake_at_;  // When the loop last looked.
  std::vector<EndOfExperiment> ended_;
  int64_t report_count_ = 0;
  DeviceUseByWorker device_use_;
  std::vector<Say> lines_;
};

}  // namespace tune
