// What a watcher is shown of one sweep and of the workers that it shares with others, if there are
// any: for displays, commands and status.
//
// Thread rule: one thread, the tuner's. It refers to the controller, and to a sweep that is open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/controller.h"

namespace tune {

class SweepView {
 public:
  SweepView(const Controller& controller, ExperimentId id) : controller_(controller), id_(id) {}

  // Of another sweep of the same workers; empty: it is this one.
  std::string NameOfOther(ExperimentId id) const {
    return id == id_ ? "" : controller_.sweeps().at(id).sweep.options().name;
  }
  const Sweep& sweep() const { return controller_.sweeps().at(id_).sweep; }
  const Cluster& cluster() const { return controller_.cluster(); }
  const LeaseTable& leases() const { return cluster().leases(); }  // Of all sweeps.
  const std::map<WorkerId, WorkerRecord>& workers() const { return cluster().workers().all(); }
  // The highest id that a worker ever had; 0: there was none.
  WorkerId last_worker() const {
    return workers().empty() ? WorkerId{} : workers().rbegin()->first;
  }
  std::string WorkerName(WorkerId worker) const { return cluster().workers().NameOf(worker); }
  std::optional<WorkerId> LocalWorker() const { return cluster().LocalWorker(); }
  Duration lease() const { return controller_.lease(); }
  Duration heartbeat() const { return controller_.heartbeat(); }

  // Workers that cannot run its trials, and why.
  const std::map<WorkerId, std::string>& unfit() const {
    return controller_.sweeps().at(id_).unfit;
  }

  LeaseGiver::ReservesInTurn LookAtReserves() const { return controller_.giver().LookAtReserves(); }
  // The sweep whose reserve keeps this one from room that is free; empty: none does.
  std::string HeldBackFor(LeaseGiver::ReservesInTurn& reserves) const {
    const auto other = controller_.giver().HeldBackFor(id_, reserves);
    return other ? NameOfOther(*other) : "";
  }

  // As of Sweep.
  const std::vector<TrialRecord>& trials() const { return sweep().trials(); }
  const TrialScheduler& scheduler() const { return sweep().scheduler(); }
  const CheckpointRetention& checkpoints() const { return sweep().checkpoints(); }
  int64_t running_count() const { return sweep().leases().running_count(); }
  int64_t backing_off_count() const { return sweep().backing_off_count(); }
  bool is_paused() const { return sweep().is_paused(); }
  std::vector<Doubt> doubts() const { return sweep().doubts().list(); }
  const std::vector<std::string>& program_changes() const {
    return sweep().doubts().program_changes();
  }
  bool is_ending() const { return sweep().is_ending(); }
  bool is_being_stopped() const { return sweep().is_being_stopped(); }
  int64_t max_concurrent() const { return sweep().max_concurrent(); }
  const ControllerOptions& options() const { return sweep().options(); }
  ExperimentStatus status() const { return sweep().status(); }
  int64_t trial_count_max() const { return sweep().trial_count_max(); }
  bool HasMoreToCreate() const { return sweep().HasMoreToCreate(); }
  ResourceRequest Request() const { return sweep().Request(); }
  ResourceRequest RequestOf(const TrialRecord& trial) const { return sweep().RequestOf(trial); }
  std::optional<Instant> sweep_deadline() const { return sweep().sweep_deadline(); }

 private:
  const Controller& controller_;
  ExperimentId id_;
};

}  // namespace tune
