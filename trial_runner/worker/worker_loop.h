// The worker's loop: waits for the tuner, the trial processes, signals and time, lets worker_core
// decide, and performs what it decided. The only place of a worker that touches the system.
//
// Thread rule: Run from one thread, which starts all trial processes; the inbox takes messages from
// any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "trial_runner/devices/device_inventory.h"
#include "trial_runner/tuner_link.h"
#include "trial_runner/worker/checkpoint_carrier.h"
#include "trial_runner/worker/log_carrier.h"
#include "trial_runner/worker/oom_kills.h"
#include "trial_runner/worker/output_log.h"
#include "trial_runner/worker/package_fetcher.h"
#include "trial_runner/worker/trial_process.h"
#include "trial_runner/worker/tuner_inbox.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {

class WorkerLoop {
 public:
  // `fetcher`, `carrier` and `logs`: null where nothing is fetched or sent.
  WorkerLoop(WorkerCore& core, TunerInbox& inbox, const Clock& clock, std::string program_folder,
             PackageFetcher* fetcher = nullptr, CheckpointCarrier* carrier = nullptr,
             LogCarrier* logs = nullptr);
  ~WorkerLoop();

  // Once, before Run: performs what the core wants before there is a connection; what it wants to
  // send waits.
  void Begin();
  // Until the core wants to exit; returns the exit status. `connect` is called for each connection.
  int Run(const TunerLinkFactory& connect);

 private:
  struct Trial {
    TrialProcess process;
    std::string inbox;   // A line that is not whole yet.
    std::string outbox;  // What the socket did not take yet.
    std::vector<OutputLog> logs;
    bool runs_user_programs = false;
    bool is_closed = false;
    bool was_killed = false;  // By us.
  };

  // A process that this machine has no room for at the moment, and what awaits it.
  struct WaitingStart {
    SpawnProcess effect;
    std::string outbox = {};
    std::vector<OutputLog> logs = {};
  };

  // A process that has ended, and left others behind that have not yet.
  struct LeftOrphans {
    ProcessId id;
    ProcessEnd end;
    Instant until;  // Its end is told then, whatever they do.
  };

  // What an epoll entry is about: the low bits say which, the rest is the process.
  enum Source : uint64_t { kInbox, kSignals, kSocket, kOutput, kExit, kSourceCount };
  static uint64_t Tag(Source source, ProcessId id = {}) {
    return static_cast<uint64_t>(id.value) * kSourceCount + source;
  }

  void TakeProcess(const SpawnProcess& effect, TrialProcess process);
  void StartWaiting();
  void Watch(int fd, uint64_t tag, uint32_t events);
  void Handle(uint64_t tag, uint32_t events);
  void HandleInbox();
  void HandleSignals();
  void Kill(Trial& trial);
  void ReadSocket(ProcessId id);
  bool ReadLines(ProcessId id);
  void ReadOutput(ProcessId id);
  void FlushSocket(ProcessId id, Trial& trial);
  void Reap(ProcessId id);
  std::set<pid_t> NotOrphans();
  void TellEndsWithoutOrphans();
  void LookAtMemory(Instant now);
  void PutAside(std::vector<OutputLog> logs);
  void TellLosses();
  DevicesSeen Interpret(const std::vector<DeviceReading>& readings) const;

  void Perform();
  void Do(SendToTuner& effect);
  void Do(const SpawnProcess& effect);
  void Do(const WriteToProcess& effect);
  void Do(const KeepOutput& effect);
  void Do(const SignalProcess& effect);
  void Do(const PrintLine& effect);
  void Do(const PrintNote& effect);
  void Print(const std::string& text, bool has_time) const;
  void Do(const FindPlace& effect);
  void Do(const SettleSweep& effect) { carrier_->Settle(effect.sweep, effect.found); }
  void Do(const LeaveSweep& effect);
  void Do(const KeepCheckpoint& effect) { carrier_->Keep(effect); }
  void Do(const ObtainCheckpoint& effect) { carrier_->Obtain(effect); }
  void Do(const SendLog& effect);
  void Do(const GiveUpCheckpoints& effect);
  void Do(const DropCheckpoint& effect) { carrier_->Drop(effect.folder); }
  // The trial's next attempt may be the next thing to begin.
  void Do(const ClearTrialFolder& effect) { carrier_->ClearTrial(effect.folder); }
  void Do(const ExitWorker& effect);
  void Do(const ConnectToTuner& effect);
  void CloseLink();

  WorkerCore& core_;
  TunerInbox& inbox_;
  const Clock& clock_;
  const std::string program_folder_;
  PackageFetcher* const fetcher_;
  CheckpointCarrier* const carrier_;
  LogCarrier* const logs_;
  FileDescriptor epoll_;
  FileDescriptor signals_;
  std::map<ProcessId, Trial> trials_;
  std::map<ProcessId, WaitingStart> waiting_;
  std::optional<Instant> start_again_at_;  // Of the first that waits.
  std::deque<LeftOrphans> left_orphans_;   // In order of their ends.
  std::optional<Instant> end_orphans_at_;  // Of them all, again.
  std::set<pid_t> unkillable_;             // Orphans for which nobody waits any more.
  std::vector<OutputLog> short_logs_;      // Of attempts that are over; they do not say so yet.
  std::optional<Instant> tell_losses_at_;  // Of all logs that are short.
  const TunerLinkFactory* connect_ = nullptr;
  std::unique_ptr<TunerLink> link_;
  std::vector<FromWorker> to_send_;
  std::vector<std::pair<ProcessId, ProcessEnd>> early_ends_;  // Of processes that never were.
  bool is_link_closed_ = false;
  std::optional<int> exit_status_;
  const std::vector<std::string> oom_kill_files_;
  OomKillBook oom_kills_;
  Instant memory_seen_at_;
};

}  // namespace tune
