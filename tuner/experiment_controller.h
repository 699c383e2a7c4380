// The controller of one sweep and of workers that are its own: they go home with it. What a tuner
// of one sweep needs of a controller (controller.h), without numbers of sweeps.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/controller.h"

namespace tune {

class ExperimentController {
 public:
  ExperimentController(ControllerOptions options, std::unique_ptr<Searcher> searcher,
                       std::unique_ptr<TrialScheduler> scheduler);

  // As of Sweep.
  void RestoreSuggestions(std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
    sweep_.RestoreSuggestions(std::move(suggestions));
  }
  void Offer(const PackageName& package) { sweep_.Offer(package); }

  // The controller itself.
  Controller& head() { return controller_; }
  const Controller& head() const { return controller_; }
  // As of Controller.
  Transition Apply(const std::vector<Event>& events, Instant now);
  std::optional<Instant> NextDeadline() const { return controller_.NextDeadline(); }
  Transition Follow(const std::vector<SweepEvent>& stream) {
    return controller_.Follow({}, stream);
  }
  Status RestoreCluster(const std::vector<WorkerRow>& workers) {
    return controller_.RestoreCluster(workers);
  }
  void WriteAllWorkers() { controller_.WriteAllWorkers(); }
  std::optional<std::string> BrokenInvariant() const { return controller_.BrokenInvariant(); }

  // What a watcher is shown.
  const Sweep& sweep() const { return sweep_; }
  const Cluster& cluster() const { return controller_.cluster(); }
  const LeaseTable& leases() const { return cluster().leases(); }
  const std::map<WorkerId, WorkerRecord>& workers() const { return cluster().workers().all(); }
  // The highest id that a worker of this sweep ever had; 0: there was none.
  WorkerId last_worker() const {
    return workers().empty() ? WorkerId{} : workers().rbegin()->first;
  }
  std::string WorkerName(WorkerId worker) const;  // Empty: it is not known.
  bool HasLocalWorker() const;                    // One that is there.
  Duration lease() const { return controller_.lease(); }
  Duration heartbeat() const { return controller_.heartbeat(); }
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
  ExperimentStatus status() const { return sweep_.status(); }
  int64_t trial_count_max() const { return sweep_.trial_count_max(); }
  bool HasMoreToCreate() const { return sweep_.HasMoreToCreate(); }
  ResourceRequest Request() const { return sweep_.Request(); }
  ResourceRequest RequestOf(const TrialRecord& trial) const { return sweep_.RequestOf(trial); }
  std::optional<Instant> sweep_deadline() const { return sweep_.sweep_deadline(); }

 private:
  Controller controller_;
  Sweep& sweep_;  // The only one, of the number 0.
};

}  // namespace tune
