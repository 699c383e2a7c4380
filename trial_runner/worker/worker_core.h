// What a worker decides: which trial process runs which attempt, what it is told, when it is ended,
// and what the tuner hears. A pure state machine: what happens comes in with the time, what shall
// be done comes out as effects, performed in order by worker_loop.
//
// A program of the user's runs in the folder that the tuner has packed: a worker of another machine
// holds attempts back until that folder is found or fetched. Where it cannot be had, they are given
// back; the worker ends, or, a head's, goes on with other sweeps and tries that one again later.
// What it needs to know of a sweep comes before its first attempt, and a process runs one sweep's.
//
// Attempts that fuse (trial_runner/fusion.h) share a process, each in a lane of its own. One of
// them is ended by itself: it is asked to leave, and if it does not in time, the process goes.
// Where a process ends that several share, nobody knows whose fault it was: each is lost, which is
// no failure, and goes on alone; the one that ends its process alone is charged.
//
// What a trial has saved is reported once it is kept where the tuner finds it (checkpoint_store.h),
// and its end once the tuner has all that it printed, also where its process is gone. An object
// store may be away: an attempt that was told to end waits for it for a while only. Where reports
// need not wait, one checkpoint of an attempt is on its way at a time, and the latest follows it.
//
// Trial processes are kept: one whose attempt ended in order takes the next one at once. There are
// no more of them than attempts ran at the same time, but for one that may be started before the
// first. Leases ahead (messages.h) are taken over here, without asking the tuner.
//
// A worker that is not local outlives its connection. Without one it begins nothing new, lets its
// attempts run for the rest of the lease (counted from the last thing heard of the tuner), connects
// again with growing pauses, and says what it holds and what was not acknowledged; then it ends.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "core/status.h"
#include "core/time.h"
#include "core/value.h"
#include "trial_runner/devices/device_environment.h"
#include "trial_runner/fusion.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/checkpoint_cache.h"
#include "trial_runner/worker/running_attempt.h"
#include "trial_runner/worker/sweep_here.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune {

class WorkerCore {
 public:
  struct Options {
    Hello hello;                  // With its session.
    bool is_local = false;        // Ends without a word when its tuner is gone.
    std::string prewarm_program;  // Started before the tuner says what to run; may be empty.
    std::string cache = {};       // Where things for other sweeps too are kept; empty: nowhere.
    std::string address = {};     // Of this machine, as other workers reach it.
    // Of ranks that are all here, and of such as are on other workers too.
    DeviceEnvironment near_ranks = {}, spread_ranks = {};
    // What trials have to save, send and end in when the worker leaves while its sweeps go on.
    Duration grace = Milliseconds(limits::kKillGraceMs);
    std::optional<Instant> leave_at = {};  // It leaves by itself then.
    // Whether a variable is set here; null: all are.
    std::function<bool(const std::string& name)> has_variable = {};
    // A port of this machine that a program is to listen on, as long as the claim lives; an error
    // where it cannot be had, as of ClaimPort (own_address.h).
    std::function<Result<std::shared_ptr<const void>>(int64_t port)> claim_port = {};
  };
  explicit WorkerCore(Options options);

  // Once, first: says Hello and starts the process ahead of need.
  void Begin();

  void OnMessage(const ToWorker& message, Instant now, std::optional<Instant> came_at = {});
  // The connection ended.
  void OnTunerGone(const Status& reason, Instant now);
  void OnTerminate(Instant now);                       // SIGTERM to the worker.
  void OnNotice(const std::string& why, Instant now);  // Its machine is taken away.

  void OnProcessLine(ProcessId process, std::string_view line, Instant now);
  // It sent more than a line may hold.
  void OnProcessLineTooLong(ProcessId process, Instant now);
  // It has ended: it takes no other attempt. What it said last may still come, then its end.
  void OnProcessLeaving(ProcessId process);
  // It closed its connection: it is about to exit, or will be made to.
  void OnProcessClosed(ProcessId process, Instant now);
  void OnProcessEnded(ProcessId process, const ProcessEnd& end, Instant now);

  // Ends what uses more of a device's memory than it was given, where nothing else sees to it:
  // users' programs, without MPS. Our own trials know their limit.
  void OnDevicesSeen(const DevicesSeen& seen, Instant now);
  // Whether an MPS daemon runs, which holds what starts from now on to its part of a device.
  void OnMpsSeen(bool runs) { has_mps_ = runs; }

  // The machine has no room for another process: those that wait for an attempt make some.
  void GiveUpIdle();

  // Where that is on this machine; whether it is still asked for.
  bool OnPlace(ExperimentId sweep, const WantedPlace& wanted, const Result<FoundPlace>& found,
               Instant now);
  // It is still looked for: its data are on their way, or cannot be had yet.
  void OnPlaceWaits(ExperimentId sweep, const std::string& why);

  // What KeepCheckpoint, ObtainCheckpoint and SendLog asked for.
  void OnCheckpointKept(const AttemptRef& ref, const Result<KeptCheckpoint>& kept, Instant now);
  void OnCheckpointObtained(const AttemptRef& ref, const Result<CheckpointCopy>& copy, Instant now);
  void OnLogSent(const AttemptRef& ref, const Status& sent);
  // What an attempt's checkpoint waits for, beyond this machine; empty: it is on its way again.
  void OnCheckpointWaits(const AttemptRef& ref, const std::string& why, Instant now);

  void OnTime(Instant now);
  std::optional<Instant> NextDeadline() const;
  std::vector<Effect> TakeEffects();

  bool is_winding_down() const { return is_winding_down_; }  // It begins nothing any more.
  int64_t running_count() const { return running_count_; }
  int64_t process_count() const { return static_cast<int64_t>(processes_.size()); }

 private:
  using Running = RunningAttempt;
  struct Process {
    std::string program;
    std::optional<ExperimentId> sweep;         // Whose attempts it runs, since its first one.
    std::optional<DeviceEnvironment> devices;  // Bound to these since its first attempt.
    Fusion fusion;                             // Of those that it runs; the least lanes_max.
    std::map<int64_t, Running> running;        // By lane.
    int64_t last_lane = 0;
    bool is_leaving = false;         // Takes no other attempt.
    bool is_spent = false;           // Likewise, and goes when its last one has ended.
    bool is_doomed = false;          // On its way out; what it still says mostly does not count.
    std::optional<Instant> kill_at;  // SIGKILL is due.
  };
  // CPUs and slices that an end left idle with an empty queue.
  struct IdleRoom {
    int64_t end_number = 0;
    int64_t cpu_milli = 0;
    std::vector<DeviceSlice> slices;
  };

  void On(const Welcome& message, Instant now);
  void On(const SweepInfo& message, Instant now);
  void On(const Refused& message, Instant now);
  void On(const StartAttempt& message, Instant now);
  void On(const AnswerReport& message, Instant now);
  void On(const KillAttempt& message, Instant now);
  void On(const EndsAcknowledged& message, Instant now);
  void On(const Heartbeat& message, Instant now);
  void On(const RemoveCached& message, Instant now);
  void On(const SweepOver& message, Instant now);
  void On(const Shutdown& message, Instant now);
  // The connection.
  bool IsAway() const { return reconnect_at_.has_value(); }
  bool HasLease() const;
  bool IsGoneForGood() const;
  void GiveUpLingering();
  Instant LeaseEnd() const;
  void Reconnect(Instant now);
  void SendAgain();
  void Tell(FromWorker message);
  std::string Named(const AttemptRef& ref) const;  // For people.
  void Say(std::string text);  // To who started it; a local worker leaves that to its tuner.
  void Complain(std::string text);
  void TellOfDraining(const std::string& why);
  void Acknowledge(int64_t ends_seen);

  // The sweeps.
  const SweepHere& SweepOf(const AttemptRef& ref) const { return sweeps_.at(ref.sweep); }
  void TakeUp(const SweepInfo& info, Instant now);
  void GetReadyFor(const SweepHere& sweep, Instant now);
  void CheckVariables(Instant now);
  std::vector<AttemptRef> EndSweep(ExperimentId sweep, Instant now);
  void Forget(ExperimentId sweep, Instant now);

  // Where an attempt runs.
  struct Seat {
    ProcessId process;
    int64_t lane = 0;
  };
  Running& At(const Seat& seat);
  const Seat* FirstRankHere(const StartAttempt& start) const;
  void BeginRanksBehind(const StartAttempt& first);
  bool Knows(const AttemptRef& ref) const;
  void StartNow(StartAttempt start);
  bool KnowsPlace(const SweepHere& sweep) const;
  void AskForPlace(const StartAttempt& start);
  void BeginOnceRestored(ProcessId id, Process& process, int64_t lane);
  void BeginAttempt(ProcessId id, Process& process, int64_t lane);
  void ChooseLogs(ProcessId id, const Process& process);
  Fusion FusionFor(const StartAttempt& start) const;
  ProcessId ProcessFor(const StartAttempt& start, const Fusion& fusion);
  ProcessId Spawn(const std::string& program, int64_t threads, DeviceEnvironment devices);
  DeviceEnvironment DevicesOf(const StartAttempt& start, const Fusion& fusion) const;
  std::optional<std::string> LossUnder(const std::vector<DeviceSlice>& slices) const;
  void LoseDevice(const DeviceLost& lost, Instant now);
  void OnDeviceUse(ProcessId id, Process& process, const DeviceUse& use, Instant now);
  void TellDeviceMemory(Running& running);
  std::string DeviceName(int64_t index) const;
  void OnReport(ProcessId id, Process& process, int64_t lane, const Report& report, Instant now);
  void SendReport(Running& running, AttemptReport message);
  void ForgetReport(const AttemptRef& ref);
  void KeepSaved(Running& running, AttemptReport message);
  void TellAhead(Running& running, AttemptReport message);
  void TellKept(Running& running, const KeptCheckpoint& kept);
  bool KeepNext(Running& running);
  void RememberTold(Running& running);
  void Drop(const CheckpointCache::Dropped& folders);
  bool HasOwnArtifacts(const AttemptRef& ref) const;
  bool IsInBucket(const AttemptRef& ref) const;
  bool HasCopies(const AttemptRef& ref) const;
  void LimitKeeping(Running& running, Instant now) const;
  void GiveUpLate(Instant now);
  std::optional<TrialEnd> EndForUnkept(const Status& status, Instant now);
  std::optional<TrialEnd> EndForUnobtained(const Status& status, Instant now);
  void OnEnd(ProcessId id, Process& process, int64_t lane, const TrialEnd& end, Instant now);
  static std::string CutError(std::string error);
  static TrialEnd Crash(std::string error);
  void EndAttempt(const AttemptRef& ref, TrialEnd end);
  void EndRunning(ProcessId id, Process& process, int64_t lane, TrialEnd end, Instant now);
  void LetGo(ProcessId id, Process& process, int64_t lane, TrialEnd end);
  void EndOnceLogged(ProcessId id, Running running, TrialEnd end);
  bool SendsLog(const Running& running) const;
  void Finish(StartAttempt ended, TrialEnd end);
  void Vacate(int64_t cpu_milli, std::vector<DeviceSlice> slices);
  void Doom(ProcessId id, Process& process, bool at_once, Instant now);
  void Condemn(ProcessId id, Process& process, std::optional<int64_t> lane, const TrialEnd& end,
               bool at_once, Instant now);
  void Leave(ProcessId id, Process& process, int64_t lane, const TrialEnd& end, bool at_once,
             Instant now);
  void GiveBack(ProcessId id, Process& process, int64_t lane, bool at_once, Instant now);
  void GiveBackAll(ProcessId id, Process& process, const TrialEnd& end, bool at_once, Instant now);
  void Drain(const std::string& why, const std::string& goodbye, Instant now);
  void Wind(Instant now);
  // It can run nothing (of a sweep), for a reason that a person must mend.
  void LeaveUnfit(const std::string& text, Instant now);
  void BeUnfit(ExperimentId sweep, const std::string& text, Instant now, bool may_pass = true);
  void TryAgain(ExperimentId id, SweepHere& sweep);
  bool IsOfHead() const { return welcome_ && welcome_->is_head; }
  void ExitIfDone();
  static TrialEnd EndOf(const Running& running, const ProcessEnd& end);
  static size_t OthersIn(const Process& process);
  TrialEnd LostWith(const Running& running, size_t others, const std::string& why);
  void CheckDeadlines(ProcessId id, Process& process, Instant now);
  void CheckLease(Instant now);
  Duration SilenceMax() const;
  void AbandonAll();

  const Options options_;
  std::optional<Welcome> welcome_;
  std::map<ExperimentId, SweepHere> sweeps_;
  std::map<ProcessId, Process> processes_;
  std::map<AttemptRef, Seat, ByEpoch> running_;
  // Attempts that ended: checkpoints of their last reports, or what they printed, are on their way.
  struct Lingering {
    Running running;
    TrialEnd end;
  };
  std::map<AttemptRef, Lingering> lingering_;
  CheckpointCache cache_;
  std::map<AttemptRef, std::string> waits_;          // For what checkpoints wait.
  std::map<ExperimentId, std::string> place_waits_;  // For what sweeps' first attempts do.
  int64_t running_count_ = 0;
  ProcessId last_process_;
  std::deque<StartAttempt> queue_;               // Leases ahead.
  std::deque<IdleRoom> idle_rooms_;              // Oldest first.
  int64_t ends_sent_ = 0;                        // On this connection.
  bool has_mps_ = false;                         // As last seen.
  std::vector<DeviceUse> device_use_;            // Likewise.
  std::map<int64_t, std::string> lost_devices_;  // Why.

  // What the tuner may not have: final reports and ends, in order. `end_number` of ends, on this
  // connection.
  struct Unacknowledged {
    FromWorker message;
    AttemptRef ref;
    std::optional<int64_t> end_number;
  };
  std::deque<Unacknowledged> unacknowledged_;
  bool is_up_ = false;                   // Welcomed on this connection.
  Instant connected_at_;                 // It was begun.
  Instant last_heard_;                   // Of the tuner.
  std::optional<Instant> reconnect_at_;  // There is no connection.
  int64_t reconnect_count_ = 0;          // In a row.
  std::optional<Instant> next_heartbeat_;
  bool is_winding_down_ = false;
  std::optional<Instant> leave_by_;  // It drains, and is gone by then.
  std::optional<Goodbye> goodbye_;   // What it says when it ends by its own wish.
  bool has_exited_ = false;
  int wind_status_ = 0;  // The exit status once nothing runs any more.
  std::vector<Effect> effects_;
};

}  // namespace tune
