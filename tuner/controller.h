// Sweeps and their workers as a state machine: Apply(events, now) -> rows and actions. It is pure:
// same specs, seeds and events, same answers. What is tried and what comes of it each sweep knows
// (sweep.h), who is there and who holds what the cluster (cluster.h), who gets the next lease the
// lease giver (lease_giver.h); the controller says what each event is to each of them. What a sweep
// was told stands in its stream, so that each recovers from its own alone.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/event.h"
#include "tuner/lease_giver.h"
#include "tuner/open_sweep.h"
#include "tuner/switchboard.h"
#include "tuner/transition.h"

namespace tune {

class Controller {
 public:
  explicit Controller(const HeadOptions& options = {})
      : options_(options), board_(options), giver_(board_) {}

  // ---- which sweeps there are

  // A new one, or one whose steps follow (Follow).
  OpenSweep& Enlist(ExperimentId id, ControllerOptions options, std::unique_ptr<Searcher> searcher,
                    std::unique_ptr<TrialScheduler> scheduler);
  // One that has ended in this life.
  void Release(ExperimentId id);
  // One whose own steps could not be followed, before the first step of this life.
  void Discard(ExperimentId id) { board_.sweeps().erase(id); }
  const std::map<ExperimentId, OpenSweep>& sweeps() const { return board_.sweeps(); }
  OpenSweep& At(ExperimentId id) { return board_.sweeps().at(id); }

  // Workers that may still come (lease_giver.h).
  void Promise(std::vector<WorkerCapacity> capacities, bool any) {
    giver_.Promise(std::move(capacities), any);
  }

  // ---- a step

  // Takes the events in order, then gives out what became free. An event that makes no sense (an
  // unknown worker, a dead lease) is answered with a refusal and changes nothing.
  HeadTransition Apply(const std::vector<HeadEvent>& events, Instant now);
  // When Apply({DeadlinePassed}) must be called at the latest; nothing when only events can change
  // something.
  std::optional<Instant> NextDeadline() const;

  // ---- what was committed before (recovery.h)

  // A step by its sweep's stream alone: the sweep, and its rows, become what they were. The cluster
  // is none until it is restored, after the last step of all sweeps.
  Transition Follow(ExperimentId id, const std::vector<SweepEvent>& stream);
  Status RestoreCluster(const std::vector<WorkerRow>& workers);
  // The rows of workers that the sweep's database has: at a head they are kept up to date while it
  // is open, and its next step writes those of workers that are known by now.
  void NoteRows(ExperimentId id, const std::vector<WorkerRow>& rows);
  // Or it came of Apply, in a journal of an older build: the next step writes all that its rows
  // have now.
  void WriteAllWorkers() { board_.cluster().WriteAll(); }

  // ---- what is known

  const Cluster& cluster() const { return board_.cluster(); }
  const LeaseGiver& giver() const { return giver_; }
  Duration lease() const;
  Duration heartbeat() const;
  // What does not hold of all that must after a step, as a sentence. Apply() looks at what the step
  // moved, and ends the process; this looks at everything, for tests and the simulator.
  std::optional<std::string> BrokenInvariant() const;

 private:
  std::vector<SweepInfo> IntroduceTo(const WorkerJoined& event);
  void On(const WorkerJoined& event);
  void On(const WorkerGone& event);
  void On(const ReportArrived& event);
  void On(const CheckpointArrived& event);
  void On(const AttemptFinished& event);
  void On(const TunerRestarted& event);
  void On(const TunerSlept& event);
  void On(const DeadlinePassed&) {}  // Apply looks at the time anyway.
  void On(const WorkerDrainRequested& event);
  void On(const DeviceFellAway& event);
  void On(const DeviceMemorySeen& event);
  void On(const WorkerUnfit& event);
  template <typename OfSweep>
  void On(const OfSweep& event) {
    for (OpenSweep* const sweep : Addressed()) board_.Tell(*sweep, event);
  }

  std::vector<OpenSweep*> Addressed();
  void BeginLife(OpenSweep& sweep);
  void CheckLimits();
  void EndStep();
  void SendHome(bool is_interrupted);
  bool HasEnded() const;
  bool MayQueue(const WorkerCapacity& capacity) const;
  bool RemembersDrains() const;

  HeadOptions options_;
  ExperimentId addressed_;  // Of the event that is taken.
  Switchboard board_;
  LeaseGiver giver_;
};

}  // namespace tune
