#include "trial_runner/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {
namespace {

std::vector<int64_t> DevicesOf(const std::vector<DeviceSlice>& slices) {
  std::vector<int64_t> devices;
  for (const DeviceSlice& slice : slices) devices.push_back(slice.device);
  std::sort(devices.begin(), devices.end());
  return devices;
}

std::string CutError(std::string error) {
  std::replace(error.begin(), error.end(), '\n', ' ');
  if (error.size() > limits::kErrorBytesMax) error.resize(limits::kErrorBytesMax);
  return ToUtf8(error);
}

// A line that could not be understood, for a message.
std::string Excerpt(std::string_view line) {
  constexpr size_t kExcerptBytes = 80;
  std::string text = ToUtf8(line.substr(0, kExcerptBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return "'" + text + (line.size() > kExcerptBytes ? "...'" : "'");
}

}  // namespace

WorkerCore::WorkerCore(Options options)
    : options_(std::move(options)),
      program_(FailedPrecondition("the tuner has not said Welcome")) {}

void WorkerCore::Begin() {
  if (!options_.prewarm_program.empty()) Spawn(options_.prewarm_program, 0, {});
  effects_.push_back(SendToTuner{options_.hello});
}

std::vector<Effect> WorkerCore::TakeEffects() { return std::exchange(effects_, {}); }

// ---- from the tuner

void WorkerCore::OnMessage(const ToWorker& message, Instant now) {
  if (has_exited_) return;
  std::visit([this, now](const auto& m) { On(m, now); }, message);
}

void WorkerCore::On(const Welcome& message, Instant now) {
  if (welcome_) return;
  welcome_ = message;
  next_heartbeat_ = now + Milliseconds(message.heartbeat_ms);
  program_ = [&message]() -> Result<std::string> {
    if (message.trainable.find('\n') != std::string::npos) {
      return InvalidArgument("trainable: expected one line of JSON");
    }
    TUNE_ASSIGN_OR_RETURN(const Value trainable, ParseJson(message.trainable));
    TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
    return TrialProgram(kind);
  }();
  if (!program_.ok()) return;
  for (auto& [id, process] : processes_) {
    if (process.program != *program_) Doom(id, process, true, now);
  }
  if (processes_.empty()) Spawn(*program_, 0, {});
}

void WorkerCore::On(const Refused& message, Instant) {
  effects_.push_back(PrintLine{"the tuner refused this worker: " + CutError(message.reason)});
  AbandonAll();
  has_exited_ = true;
  effects_.push_back(ExitWorker{2});
}

bool WorkerCore::Knows(const AttemptRef& ref) const {
  return running_.contains(ref.epoch) ||
         std::any_of(queue_.begin(), queue_.end(),
                     [&ref](const StartAttempt& start) { return start.ref == ref; });
}

void WorkerCore::On(const StartAttempt& message, Instant) {
  if (Knows(message.ref)) return;  // It came twice.
  if (is_winding_down_) {
    EndAttempt(message.ref, Outcome::kPreempted, "the worker is ending");
    return;
  }
  while (!idle_rooms_.empty() && idle_rooms_.front().end_number <= message.ends_seen) {
    idle_rooms_.pop_front();
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
  const auto found = running_.find(message.ref.epoch);
  if (found == running_.end()) return;
  Process& process = processes_.at(found->second);
  Running& running = *process.running;
  if (running.start.ref != message.ref || running.sequence != message.sequence ||
      !running.awaits_answer) {
    return;
  }
  running.awaits_answer = false;
  if (process.is_doomed) return;
  if (message.answer != ReportAnswer::kContinue) {
    running.is_told_to_stop = true;
    running.stop_by = now + Milliseconds(limits::kStopGraceMs);
  }
  effects_.push_back(WriteToProcess{found->second, EncodeAnswer(message.answer)});
}

void WorkerCore::On(const KillAttempt& message, Instant now) {
  const auto waiting =
      std::find_if(queue_.begin(), queue_.end(),
                   [&message](const StartAttempt& start) { return start.ref == message.ref; });
  if (waiting != queue_.end()) {
    queue_.erase(waiting);
    EndAttempt(message.ref, Outcome::kPreempted, "");
    return;
  }
  const auto found = running_.find(message.ref.epoch);
  if (found == running_.end()) return;
  Process& process = processes_.at(found->second);
  if (process.running->start.ref != message.ref) return;
  Condemn(found->second, process, Outcome::kPreempted, "", false, now);
}

void WorkerCore::On(const EndsAcknowledged&, Instant) {}
void WorkerCore::On(const Heartbeat&, Instant) {}
void WorkerCore::On(const Shutdown&, Instant now) { Wind(now); }

void WorkerCore::OnTunerGone(const Status& reason) {
  if (has_exited_) return;
  const bool is_expected = is_winding_down_;
  const bool is_plain_loss = reason.ok() || reason.code() == StatusCode::kUnavailable;
  const bool is_quiet = options_.is_local && welcome_ && is_plain_loss;
  if (!is_expected && !is_quiet) {
    effects_.push_back(PrintLine{
        (reason.ok() ? std::string("the tuner closed the connection") : reason.message()) +
        (running_count_ > 0 ? "; the running trials are ended" : "")});
  }
  AbandonAll();
  has_exited_ = true;
  effects_.push_back(ExitWorker{is_expected ? 0 : 1});
}

// ---- starting

void WorkerCore::StartNow(StartAttempt start) {
  const AttemptRef ref = start.ref;
  if (!program_.ok() || start.config.find('\n') != std::string::npos) {
    EndAttempt(
        ref, Outcome::kBadConfig,
        program_.ok() ? "the configuration is not one line of JSON" : program_.status().message());
    Vacate(start.cpu_milli, std::move(start.slices));
    return;
  }
  const ProcessId id = ProcessFor(start);
  Process& process = processes_.at(id);
  process.devices = DevicesOf(start.slices);
  effects_.push_back(KeepOutput{
      id, start.artifact_dir.empty()
              ? ""
              : start.artifact_dir + "/attempt_" + std::to_string(ref.attempt.value) + ".log"});
  effects_.push_back(WriteToProcess{id, EncodeStart(*welcome_, start)});
  process.running.emplace().start = std::move(start);
  running_.emplace(ref.epoch, id);
  ++running_count_;
}

// An idle process that has seen these devices, or none yet; else a new one.
ProcessId WorkerCore::ProcessFor(const StartAttempt& start) {
  const std::vector<int64_t> devices = DevicesOf(start.slices);
  for (auto& [id, process] : processes_) {
    if (process.running || process.is_doomed || process.is_leaving) continue;
    if (!process.devices || *process.devices == devices) return id;
  }
  // An idle process that is bound to other devices makes room.
  for (auto& [id, process] : processes_) {
    if (process.running || process.is_doomed || process.is_leaving) continue;
    process.is_doomed = true;
    effects_.push_back(SignalProcess{id, true});
    break;
  }
  return Spawn(*program_, ThreadsOf(start.cpu_milli), devices);
}

ProcessId WorkerCore::Spawn(const std::string& program, int64_t threads,
                            std::vector<int64_t> devices) {
  ++last_process_.value;
  processes_[last_process_].program = program;
  effects_.push_back(SpawnProcess{last_process_, program, threads, std::move(devices)});
  return last_process_;
}

// ---- from trial processes

void WorkerCore::OnProcessLine(ProcessId id, std::string_view line, Instant now) {
  const auto found = processes_.find(id);
  if (found == processes_.end() || found->second.is_doomed) return;
  Process& process = found->second;
  const Result<FromTrial> message = ParseFromTrial(line);
  if (!message.ok()) {
    Condemn(id, process, Outcome::kCrashed,
            "the trial process sent what is no message: " + message.status().message() + ": " +
                Excerpt(line),
            true, now);
    return;
  }
  if (!process.running) return Doom(id, process, true, now);  // It has nothing to speak of.
  if (const auto* const report = std::get_if<Report>(&*message)) {
    return Forward(id, process, *report, now);
  }
  const auto& end = std::get<TrialEnd>(*message);
  if (end.outcome == Outcome::kStopped && !process.running->is_told_to_stop) {
    Condemn(id, process, Outcome::kCrashed,
            "the trial process ended its attempt as stopped without being told to", true, now);
    return;
  }
  const bool is_in_order = end.outcome == Outcome::kCompleted || end.outcome == Outcome::kStopped ||
                           end.outcome == Outcome::kBadConfig;
  if (!is_in_order) {
    // What went wrong may have left its mark on the process.
    Condemn(id, process, end.outcome, end.error, true, now);
    return;
  }
  EndRunning(process, end.outcome, end.error);
}

void WorkerCore::Forward(ProcessId id, Process& process, const Report& report, Instant now) {
  Running& running = *process.running;
  if (running.awaits_answer || running.is_told_to_stop || running.has_reported_final) {
    Condemn(id, process, Outcome::kCrashed,
            running.awaits_answer
                ? "the trial process sent a report before the one before it was answered"
            : running.is_told_to_stop ? "the trial process sent a report after it was told to stop"
                                      : "the trial process sent a report after its final one",
            true, now);
    return;
  }
  ++running.sequence;
  if (report.final) {
    // No decision can follow it: the process need not wait for the tuner's commit.
    running.has_reported_final = true;
    running.stop_by = now + Milliseconds(limits::kStopGraceMs);
  } else {
    running.awaits_answer = true;
  }
  effects_.push_back(SendToTuner{AttemptReport{running.start.ref, running.sequence, report}});
}

void WorkerCore::OnProcessLineTooLong(ProcessId id, Instant now) {
  const auto found = processes_.find(id);
  if (found == processes_.end() || found->second.is_doomed) return;
  Condemn(id, found->second, Outcome::kCrashed,
          "the trial process sent a line longer than " +
              std::to_string(limits::kTrialLineBytesMax) + " bytes",
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

void WorkerCore::OnProcessEnded(ProcessId id, const ProcessEnd& end, Instant) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  Process process = std::move(found->second);
  processes_.erase(found);
  if (process.running) {
    const Running& running = *process.running;
    if (running.verdict) {
      EndRunning(process, *running.verdict, running.verdict_error);
    } else if (!end.spawn_error.empty()) {
      EndRunning(process, Outcome::kCrashed, end.spawn_error);
    } else if (end.by_oom_killer) {
      EndRunning(process, Outcome::kOutOfMemory,
                 "the system killed the trial process: memory is short");
    } else if (end.signal == "SIGKILL") {
      EndRunning(process, Outcome::kKilled,
                 "the trial process was killed by SIGKILL, and not for want of memory");
    } else if (!end.signal.empty()) {
      EndRunning(process, Outcome::kCrashed, "the trial process died of " + end.signal);
    } else if (end.exit_status == 0 && running.has_reported_final) {
      EndRunning(process, Outcome::kCompleted, "");
    } else if (end.exit_status == 0 && running.is_told_to_stop) {
      EndRunning(process, Outcome::kStopped, "");
    } else {
      EndRunning(process, Outcome::kCrashed,
                 "the trial process exited with status " + std::to_string(end.exit_status) +
                     " in the middle of the attempt");
    }
  }
  ExitIfDone();
}

// ---- ending

void WorkerCore::EndAttempt(const AttemptRef& ref, Outcome outcome, std::string error) {
  ++ends_sent_;
  effects_.push_back(SendToTuner{AttemptEnded{ref, outcome, CutError(std::move(error))}});
}

void WorkerCore::EndRunning(Process& process, Outcome outcome, std::string error) {
  StartAttempt ended = std::move(process.running->start);
  process.running.reset();
  running_.erase(ended.ref.epoch);
  --running_count_;
  EndAttempt(ended.ref, outcome, std::move(error));
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
  }
  effects_.push_back(SignalProcess{id, at_once});
}

// The process goes, and its attempt's end is known.
void WorkerCore::Condemn(ProcessId id, Process& process, Outcome outcome, std::string error,
                         bool at_once, Instant now) {
  if (process.running && !process.running->verdict) {
    process.running->verdict = outcome;
    process.running->verdict_error = std::move(error);
    process.running->stop_by.reset();
  }
  Doom(id, process, at_once, now);
}

void WorkerCore::OnTerminate(Instant now) {
  says_goodbye_ = true;
  Wind(now);
}

// Nothing begins any more; what waits is given back, what runs is ended.
void WorkerCore::Wind(Instant now) {
  if (is_winding_down_ || has_exited_) return;
  is_winding_down_ = true;
  for (const StartAttempt& start : std::exchange(queue_, {})) {
    EndAttempt(start.ref, Outcome::kPreempted, "");
  }
  for (auto& [id, process] : processes_) {
    Condemn(id, process, Outcome::kPreempted, "", !process.running, now);
  }
  ExitIfDone();
}

void WorkerCore::ExitIfDone() {
  if (!is_winding_down_ || has_exited_ || !processes_.empty()) return;
  has_exited_ = true;
  if (says_goodbye_) effects_.push_back(SendToTuner{Goodbye{}});
  effects_.push_back(ExitWorker{0});
}

void WorkerCore::AbandonAll() {
  for (const auto& [id, process] : processes_) effects_.push_back(SignalProcess{id, true});
}

// ---- time

void WorkerCore::OnTime(Instant now) {
  if (has_exited_) return;
  if (next_heartbeat_ && now >= *next_heartbeat_) {
    effects_.push_back(SendToTuner{Heartbeat{}});
    next_heartbeat_ = now + Milliseconds(welcome_->heartbeat_ms);
  }
  for (auto& [id, process] : processes_) {
    if (process.kill_at && now >= *process.kill_at) {
      Condemn(id, process, Outcome::kCrashed,
              "the trial process closed its connection and did not exit", true, now);
    } else if (process.running && process.running->stop_by && now >= *process.running->stop_by) {
      const bool is_complete = process.running->has_reported_final;
      Condemn(id, process, is_complete ? Outcome::kCompleted : Outcome::kStopped,
              is_complete ? "it did not end after its final report"
                          : "it was told to stop and did not end by itself",
              false, now);
    }
  }
}

std::optional<Instant> WorkerCore::NextDeadline() const {
  std::optional<Instant> next = next_heartbeat_;
  const auto consider = [&next](const std::optional<Instant>& t) {
    if (t && (!next || *t < *next)) next = t;
  };
  for (const auto& [id, process] : processes_) {
    consider(process.kill_at);
    if (process.running) consider(process.running->stop_by);
  }
  return next;
}

}  // namespace tune
