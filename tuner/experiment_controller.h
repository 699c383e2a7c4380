// A sweep and its workers as a state machine: Apply(events, now) -> rows and actions. It is pure:
// same spec, seed and events, same answers; recovery is the same calls again (docs/ARCHITECTURE.md,
// the life of a report). What is tried and what comes of it the sweep knows (sweep.h), who is there
// and who holds what the cluster (cluster.h); the controller hands each what the other says, in
// order, so that neither is called while it is at work.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/cluster.h"
#include "tuner/event.h"
#include "tuner/sweep.h"
#include "tuner/transition.h"

namespace tune {

class ExperimentController {
 public:
  ExperimentController(ControllerOptions options, std::unique_ptr<Searcher> searcher,
                       std::unique_ptr<TrialScheduler> scheduler);
  ExperimentController(const ExperimentController&) = delete;
  ExperimentController& operator=(const ExperimentController&) = delete;

  // As of Sweep.
  void RestoreSuggestions(std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
    sweep_.RestoreSuggestions(std::move(suggestions));
  }
  void Offer(const PackageName& package) { sweep_.Offer(package); }

  // Takes the events in order, then gives out what became free. An event that makes no sense (an
  // unknown worker, a dead lease) is answered with a refusal and changes nothing.
  Transition Apply(const std::vector<Event>& events, Instant now);

  // ---- what was committed before, in a fresh one (recovery.h)

  // A step by its sweep's stream alone: the sweep, and its rows, become what they were. The cluster
  // is none until it is restored, after the last step.
  Transition Follow(const std::vector<SweepEvent>& stream);
  Status RestoreCluster(const std::vector<WorkerRow>& workers);
  // Or it came of Apply, in a journal of an older build: the next step writes all that its rows
  // have now.
  void WriteAllWorkers() { cluster_.WriteAll(); }

  // ---- what is known

  // When Apply({DeadlinePassed}) must be called at the latest; nothing when only events can change
  // something.
  std::optional<Instant> NextDeadline() const;

  // What a watcher is shown.
  const Sweep& sweep() const { return sweep_; }
  const Cluster& cluster() const { return cluster_; }
  const LeaseTable& leases() const { return cluster_.leases(); }
  const std::map<WorkerId, WorkerRecord>& workers() const { return cluster_.workers().all(); }
  // The highest id that a worker of this sweep ever had; 0: there was none.
  WorkerId last_worker() const {
    return workers().empty() ? WorkerId{} : workers().rbegin()->first;
  }
  std::string WorkerName(WorkerId worker) const;  // Empty: it is not known.
  bool HasLocalWorker() const;                    // One that is there.
  // As of Sweep.
  const std::vector<TrialRecord>& trials() const { return sweep_.trials(); }
  const TrialScheduler& scheduler() const { return sweep_.scheduler(); }
  const CheckpointRetention& checkpoints() const { return sweep_.checkpoints(); }
  int64_t backing_off_count() const { return sweep_.backing_off_count(); }
  bool is_paused() const { return sweep_.is_paused(); }
  std::vector<Doubt> doubts() const { return sweep_.doubts().list(); }
  const std::vector<std::string>& program_changes() const {
    return sweep_.doubts().program_changes();
  }
  bool is_ending() const { return sweep_.is_ending(); }
  bool is_being_stopped() const { return sweep_.is_being_stopped(); }
  int64_t max_concurrent() const { return sweep_.max_concurrent(); }
  const ControllerOptions& options() const { return sweep_.options(); }
  Duration lease() const { return sweep_.lease(); }
  Duration heartbeat() const { return sweep_.heartbeat(); }
  ExperimentStatus status() const { return sweep_.status(); }
  int64_t trial_count_max() const { return sweep_.trial_count_max(); }
  bool HasMoreToCreate() const { return sweep_.HasMoreToCreate(); }
  ResourceRequest Request() const { return sweep_.Request(); }
  ResourceRequest RequestOf(const TrialRecord& trial) const { return sweep_.RequestOf(trial); }
  std::optional<Instant> sweep_deadline() const { return sweep_.sweep_deadline(); }

  // What does not hold of all that must after a step, as a sentence. Apply() looks at what the step
  // moved, and ends the process; this looks at everything, for tests and the simulator.
  std::optional<std::string> BrokenInvariant() const;

 private:
  void On(const WorkerJoined& event);
  void On(const WorkerGone& event);
  void On(const ReportArrived& event);
  void On(const AttemptFinished& event);
  void On(const TunerRestarted& event);
  void On(const TunerSlept& event);
  void On(const DeadlinePassed&) {}  // Apply looks at the time anyway.
  void On(const WorkerDrainRequested& event);
  void On(const DeviceFellAway& event);
  void On(const DeviceMemorySeen& event);
  template <typename OfSweep>
  void On(const OfSweep& event) {
    Tell(event);
  }
  SweepAnswer Tell(SweepEvent event);
  void SetNow(Instant now);

  void Deliver(const Notice& notice);
  void Queue(Notices notices);
  void Obey(const std::vector<Wish>& wishes);
  void Settle();
  void Heed(Notices notices);
  bool CouldHaveWhole() const;
  void SayWhoLeft(const WorkerLeft& notice);

  void ForgetWhatNobodyHas();
  void Fill();
  void FillAhead();
  void WatchForUnplaceable();
  void EndStep();
  void Send(WorkerId worker, ToWorker message);

  Instant now_;
  Transition out_;
  Cluster cluster_;
  Sweep sweep_;
  std::deque<Notice> notices_;  // Not heeded yet.
};

}  // namespace tune
