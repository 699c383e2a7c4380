// The loop that makes decisions true: drain events, decide, commit, act. The only place where an
// action leaves the process, and it does so only after the commit that holds it.
//
// A head waits out a full disk under its database: the step that found no room is held, and tried
// again each second. Until it is committed no event is taken and nothing leaves the process but
// heartbeats, so that no lease runs out; trials go on to their next reports. To trials and to
// workers that are away that time is a sleep of the tuner's (TunerSlept).
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
    // Of a head. Else a full disk is an error of Step and Take.
    bool outwaits_full_disk = false;
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
  // A sweep that has ended and that the controller has released: nothing is kept of it.
  void Release(ExperimentId sweep);

  // Waits for an event, a deadline or `wake_at`, whichever is first, and takes what is there. An
  // error means that nothing of this step is durable and nothing of it left the process: the sweep
  // can only be resumed.
  Status Step(std::optional<Instant> wake_at);

  // Takes these events, and none from the queue, as a step of their own. Durable when it returns
  // ok and is not held. Requires that no step is held.
  Status Take(const std::vector<HeadEvent>& events);

  // A step waits for room on the database's disk.
  bool is_held() const { return held_.has_value(); }
  // Since when, and what is wrong with the disk, for who asks for a change. Requires is_held().
  Status WhyHeld() const;

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
  // For what its trials, or their checkpoints, wait there; empty: for nothing.
  std::string WaitOf(WorkerId worker) const;
  // Committed in this life.
  int64_t report_count() const { return report_count_; }
  // Lines for the person who watches, since the last call.
  std::vector<Say> TakeLines() { return std::exchange(lines_, {}); }

 private:
  // What a step has decided, and is to be committed.
  struct Decided {
    HeadTransition step;
    std::vector<JournalStep> journal;  // Of each of its sweeps, in order.
  };
  struct Held {
    Decided decided;
    Status why;  // Of the last try.
    Instant since;
    Instant next_try;
  };

  Status Commit(const Decided& decided);
  void Act(Decided decided);
  Status StepHeld(std::optional<Instant> wake_at);
  // How much later than it should have, the loop looks again, where that is much.
  Duration Overslept(Instant due, Instant now);
  // Queues WorkerSilent for workers past their lease, unless the tuner itself was suspended
  // meanwhile.
  void LookAtWorkers(Instant due, Instant now, std::vector<HeadEvent>& events);
  void HearWorkers(Instant now);
  void SendHeartbeats(Instant now);
  void DropEffectless(std::vector<HeadEvent>& events);
  // What is removed here goes from the workers' caches, too.
  void LookAtCaches();
  void LookAtWaits();
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
  std::optional<Held> held_;
  std::vector<EndOfExperiment> ended_;
  int64_t report_count_ = 0;
  DeviceUseByWorker device_use_;
  std::map<WorkerId, std::string> waits_;  // For what checkpoints wait there; empty: they do not.
  std::vector<Say> lines_;
};

}  // namespace tune
