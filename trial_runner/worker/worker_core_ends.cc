// How the worker ends attempts and processes, what it says of them, and its own end.
#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "core/limits.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {

TrialEnd WorkerCore::Crash(std::string error) {
  return {Outcome::kCrashed, std::move(error), EndDetail::kNone};
}

// What to say of an attempt whose process is gone.
TrialEnd WorkerCore::EndOf(const Running& running, const ProcessEnd& end) {
  if (running.verdict) return *running.verdict;
  if (!end.spawn_error.empty()) return Crash(end.spawn_error);
  if (end.by_oom_killer) {
    return {Outcome::kOutOfMemory, "the system killed the trial process: memory is short",
            EndDetail::kNone};
  }
  if (end.signal == "SIGKILL") {
    return {Outcome::kKilled, "the trial process was killed by SIGKILL, and not for want of memory",
            EndDetail::kNone};
  }
  if (!end.signal.empty()) return Crash("the trial process died of " + end.signal);
  if (end.exit_status == 0 && running.has_reported_final) return {Outcome::kCompleted, "", {}};
  if (end.exit_status == 0 && running.is_told_to_stop) return {Outcome::kStopped, "", {}};
  return Crash("the trial process exited with status " + std::to_string(end.exit_status) +
               " in the middle of the attempt");
}

void WorkerCore::OnProcessEnded(ProcessId id, const ProcessEnd& end, Instant) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  Process process = std::move(found->second);
  processes_.erase(found);
  const size_t others = OthersIn(process);
  while (!process.running.empty()) {
    const auto& [lane, running] = *process.running.begin();
    TrialEnd its_end = EndOf(running, end);
    const bool is_known = running.verdict || its_end.outcome == Outcome::kCompleted ||
                          its_end.outcome == Outcome::kStopped;
    if (others > 0 && !is_known) its_end = LostWith(running, others, its_end.error);
    LetGo(id, process, lane, std::move(its_end));
  }
  ExitIfDone();
}

// Those that may be at fault when an attempt's process ends: who runs there too, or failed there.
size_t WorkerCore::OthersIn(const Process& process) {
  const size_t all = process.running.size() + (process.is_spent ? 1 : 0);
  return all == 0 ? 0 : all - 1;
}

// The end of an attempt whose process others shared, and may have been at fault.
TrialEnd WorkerCore::LostWith(const Running& running, size_t others, const std::string& why) {
  sweeps_.at(running.start.ref.sweep).loners.insert(running.start.ref.trial);
  return {Outcome::kLost,
          "it shared its process with " + std::to_string(others) +
              (others == 1 ? " other trial" : " other trials") + " and goes on alone: " + why,
          EndDetail::kNone};
}

void WorkerCore::EndAttempt(const AttemptRef& ref, TrialEnd end) {
  ++ends_sent_;
  AttemptEnded message{ref, end.outcome, CutError(std::move(end.error)), end.detail};
  Say(Named(ref) + " ended: " + OutcomeName(end.outcome) +
      (message.error.empty() ? "" : ", " + message.error));
  if (!options_.is_local) unacknowledged_.push_back({message, ref, ends_sent_});
  Tell(std::move(message));
}

void WorkerCore::EndRunning(ProcessId id, Process& process, int64_t lane, TrialEnd end,
                            Instant now) {
  const bool is_shared = process.running.size() > 1;
  LetGo(id, process, lane, std::move(end));
  if (is_shared) return ChooseLogs(id, process);
  if (process.is_spent) Doom(id, process, true, now);
}

void WorkerCore::LetGo(ProcessId id, Process& process, int64_t lane, TrialEnd end) {
  const auto found = process.running.find(lane);
  TellDeviceMemory(found->second);
  Running running = std::move(found->second);
  const AttemptRef ref = running.start.ref;
  process.running.erase(found);
  running_.erase(ref);
  const bool is_kept_in_vain = running.is_keeping() && IsGoneForGood();
  if (!running.is_keeping() || is_kept_in_vain) waits_.erase(ref);
  if (running.awaits_checkpoint || is_kept_in_vain) effects_.push_back(GiveUpCheckpoints{ref});
  if (running.on_its_way || !running.told_durable.empty()) RememberTold(running);
  if (running.is_keeping() && !is_kept_in_vain) {
    if (running.said_end) end = *running.said_end;
    lingering_.emplace(ref, Lingering{std::move(running), std::move(end)});
    return;
  }
  EndOnceLogged(id, std::move(running), std::move(end));
}

// Who hears of the end finds all that it printed and left at the tuner. Of several ranks the first
// one's files count.
void WorkerCore::EndOnceLogged(ProcessId id, Running running, TrialEnd end) {
  const AttemptRef ref = running.start.ref;
  if (!SendsLog(running) || IsGoneForGood()) {
    return Finish(std::move(running.start), std::move(end));
  }
  SendLog last{id, ref, running.log_path, running.start.rank, /*is_last=*/true};
  if (running.start.rank == 0) last.folder = SweepOf(ref).FolderHere(running.start.artifact_dir);
  effects_.push_back(std::move(last));
  lingering_.emplace(ref, Lingering{std::move(running), std::move(end)});
}

bool WorkerCore::SendsLog(const Running& running) const {
  return !running.log_path.empty() && HasOwnArtifacts(running.start.ref);
}

void WorkerCore::OnLogSent(const AttemptRef& ref, const Status& sent) {
  const auto found = lingering_.find(ref);
  if (has_exited_ || found == lingering_.end() || found->second.running.is_keeping()) {
    return;
  }
  if (!sent.ok()) {
    Complain("what " + Named(ref) + " printed stays here, in " + found->second.running.log_path +
             ": " + sent.message());
  }
  Lingering left = std::move(found->second);
  lingering_.erase(found);
  Finish(std::move(left.running.start), std::move(left.end));
  ExitIfDone();
}

// It holds nothing any more.
void WorkerCore::Finish(StartAttempt ended, TrialEnd end) {
  --running_count_;
  Drop(cache_.Release(ended.ref));
  // Of a disk that the tuner does not see nobody will ever have it. What another end left may be of
  // an attempt that goes on beside this one, under a lease of its own.
  const bool is_done = end.outcome == Outcome::kCompleted || end.outcome == Outcome::kStopped;
  if (is_done && ended.world_size == 1 && HasOwnArtifacts(ended.ref)) {
    effects_.push_back(ClearTrialFolder{SweepOf(ended.ref).FolderHere(ended.artifact_dir)});
  }
  if (ended.rank > 0 && !end.error.empty() && end.outcome != Outcome::kCompleted) {
    end.error = "rank " + std::to_string(ended.rank) + ": " + end.error;
  }
  EndAttempt(ended.ref, std::move(end));
  Vacate(ended.cpu_milli, std::move(ended.slices));
}

// The latest end left this room: the queue's head takes it.
void WorkerCore::Vacate(int64_t cpu_milli, std::vector<DeviceSlice> slices) {
  if (queue_.empty()) {
    idle_rooms_.push_back({ends_sent_, cpu_milli, std::move(slices)});
    return;
  }
  StartAttempt next = std::move(queue_.front());
  queue_.pop_front();
  next.cpu_milli = cpu_milli;
  next.slices = std::move(slices);
  StartNow(std::move(next));
}

// The process goes: at once, or with a grace time.
void WorkerCore::Doom(ProcessId id, Process& process, bool at_once, Instant now) {
  if (process.is_doomed && !at_once) return;
  process.is_doomed = true;
  if (at_once) {
    process.kill_at.reset();
  } else {
    process.kill_at = now + Milliseconds(limits::kKillGraceMs);
    if (leave_by_) process.kill_at = std::max(*process.kill_at, *leave_by_);
  }
  if (!at_once && leave_by_ && RunsUserPrograms(process.program)) {
    const int64_t left_ms = (*process.kill_at - now).us / 1000;
    effects_.push_back(WriteToProcess{id, EncodeLeaveWithin(left_ms)});
  } else {
    effects_.push_back(SignalProcess{id, at_once});
  }
}

// The process goes. The end of the attempt that is the reason is known, and of the only one; nobody
// knows of others whose fault it was.
void WorkerCore::Condemn(ProcessId id, Process& process, std::optional<int64_t> lane,
                         const TrialEnd& end, bool at_once, Instant now) {
  const size_t others = OthersIn(process);
  for (auto& [number, running] : process.running) {
    if (others > 0) sweeps_.at(running.start.ref.sweep).loners.insert(running.start.ref.trial);
    if (running.verdict) continue;
    const bool is_reason = others == 0 || number == lane;
    running.verdict = is_reason ? end : LostWith(running, others, end.error);
    running.stop_by.reset();
  }
  Doom(id, process, at_once, now);
}

// The attempt shall end, and its process go on for the others.
void WorkerCore::Leave(ProcessId id, Process& process, int64_t lane, const TrialEnd& end,
                       bool at_once, Instant now) {
  Running& running = process.running.at(lane);
  if (!running.verdict) running.verdict = end;
  running.stop_by.reset();
  if (running.is_held_back) return EndRunning(id, process, lane, *running.verdict, now);
  if (!running.leave_by) running.leave_by = now + Milliseconds(limits::kLeaveGraceMs);
  effects_.push_back(WriteToProcess{id, EncodeLeave(at_once, lane)});
}

// The attempt is ended for no fault of its own. Unless that is to be at once, the iteration that it
// is at may still be saved and reported.
void WorkerCore::GiveBack(ProcessId id, Process& process, int64_t lane, bool at_once, Instant now) {
  const TrialEnd end = {Outcome::kPreempted, "", EndDetail::kNone};
  Running& running = process.running.at(lane);
  LimitKeeping(running, now);
  running.may_report = !at_once && (running.may_report || !running.verdict);
  if (process.running.size() == 1 || process.is_doomed) {
    return Condemn(id, process, lane, end, at_once, now);
  }
  Leave(id, process, lane, end, at_once, now);
}

void WorkerCore::GiveBackAll(ProcessId id, Process& process, const TrialEnd& end, bool at_once,
                             Instant now) {
  for (auto& [lane, running] : process.running) {
    LimitKeeping(running, now);
    running.may_report = !at_once && (running.may_report || !running.verdict);
    if (!running.verdict) running.verdict = end;
    running.stop_by.reset();
  }
  Doom(id, process, at_once, now);
}

void WorkerCore::OnTerminate(Instant now) { Drain("told to end", "it was told to end", now); }

void WorkerCore::OnNotice(const std::string& why, Instant now) {
  const std::string text = CutError(why);
  Drain(text, text, now);
}

// It leaves its sweeps, which go on elsewhere.
void WorkerCore::Drain(const std::string& why, const std::string& goodbye, Instant now) {
  if (is_winding_down_ || has_exited_) return;
  if (!goodbye_) goodbye_ = Goodbye{goodbye};
  TellOfDraining(why);
  // Out of reach nothing can be saved.
  leave_by_ = now + (IsAway() ? Milliseconds(limits::kKillGraceMs) : options_.grace);
  Wind(now);
}

void WorkerCore::TellOfDraining(const std::string& why) {
  const std::string trials = Counted(static_cast<int64_t>(running_count_), "running trial");
  std::string fate = "no trial runs";
  if (running_count_ > 0 && IsAway()) {
    fate = "the tuner cannot be reached: " + trials + " ended here; it begins " +
           (running_count_ == 1 ? "that" : "them") +
           " again, from the last checkpoint, when this worker's lease is over";
  } else if (running_count_ > 0) {
    fate = trials + (running_count_ == 1 ? " goes" : " go") + " back to the tuner";
  }
  Say("draining (" + why + "): " + fate);
}

// Nothing begins any more; what waits is given back, what runs is ended.
void WorkerCore::Wind(Instant now) {
  if (is_winding_down_ || has_exited_) return;
  is_winding_down_ = true;
  if (IsGoneForGood()) GiveUpLingering();
  for (auto& [ref, left] : lingering_) LimitKeeping(left.running, now);
  for (const StartAttempt& start : std::exchange(queue_, {})) {
    EndAttempt(start.ref, {Outcome::kPreempted, "", EndDetail::kNone});
  }
  for (auto& [id, process] : processes_) {
    GiveBackAll(id, process, {Outcome::kPreempted, "", EndDetail::kNone}, process.running.empty(),
                now);
  }
  ExitIfDone();
}

void WorkerCore::ExitIfDone() {
  if (!is_winding_down_ || has_exited_ || !processes_.empty() || !lingering_.empty()) return;
  has_exited_ = true;
  if (goodbye_) Tell(*goodbye_);
  effects_.push_back(ExitWorker{wind_status_});
}

void WorkerCore::AbandonAll() {
  for (const auto& [id, process] : processes_) effects_.push_back(SignalProcess{id, true});
}

}  // namespace tune
