#include "trial_runner/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"

namespace tune {
namespace {

// A line that could not be understood, for a message.
std::string Excerpt(std::string_view line) {
  constexpr size_t kExcerptBytes = 80;
  std::string text = ToUtf8(line.substr(0, kExcerptBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return "'" + text + (line.size() > kExcerptBytes ? "...'" : "'");
}

}  // namespace

std::string WorkerCore::CutError(std::string error) {
  std::replace(error.begin(), error.end(), '\n', ' ');
  if (error.size() > limits::kErrorBytesMax) error.resize(limits::kErrorBytesMax);
  return ToUtf8(error);
}

WorkerCore::WorkerCore(Options options) : options_(std::move(options)) {}

void WorkerCore::Begin() {
  if (!options_.prewarm_program.empty()) Spawn(options_.prewarm_program, 0, {});
  effects_.push_back(SendToTuner{options_.hello});
}

std::vector<Effect> WorkerCore::TakeEffects() { return std::exchange(effects_, {}); }

// ---- from the tuner

// Who was silent for a lease, as to a machine that slept, has given the trials to others, whatever
// comes then.
void WorkerCore::OnMessage(const ToWorker& message, Instant now, std::optional<Instant> came_at) {
  if (has_exited_ || IsAway()) return;  // What a connection that was given up still brings.
  CheckLease(came_at.value_or(now));
  if (has_exited_ || IsAway()) return;
  last_heard_ = came_at.value_or(now);
  std::visit([this, now](const auto& m) { On(m, now); }, message);
}

void WorkerCore::On(const Refused& message, Instant) {
  Complain("the tuner refused this worker: " + CutError(message.reason));
  AbandonAll();
  has_exited_ = true;
  effects_.push_back(ExitWorker{2});
}

WorkerCore::Running& WorkerCore::At(const Seat& seat) {
  return processes_.at(seat.process).running.at(seat.lane);
}

bool WorkerCore::Knows(const AttemptRef& ref) const {
  return running_.contains(ref) || lingering_.contains(ref) ||
         std::any_of(queue_.begin(), queue_.end(),
                     [&ref](const StartAttempt& start) { return start.ref == ref; });
}

void WorkerCore::On(const StartAttempt& message, Instant) {
  if (Knows(message.ref)) return;  // It came twice.
  if (is_winding_down_) {
    EndAttempt(message.ref, {Outcome::kPreempted, "the worker is ending", EndDetail::kNone});
    return;
  }
  Acknowledge(message.ends_seen);
  while (!idle_rooms_.empty() && idle_rooms_.front().end_number <= message.ends_seen) {
    idle_rooms_.pop_front();
  }
  const auto sweep = sweeps_.find(message.ref.sweep);
  if (sweep != sweeps_.end() && !sweep->second.unfit.empty()) {
    EndAttempt(message.ref, {Outcome::kPreempted, sweep->second.unfit, EndDetail::kNone});
    return;
  }
  if (!message.ahead) return StartNow(message);
  if (idle_rooms_.empty()) {
    queue_.push_back(message);
    return;
  }
  StartAttempt start = message;
  start.cpu_milli = idle_rooms_.front().cpu_milli;
  start.slices = std::move(idle_rooms_.front().slices);
  idle_rooms_.pop_front();
  StartNow(std::move(start));
}

void WorkerCore::On(const AnswerReport& message, Instant now) {
  const auto found = running_.find(message.ref);
  if (found == running_.end()) return;
  const Process& process = processes_.at(found->second.process);
  Running& running = At(found->second);
  if (running.sequence != message.sequence || !running.awaits_answer) return;
  running.awaits_answer = false;
  running.unanswered.reset();
  // What was told before the report was heard before it.
  std::erase_if(running.told_durable,
                [&message](const auto& told) { return told.after < message.sequence; });
  const bool is_leaving = process.is_doomed || running.leave_by;
  if (is_leaving && !running.may_report) return;
  if (!GoesOn(message.answer)) {
    running.is_told_to_stop = true;
    if (!is_leaving) running.stop_by = now + Milliseconds(limits::kStopGraceMs);
  }
  effects_.push_back(
      WriteToProcess{found->second.process, EncodeAnswer(message.answer, found->second.lane)});
}

void WorkerCore::On(const KillAttempt& message, Instant now) {
  const auto waiting =
      std::find_if(queue_.begin(), queue_.end(),
                   [&message](const StartAttempt& start) { return start.ref == message.ref; });
  if (waiting != queue_.end()) {
    queue_.erase(waiting);
    EndAttempt(message.ref, {Outcome::kPreempted, "", EndDetail::kNone});
    return;
  }
  if (message.at_once) ForgetReport(message.ref);
  if (const auto left = lingering_.find(message.ref); left != lingering_.end()) {
    return LimitKeeping(left->second.running, now);
  }
  const auto found = running_.find(message.ref);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  Running& running = At(seat);
  const bool may_finish = message.finish_within_ms > 0 && !running.is_held_back && !running.verdict;
  if (may_finish && !processes_.at(seat.process).is_doomed) {
    const Instant by = now + Milliseconds(message.finish_within_ms);
    running.stop_by = std::min(running.stop_by.value_or(by), by);
    return;
  }
  GiveBack(seat.process, processes_.at(seat.process), seat.lane, message.at_once, now);
}

void WorkerCore::On(const EndsAcknowledged& message, Instant) { Acknowledge(message.ends_seen); }

void WorkerCore::On(const Heartbeat&, Instant) {}  // Heard.

void WorkerCore::On(const RemoveCached& message, Instant) { Drop(cache_.Remove(message.path)); }

void WorkerCore::On(const Shutdown& message, Instant now) {
  if (message.why.empty()) {
    Say(message.is_interrupted ? "the sweep was interrupted: tune resume, where its tuner ran, "
                                 "goes on and says how to join again"
                               : "the sweep is over");
  } else {
    return Drain(message.why, message.why, now);
  }
  Wind(now);
}

// ---- from trial processes

void WorkerCore::OnProcessLine(ProcessId id, std::string_view line, Instant now) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const bool is_heard =
      !process.is_doomed || std::any_of(process.running.begin(), process.running.end(),
                                        [](const auto& entry) { return entry.second.may_report; });
  if (!is_heard) return;
  const Result<OfLane<FromTrial>> message = ParseFromLane(line);
  if (!message.ok()) {
    Condemn(id, process, std::nullopt,
            Crash("the trial process sent what is no message: " + message.status().message() +
                  ": " + Excerpt(line)),
            true, now);
    return;
  }
  if (process.running.empty()) return Doom(id, process, true, now);  // It has nothing to speak of.
  if (!process.running.contains(message->lane)) {
    Condemn(id, process, std::nullopt,
            Crash("the trial process spoke of an attempt that it does not run"), true, now);
    return;
  }
  if (const auto* const report = std::get_if<Report>(&message->message)) {
    return OnReport(id, process, message->lane, *report, now);
  }
  OnEnd(id, process, message->lane, std::get<TrialEnd>(message->message), now);
}

void WorkerCore::OnEnd(ProcessId id, Process& process, int64_t lane, const TrialEnd& said,
                       Instant now) {
  Running& running = process.running.at(lane);
  if (process.is_doomed && !running.may_report) return;
  // The tuner's own machine is where the person is: there both are the sweep's matter.
  const bool is_full_here =
      (said.detail == EndDetail::kDiskFull && HasOwnArtifacts(running.start.ref)) ||
      (said.detail == EndDetail::kOwnDiskFull && !options_.is_local);
  if (is_full_here && !is_winding_down_) {
    return LeaveUnfit("this worker's disk takes no writes: " + said.error, now);
  }
  const bool is_absent = said.detail == EndDetail::kAbsentPath;
  const bool is_unfit_here = is_absent
                                 ? !options_.is_local || IsOfHead()
                                 : said.detail == EndDetail::kUnfitMachine && !options_.is_local;
  if (is_unfit_here && !is_winding_down_) {
    return BeUnfit(running.start.ref.sweep,
                   "this worker has not what the trials need: " + said.error, now);
  }
  if (running.keeping) {
    running.said_end = said;
    running.stop_by.reset();
    return;
  }
  TrialEnd end = said;
  if (end.detail == EndDetail::kUnfitMachine || is_absent) end.detail = EndDetail::kNone;
  if (end.detail == EndDetail::kOwnDiskFull) end.detail = EndDetail::kDiskFull;
  if (is_full_here || is_unfit_here) end = {Outcome::kPreempted, said.error, EndDetail::kNone};
  if (said.outcome == Outcome::kStopped && !running.is_told_to_stop) {
    if (!running.leave_by) {
      Condemn(id, process, lane,
              Crash("the trial process ended its attempt as stopped without being told to"), true,
              now);
      return;
    }
    end = *running.verdict;
  }
  if (running.leave_by && !running.may_report) end = *running.verdict;
  const bool is_in_order = said.outcome == Outcome::kCompleted ||
                           said.outcome == Outcome::kStopped || said.outcome == Outcome::kBadConfig;
  if (!is_in_order) {
    // What went wrong may have left its mark on the process.
    if (process.running.size() == 1) return Condemn(id, process, lane, end, true, now);
    process.is_spent = true;
  }
  EndRunning(id, process, lane, std::move(end), now);
}

namespace {

// Which data an attempt read is told with its first report.
std::string WithDataNote(const SweepHere& sweep, const std::string& note) {
  const std::string of_data = sweep.DataNote();
  return of_data.empty() || note.empty() ? of_data + note : of_data + "; " + note;
}

}  // namespace

void WorkerCore::OnReport(ProcessId id, Process& process, int64_t lane, const Report& report,
                          Instant now) {
  Running& running = process.running.at(lane);
  const bool is_leaving = process.is_doomed || running.leave_by;
  if (is_leaving && !running.may_report) return;
  if (running.awaits_answer || running.is_told_to_stop || running.has_reported_final) {
    Condemn(id, process, lane,
            Crash(running.awaits_answer
                      ? "the trial process sent a report before the one before it was answered"
                  : running.is_told_to_stop
                      ? "the trial process sent a report after it was told to stop"
                      : "the trial process sent a report after its final one"),
            true, now);
    return;
  }
  ++running.sequence;
  TellDeviceMemory(running);
  if (report.final) {
    // No decision can follow it: the process need not wait for the tuner's commit.
    running.has_reported_final = true;
    if (!is_leaving) running.stop_by = now + Milliseconds(limits::kStopGraceMs);
  } else {
    running.awaits_answer = true;
  }
  AttemptReport message{running.start.ref, running.sequence, report};
  if (running.sequence == 1) {
    message.report.note = CutError(WithDataNote(SweepOf(message.ref), report.note));
  }
  const bool has_folder = report.has_checkpoint && !report.checkpoint.path.empty();
  const bool is_at_tuner = options_.is_local && !IsInBucket(message.ref);
  if (is_at_tuner || !has_folder) return SendReport(running, std::move(message));
  KeepSaved(running, std::move(message));
}

void WorkerCore::SendReport(Running& running, AttemptReport message) {
  if (!options_.is_local && message.report.final) {
    unacknowledged_.push_back({message, message.ref, std::nullopt});
  } else if (!options_.is_local) {
    running.unanswered = message;
  }
  Tell(std::move(message));
}

void WorkerCore::OnProcessLineTooLong(ProcessId id, Instant now) {
  const auto found = processes_.find(id);
  if (found == processes_.end() || found->second.is_doomed) return;
  Condemn(id, found->second, std::nullopt,
          Crash("the trial process sent a line longer than " +
                std::to_string(limits::kTrialLineBytesMax) + " bytes"),
          true, now);
}

void WorkerCore::OnProcessLeaving(ProcessId id) {
  const auto found = processes_.find(id);
  if (found != processes_.end()) found->second.is_leaving = true;
}

void WorkerCore::OnProcessClosed(ProcessId id, Instant now) {
  const auto found = processes_.find(id);
  if (found == processes_.end() || found->second.is_doomed) return;
  found->second.is_doomed = true;
  found->second.kill_at = now + Milliseconds(limits::kKillGraceMs);
}

// ---- time

void WorkerCore::OnTime(Instant now) {
  if (has_exited_) return;
  CheckLease(now);
  if (has_exited_) return;
  if (next_heartbeat_ && now >= *next_heartbeat_) {
    const std::string waits_for = !waits_.empty()         ? waits_.begin()->second
                                  : !place_waits_.empty() ? place_waits_.begin()->second
                                                          : "";
    Tell(Heartbeat{device_use_, cache_.TakeNext(kCachedPerHeartbeatMax), waits_for});
    next_heartbeat_ = now + Milliseconds(welcome_->heartbeat_ms);
  }
  for (auto& [id, sweep] : sweeps_) {
    if (sweep.tries_again && now >= *sweep.tries_again) TryAgain(id, sweep);
  }
  for (auto& [id, process] : processes_) CheckDeadlines(id, process, now);
  GiveUpLate(now);
  if (options_.leave_at && now >= *options_.leave_at) {
    Drain("its time is over", "its time is over (--drain-after)", now);
  }
}

void WorkerCore::CheckDeadlines(ProcessId id, Process& process, Instant now) {
  if (process.is_leaving) return;  // Nothing can be late any more.
  if (process.kill_at && now >= *process.kill_at) {
    Condemn(id, process, std::nullopt,
            Crash("the trial process closed its connection and did not exit"), true, now);
    return;
  }
  for (auto& [lane, running] : process.running) {
    if (running.leave_by && now >= *running.leave_by && !process.is_doomed) {
      return Condemn(id, process, lane, *running.verdict, true, now);
    }
    if (!running.stop_by || now < *running.stop_by) continue;
    const TrialEnd end =
        running.has_reported_final
            ? TrialEnd{Outcome::kCompleted, "it did not end after its final report",
                       EndDetail::kNone}
            : TrialEnd{Outcome::kStopped, "it was told to stop and did not end by itself",
                       EndDetail::kNone};
    if (process.running.size() == 1) return Condemn(id, process, lane, end, false, now);
    Leave(id, process, lane, end, true, now);
  }
}

// How long a tuner that should send heartbeats may say nothing before the connection is given up.
Duration WorkerCore::SilenceMax() const {
  return Milliseconds(std::max(3 * welcome_->heartbeat_ms, welcome_->lease_ms / 4));
}

// A worker that ends heeds it as long as something is on its way to the tuner.
bool WorkerCore::HasLease() const {
  return !options_.is_local && welcome_ && (!is_winding_down_ || !lingering_.empty());
}

void WorkerCore::CheckLease(Instant now) {
  if (!HasLease()) return;
  if (now >= LeaseEnd()) {
    Complain("nothing was heard of the tuner for " +
             FormatDuration(Milliseconds(welcome_->lease_ms)) +
             "; its trials are ended, and so is this worker; start it again when the "
             "tuner is back");
    AbandonAll();
    has_exited_ = true;
    effects_.push_back(ExitWorker{1});
  } else if (IsAway()) {
    if (now >= *reconnect_at_) Reconnect(now);
  } else if (now >= std::max(last_heard_, connected_at_) + SilenceMax()) {
    OnTunerGone(Unavailable("the tuner is silent"), now);
  }
}

std::optional<Instant> WorkerCore::NextDeadline() const {
  std::optional<Instant> next = next_heartbeat_;
  if (has_exited_) return std::nullopt;
  const auto consider = [&next](const std::optional<Instant>& t) {
    if (t && (!next || *t < *next)) next = t;
  };
  if (HasLease()) {
    consider(LeaseEnd());
    consider(reconnect_at_);
    if (!IsAway()) consider(std::max(last_heard_, connected_at_) + SilenceMax());
  }
  if (!is_winding_down_) consider(options_.leave_at);
  for (const auto& [id, sweep] : sweeps_) consider(sweep.tries_again);
  for (const auto& [ref, left] : lingering_) {
    if (left.running.is_keeping()) consider(left.running.kept_by);
  }
  for (const auto& [id, process] : processes_) {
    if (process.is_leaving) continue;
    consider(process.kill_at);
    for (const auto& [lane, running] : process.running) {
      consider(running.stop_by);
      if (!process.is_doomed) consider(running.leave_by);
    }
  }
  return next;
}

}  // namespace tune
