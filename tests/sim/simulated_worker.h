// A machine with a worker on it: the production WorkerCore, with pretended trial processes and a
// pretended connection where worker_loop has real ones. It can be killed, stopped, continued and
// asked to end, and is started again after a while.
//
// It also watches, as the machine itself: what really runs there never takes more than there is.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/sim/environment.h"
#include "tests/sim/simulated_bucket.h"
#include "tests/sim/simulated_carrier.h"
#include "tests/sim/simulated_disk.h"
#include "tests/sim/simulated_network.h"
#include "tests/sim/simulated_trial.h"
#include "trial_runner/worker/worker_core.h"

namespace tune::sim {

class SimulatedWorker final : public SimulatedTrial::Host, public SimulatedNetwork::End {
 public:
  SimulatedWorker(Environment& environment, SimulatedNetwork& network, int64_t index,
                  const Machine& machine, const ResourceRequest& request);

  bool is_local() const { return machine_.is_local; }
  bool is_alive() const { return core_ != nullptr; }
  bool is_stopped() const { return is_stopped_; }
  std::optional<ConnectionId> connection() const { return connection_; }

  void Start();
  void Kill();       // kill -9; its trial processes die with it.
  void Terminate();  // SIGTERM.
  void Stop();       // SIGSTOP: its trial processes run on.
  void Continue();
  void FillDisk(bool is_full);     // Its own, where it is apart.
  void LoseDevice(int64_t place);  // Of its devices, counted over and over.
  bool has_lost_devices() const { return !lost_devices_.empty(); }
  // For phase two: processes that are silent for good are ended by hand.
  void EndHungTrials();

  void OnTrialLine(ProcessId process, std::string line) override;
  void OnTrialSays(ProcessId process, std::optional<int64_t> iteration) override;
  void OnTrialExit(ProcessId process, ProcessEnd end) override;
  void Later(ProcessId process, Duration wait, Happenings::Act act) override;
  SimulatedDisk& disk() override { return machine_.is_apart ? own_disk_ : environment_.disk; }
  bool IsDiskFull() const override {
    return machine_.is_apart ? carrier_.is_full() : environment_.is_disk_full;
  }
  bool IsUnfit() const override { return machine_.is_unfit && environment_.are_faults_on; }
  void OnBytes(ConnectionId connection, const std::string& bytes) override;
  void OnClosed(ConnectionId connection, const Status& reason) override;

 private:
  struct Process {
    std::unique_ptr<SimulatedTrial> trial;
    bool is_ending = false;         // What it does from here on is nothing.
    std::optional<AttemptRef> ref;  // While it works on an attempt.
    std::vector<DeviceSlice> slices;
  };

  Instant Now() const { return clock_.Now(); }
  std::string Session() const;
  SimulatedCarrier::Worker ForCarrier();
  SimulatedBucket::Worker ForBucket();
  // Now, or once the worker is continued; never in another life of it.
  void WhenAwake(Happenings::Act act);
  void Perform();
  void Do(SendToTuner& effect);
  void Do(const SpawnProcess& effect);
  void Do(const WriteToProcess& effect);
  void Do(const KeepOutput& effect);
  void Do(const SignalProcess& effect);
  void Do(const PrintLine& effect);
  void Do(const PrintNote& /*effect*/) {}
  void Do(const FindPlace& effect);
  void Do(const SettleSweep& effect) { bucket_.Settle(effect.found); }
  void Do(const LeaveSweep&) {}  // There is no other.
  void Do(const KeepCheckpoint& effect);
  void Do(const ObtainCheckpoint& effect);
  void Do(const SendLog& effect);
  void Do(const GiveUpCheckpoints& effect);
  void Do(const DropCheckpoint& effect);
  void Do(const ClearTrialFolder&) {}  // A simulated trial leaves nothing else.
  void Do(const ConnectToTuner& effect);
  void Do(const ExitWorker& effect);
  void Flush();
  void Gone();
  void ScheduleWake();
  void NoteStart(ProcessId process, std::string_view line);
  void CheckCapacity();
  void SeeDeviceUse(ProcessId process);
  SimulatedTrial* Find(ProcessId process);

  Environment& environment_;
  SimulatedNetwork& network_;
  const int64_t index_;
  const Machine machine_;
  const ResourceRequest request_;
  const VirtualClock clock_;
  KeyedRandom random_;
  SimulatedDisk own_disk_;  // Of a machine that is apart.
  SimulatedCarrier carrier_;
  SimulatedBucket bucket_;
  int64_t life_ = 0;
  std::unique_ptr<WorkerCore> core_;
  std::optional<ConnectionId> connection_;
  std::map<ProcessId, Process> processes_;
  std::deque<FromWorker> outbox_;
  std::vector<Happenings::Act> waiting_;  // While it is stopped.
  std::vector<Happenings::Act> found_;    // Of its own disk, to be told at once.
  std::optional<Instant> wake_at_;        // Virtual time.
  std::optional<int> exit_status_;
  bool is_stopped_ = false;
  std::set<int64_t> lost_devices_;  // That the worker knows of.
  std::map<std::tuple<int64_t, int64_t, int64_t>, AttemptRef> started_;  // By trial, attempt, rank.
};

}  // namespace tune::sim
