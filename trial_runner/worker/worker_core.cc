#include "trial_runner/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/working_folder.h"

namespace tune {
namespace {

// Of each attempt, and of each rank but the first.
std::string LogPath(const StartAttempt& start) {
  if (start.artifact_dir.empty()) return "";
  return start.artifact_dir + "/attempt_" + std::to_string(start.ref.attempt.value) +
         (start.rank == 0 ? "" : "_rank_" + std::to_string(start.rank)) + ".log";
}

// A line that could not be understood, for a message.
std::string Excerpt(std::string_view line) {
  constexpr size_t kExcerptBytes = 80;
  std::string text = ToUtf8(line.substr(0, kExcerptBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return "'" + text + (line.size() > kExcerptBytes ? "...'" : "'");
}

TrialEnd Crash(std::string error) {
  return {Outcome::kCrashed, std::move(error), EndDetail::kNone};
}

}  // namespace

std::string WorkerCore::CutError(std::string error) {
  std::replace(error.begin(), error.end(), '\n', ' ');
  if (error.size() > limits::kErrorBytesMax) error.resize(limits::kErrorBytesMax);
  return ToUtf8(error);
}

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
  if (has_exited_ || IsAway()) return;  // What a connection that was given up still brings.
  last_heard_ = now;
  std::visit([this, now](const auto& m) { On(m, now); }, message);
}

void WorkerCore::On(const Welcome& message, Instant now) {
  next_heartbeat_ = now + Milliseconds(message.heartbeat_ms);
  reconnect_count_ = 0;
  const bool is_same = welcome_ && welcome_->experiment == message.experiment &&
                       welcome_->trainable == message.trainable && welcome_->seed == message.seed &&
                       welcome_->metric == message.metric && welcome_->base_dir == message.base_dir;
  const bool has_same_package = welcome_ && welcome_->package == message.package;
  if (!has_same_package) {
    wanted_.reset();
    found_.reset();
  }
  if (!is_same) {
    TakeUp(message, now);
  } else {
    welcome_ = message;
  }
  // Another content of the same sweep: what was held back for the old one begins in the new one.
  for (auto& [id, process] : processes_) {
    for (const auto& [lane, running] : process.running) {
      if (running.is_held_back && !wanted_) AskForPlace(running.start.artifact_dir);
    }
  }
  if (!std::exchange(is_up_, true)) SendAgain();
}

// A sweep to work for. What ran for another one is over, and nothing is said of it: the same
// numbers may mean other attempts here.
void WorkerCore::TakeUp(const Welcome& message, Instant now) {
  unacknowledged_.clear();
  running_.clear();
  running_count_ = 0;
  loners_.clear();
  for (auto& [id, process] : processes_) {
    if (process.running.empty()) continue;
    process.running.clear();
    Doom(id, process, true, now);
  }
  welcome_ = message;
  program_ = [this, &message]() -> Result<std::string> {
    if (message.trainable.find('\n') != std::string::npos) {
      return InvalidArgument("trainable: expected one line of JSON");
    }
    TUNE_ASSIGN_OR_RETURN(trainable_, ParseJson(message.trainable));
    TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable_));
    working_folder_ = WorkingFolder(trainable_, message.base_dir);
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

WorkerCore::Running& WorkerCore::At(const Seat& seat) {
  return processes_.at(seat.process).running.at(seat.lane);
}

bool WorkerCore::Knows(const AttemptRef& ref) const {
  return running_.contains(ref.epoch) ||
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
  const Process& process = processes_.at(found->second.process);
  Running& running = At(found->second);
  if (running.start.ref != message.ref || running.sequence != message.sequence ||
      !running.awaits_answer) {
    return;
  }
  running.awaits_answer = false;
  running.unanswered.reset();
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
  const auto found = running_.find(message.ref.epoch);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  if (At(seat).start.ref != message.ref) return;
  GiveBack(seat.process, processes_.at(seat.process), seat.lane, message.at_once, now);
}

void WorkerCore::On(const EndsAcknowledged& message, Instant) { Acknowledge(message.ends_seen); }

void WorkerCore::On(const Heartbeat&, Instant) {}  // Heard.

void WorkerCore::On(const Shutdown&, Instant now) { Wind(now); }

// ---- starting

void WorkerCore::StartNow(StartAttempt start) {
  const AttemptRef ref = start.ref;
  if (!program_.ok() || start.config.find('\n') != std::string::npos) {
    EndAttempt(ref, {Outcome::kBadConfig,
                     program_.ok() ? "the configuration is not one line of JSON"
                                   : program_.status().message(),
                     EndDetail::kNone});
    Vacate(start.cpu_milli, std::move(start.slices));
    return;
  }
  if (const std::optional<std::string> loss = LossUnder(start.slices)) {
    EndAttempt(ref, {Outcome::kLost, *loss, EndDetail::kNone});
    Vacate(start.cpu_milli, std::move(start.slices));
    return;
  }
  const Fusion fusion = FusionFor(start);
  const ProcessId id = ProcessFor(start, fusion);
  Process& process = processes_.at(id);
  process.devices = DevicesOf(start, fusion);
  process.fusion = fusion;
  const int64_t lane = fusion.lanes_max > 1 ? ++process.last_lane : 0;
  Running& running = process.running[lane];
  running.start = std::move(start);
  running_.emplace(ref.epoch, Seat{id, lane});
  ++running_count_;
  if (KnowsPlace()) {
    BeginAttempt(id, process, lane);
  } else {
    running.is_held_back = true;
    AskForPlace(running.start.artifact_dir);
  }
}

Fusion WorkerCore::FusionFor(const StartAttempt& start) const {
  if (!MayFuse(trainable_) || loners_.contains(start.ref.trial) || start.world_size > 1) return {};
  const Result<Value> config = ParseJson(start.config);
  if (!config.ok()) return {};
  int64_t gpu_milli = 0;
  for (const DeviceSlice& slice : start.slices) gpu_milli += slice.milli;
  return FusionOf(trainable_, *config, gpu_milli);
}

// A local worker shares its tuner's disk.
bool WorkerCore::KnowsPlace() const {
  return options_.is_local || welcome_->package.sha256.empty() || found_.has_value();
}

void WorkerCore::AskForPlace(const std::string& artifact_dir) {
  if (wanted_) return;
  const std::string artifacts = artifact_dir.substr(0, artifact_dir.rfind('/'));
  wanted_ = WantedPlace{welcome_->package, working_folder_, artifacts};
  effects_.push_back(FindPlace{*wanted_});
}

void WorkerCore::BeginAttempt(ProcessId id, Process& process, int64_t lane) {
  Running& running = process.running.at(lane);
  running.is_held_back = false;
  StartAttempt start = running.start;
  WorkPlace place{"", welcome_->package.sha256, options_.cache};
  if (found_) {
    place = found_->place;
    // Also a checkpoint that this machine made is where it put it.
    for (std::string* const path : {&start.artifact_dir, &start.checkpoint_path}) {
      if (!path->starts_with(wanted_->artifacts + "/")) continue;
      *path = found_->artifacts + path->substr(wanted_->artifacts.size());
    }
  }
  if (start.is_spread) place.address = options_.address;
  running.log_path = LogPath(start);
  ChooseLogs(id, process);
  effects_.push_back(WriteToProcess{
      id, EncodeStart(*welcome_, start, DevicesOf(start, process.fusion), place, lane)});
}

// What a process prints is kept with each attempt that it runs.
void WorkerCore::ChooseLogs(ProcessId id, const Process& process) {
  KeepOutput logs{id, {}};
  for (const auto& [lane, running] : process.running) {
    if (!running.log_path.empty()) logs.paths.push_back(running.log_path);
  }
  effects_.push_back(std::move(logs));
}

void WorkerCore::OnPlace(const PackageName& package, const Result<FoundPlace>& found, Instant now) {
  if (has_exited_ || is_winding_down_ || !wanted_ || wanted_->package != package) return;
  if (!found.ok()) {
    const std::string text = "this worker cannot have the working_dir " + wanted_->folder + ": " +
                             found.status().message();
    effects_.push_back(PrintLine{CutError(text)});
    for (auto& [id, process] : processes_) {
      if (process.running.empty()) continue;
      GiveBackAll(id, process, {Outcome::kPreempted, text, EndDetail::kNone}, true, now);
    }
    wind_status_ = 1;
    says_goodbye_ = true;
    return Wind(now);
  }
  found_ = *found;
  for (auto& [id, process] : processes_) {
    for (const auto& [lane, running] : process.running) {
      if (running.is_held_back && !process.is_doomed) BeginAttempt(id, process, lane);
    }
  }
}

// One that runs what it fuses with; else an idle process that has seen these devices, or none yet;
// else a new one.
ProcessId WorkerCore::ProcessFor(const StartAttempt& start, const Fusion& fusion) {
  const DeviceEnvironment devices = DevicesOf(start, fusion);
  const auto takes_more = [](const Process& process) {
    return !process.is_doomed && !process.is_leaving && !process.is_spent;
  };
  const auto is_idle = [&](const Process& process) {
    return process.running.empty() && takes_more(process);
  };
  for (auto& [id, process] : processes_) {
    const bool has_room = !process.running.empty() && takes_more(process) &&
                          static_cast<int64_t>(process.running.size()) < fusion.lanes_max;
    const bool fuses = has_room && process.fusion == fusion && process.devices &&
                       SeeTheSame(*process.devices, devices);
    if (fuses) return id;
  }
  for (auto& [id, process] : processes_) {
    if (is_idle(process) && (!process.devices || *process.devices == devices)) return id;
  }
  // An idle process that is bound to other devices makes room.
  for (auto& [id, process] : processes_) {
    if (!is_idle(process)) continue;
    process.is_doomed = true;
    effects_.push_back(SignalProcess{id, true});
    break;
  }
  return Spawn(*program_, ThreadsOf(start.cpu_milli), devices);
}

ProcessId WorkerCore::Spawn(const std::string& program, int64_t threads,
                            DeviceEnvironment devices) {
  ++last_process_.value;
  processes_[last_process_].program = program;
  effects_.push_back(SpawnProcess{last_process_, program, threads, std::move(devices)});
  return last_process_;
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
  const Running& running = process.running.at(lane);
  if (process.is_doomed && !running.may_report) return;
  TrialEnd end = said;
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
  if (!options_.is_local && report.final) {
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
    LetGo(process, lane, std::move(its_end));
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
  loners_.insert(running.start.ref.trial);
  return {Outcome::kLost,
          "it shared its process with " + std::to_string(others) +
              (others == 1 ? " other trial" : " other trials") + " and goes on alone: " + why,
          EndDetail::kNone};
}

// ---- ending

void WorkerCore::EndAttempt(const AttemptRef& ref, TrialEnd end) {
  ++ends_sent_;
  AttemptEnded message{ref, end.outcome, CutError(std::move(end.error)), end.detail};
  if (!options_.is_local) unacknowledged_.push_back({message, ref, ends_sent_});
  Tell(std::move(message));
}

void WorkerCore::EndRunning(ProcessId id, Process& process, int64_t lane, TrialEnd end,
                            Instant now) {
  const bool is_shared = process.running.size() > 1;
  LetGo(process, lane, std::move(end));
  if (is_shared) return ChooseLogs(id, process);
  if (process.is_spent) Doom(id, process, true, now);
}

void WorkerCore::LetGo(Process& process, int64_t lane, TrialEnd end) {
  const auto found = process.running.find(lane);
  TellDeviceMemory(found->second);
  StartAttempt ended = std::move(found->second.start);
  process.running.erase(found);
  running_.erase(ended.ref.epoch);
  --running_count_;
  if (ended.rank > 0 && !end.error.empty()) {
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
  }
  effects_.push_back(SignalProcess{id, at_once});
}

// The process goes. The end of the attempt that is the reason is known, and of the only one; nobody
// knows of others whose fault it was.
void WorkerCore::Condemn(ProcessId id, Process& process, std::optional<int64_t> lane,
                         const TrialEnd& end, bool at_once, Instant now) {
  const size_t others = OthersIn(process);
  for (auto& [number, running] : process.running) {
    if (others > 0) loners_.insert(running.start.ref.trial);
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
  running.may_report = !at_once && (running.may_report || !running.verdict);
  if (process.running.size() == 1 || process.is_doomed) {
    return Condemn(id, process, lane, end, at_once, now);
  }
  Leave(id, process, lane, end, at_once, now);
}

void WorkerCore::GiveBackAll(ProcessId id, Process& process, const TrialEnd& end, bool at_once,
                             Instant now) {
  for (auto& [lane, running] : process.running) {
    running.may_report = !at_once && (running.may_report || !running.verdict);
    if (!running.verdict) running.verdict = end;
    running.stop_by.reset();
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
    EndAttempt(start.ref, {Outcome::kPreempted, "", EndDetail::kNone});
  }
  for (auto& [id, process] : processes_) {
    GiveBackAll(id, process, {Outcome::kPreempted, "", EndDetail::kNone}, process.running.empty(),
                now);
  }
  ExitIfDone();
}

void WorkerCore::ExitIfDone() {
  if (!is_winding_down_ || has_exited_ || !processes_.empty()) return;
  has_exited_ = true;
  if (says_goodbye_) Tell(Goodbye{});
  effects_.push_back(ExitWorker{wind_status_});
}

void WorkerCore::AbandonAll() {
  for (const auto& [id, process] : processes_) effects_.push_back(SignalProcess{id, true});
}

// ---- time

void WorkerCore::OnTime(Instant now) {
  if (has_exited_) return;
  CheckLease(now);
  if (has_exited_) return;
  if (next_heartbeat_ && now >= *next_heartbeat_) {
    Tell(Heartbeat{device_use_});
    next_heartbeat_ = now + Milliseconds(welcome_->heartbeat_ms);
  }
  for (auto& [id, process] : processes_) CheckDeadlines(id, process, now);
}

void WorkerCore::CheckDeadlines(ProcessId id, Process& process, Instant now) {
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

void WorkerCore::CheckLease(Instant now) {
  if (options_.is_local || !welcome_ || is_winding_down_) return;
  if (now >= LeaseEnd()) {
    effects_.push_back(PrintLine{"nothing was heard of the tuner for " +
                                 FormatDuration(Milliseconds(welcome_->lease_ms)) +
                                 "; its trials are ended"});
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
  if (!options_.is_local && welcome_ && !is_winding_down_) {
    consider(LeaseEnd());
    consider(reconnect_at_);
    if (!IsAway()) consider(std::max(last_heard_, connected_at_) + SilenceMax());
  }
  for (const auto& [id, process] : processes_) {
    consider(process.kill_at);
    for (const auto& [lane, running] : process.running) {
      consider(running.stop_by);
      if (!process.is_doomed) consider(running.leave_by);
    }
  }
  return next;
}

}  // namespace tune
