// What the worker's loop performs of what the core decided.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/check.h"
#include "core/posix/processor_level.h"
#include "core/utf8.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/worker_loop.h"

namespace tune {
namespace {

constexpr Duration kStartPause = Milliseconds(250);

}  // namespace

void WorkerLoop::Perform() {
  for (std::vector<Effect> effects = core_.TakeEffects(); !effects.empty();
       effects = core_.TakeEffects()) {
    for (Effect& effect : effects) {
      std::visit([this](auto& e) { Do(e); }, effect);
    }
    for (const auto& [id, end] : std::exchange(early_ends_, {})) {
      core_.OnProcessEnded(id, end, clock_.Now());
    }
  }
}

void WorkerLoop::Do(SendToTuner& effect) { to_send_.push_back(std::move(effect.message)); }

void WorkerLoop::Do(const SpawnProcess& effect) {
  if (waiting_.empty()) {
    Result<TrialProcess> process = StartTrialProcess(
        {ProgramForProcessor(program_folder_, effect.program), effect.threads, effect.devices});
    if (process.ok()) return TakeProcess(effect, *std::move(process));
    if (process.status().code() != StatusCode::kResourceExhausted) {
      early_ends_.emplace_back(effect.process, ProcessEnd{0, "", process.status().message()});
      return;
    }
    Print(process.status().message() + "; its trial waits, and is tried again until it starts",
          true);
    start_again_at_ = clock_.Now() + kStartPause;
  }
  waiting_.emplace(effect.process, WaitingStart{effect});  // Behind those that wait already.
}

// In order, as far as there is room.
void WorkerLoop::StartWaiting() {
  start_again_at_.reset();
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const SpawnProcess& effect = first->second.effect;
    Result<TrialProcess> process = StartTrialProcess(
        {ProgramForProcessor(program_folder_, effect.program), effect.threads, effect.devices});
    if (process.status().code() == StatusCode::kResourceExhausted) {
      core_.GiveUpIdle();
      start_again_at_ = clock_.Now() + kStartPause;
      return;
    }
    WaitingStart start = std::move(first->second);
    waiting_.erase(first);
    if (!process.ok()) {
      early_ends_.emplace_back(start.effect.process, ProcessEnd{0, "", process.status().message()});
      continue;
    }
    TakeProcess(start.effect, *std::move(process));
    Trial& trial = trials_.at(start.effect.process);
    trial.outbox = std::move(start.outbox);
    trial.logs = std::move(start.logs);
    FlushSocket(start.effect.process, trial);
  }
}

void WorkerLoop::TakeProcess(const SpawnProcess& effect, TrialProcess process) {
  Trial& trial = trials_[effect.process];
  trial.process = std::move(process);
  trial.runs_user_programs = RunsUserPrograms(effect.program);
  Watch(trial.process.socket.get(), Tag(kSocket, effect.process), EPOLLIN);
  Watch(trial.process.output.get(), Tag(kOutput, effect.process), EPOLLIN);
  Watch(trial.process.pid_fd.get(), Tag(kExit, effect.process), EPOLLIN);
}

void WorkerLoop::Do(const WriteToProcess& effect) {
  if (const auto waiting = waiting_.find(effect.process); waiting != waiting_.end()) {
    waiting->second.outbox += effect.line;
    return;
  }
  const auto found = trials_.find(effect.process);
  if (found == trials_.end() || found->second.is_closed) return;
  Trial& trial = found->second;
  size_t sent = 0;
  if (trial.outbox.empty()) {
    const ssize_t count = send(trial.process.socket.get(), effect.line.data(), effect.line.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent = static_cast<size_t>(count);
  }
  if (sent == effect.line.size()) return;
  trial.outbox += effect.line.substr(sent);
  FlushSocket(effect.process, trial);
}

void WorkerLoop::Do(const KeepOutput& effect) {
  if (const auto waiting = waiting_.find(effect.process); waiting != waiting_.end()) {
    waiting->second.logs.clear();
    for (const std::string& path : effect.paths) waiting->second.logs.emplace_back(path);
    return;
  }
  const auto found = trials_.find(effect.process);
  if (found == trials_.end()) return;
  ReadOutput(effect.process);
  std::vector<OutputLog> logs;
  for (const std::string& path : effect.paths) {
    std::vector<OutputLog>& open = found->second.logs;
    const auto kept = std::find_if(open.begin(), open.end(), [&path](const OutputLog& log) {
      return log.path() == path && !log.is_elsewhere();
    });
    if (kept == open.end()) {
      logs.emplace_back(path);
    } else {
      logs.push_back(std::move(*kept));
      open.erase(kept);
    }
  }
  PutAside(std::move(found->second.logs));
  found->second.logs = std::move(logs);
}

void WorkerLoop::Do(const SignalProcess& effect) {
  if (waiting_.erase(effect.process) > 0) {
    early_ends_.emplace_back(effect.process, ProcessEnd{0, effect.kill ? "SIGKILL" : "SIGTERM"});
    return;
  }
  const auto found = trials_.find(effect.process);
  if (found == trials_.end()) return;
  if (!effect.kill) {
    kill(-found->second.process.pid, SIGTERM);
    return;
  }
  found->second.was_killed = true;
  ReadOutput(effect.process);
  Kill(found->second);
}

void WorkerLoop::Do(const PrintLine& effect) { Print(effect.text, effect.has_time); }
void WorkerLoop::Do(const PrintNote& effect) { Print(effect.text, true); }

// The time is for workers that have long run when somebody looks at them.
void WorkerLoop::Print(const std::string& text, bool has_time) const {
  const std::string time = has_time ? FormatInstant(clock_.Now()).substr(0, 19) + "Z " : "";
  std::fprintf(stderr, "tune worker: %s%s\n", time.c_str(), PrintableLines(text).c_str());
}

void WorkerLoop::Do(const FindPlace& effect) {
  TUNE_CHECK(fetcher_ != nullptr);
  // The inbox outlives us.
  fetcher_->Begin(
      effect.sweep, effect.wanted,
      [&inbox = inbox_](ExperimentId sweep, const WantedPlace& wanted, Result<FoundPlace> found) {
        inbox.OnPlace(sweep, wanted, std::move(found));
      });
}

void WorkerLoop::Do(const LeaveSweep& effect) {
  if (fetcher_ != nullptr) fetcher_->Leave(effect.sweep);
  if (carrier_ != nullptr) carrier_->Leave(effect.sweep);
  if (logs_ != nullptr) logs_->Leave(effect.sweep);
}

void WorkerLoop::Do(const SendLog& effect) {
  if (effect.is_last) ReadOutput(effect.process);
  TellLosses();  // Before the log is read.
  if (!effect.folder.empty()) return carrier_->SendFiles(effect);
  logs_->Send(effect);
}

void WorkerLoop::Do(const GiveUpCheckpoints& effect) {
  carrier_->GiveUp(effect.ref);
  logs_->GiveUp(effect.ref);
}

void WorkerLoop::Do(const ConnectToTuner&) {
  link_.reset();
  TunerInbox::Content left = inbox_.Take();  // Of the connection that was given up.
  for (auto& [sweep, why] : left.place_waits) inbox_.OnPlaceWaits(sweep, std::move(why));
  for (auto& [sweep, wanted, found] : left.places) {
    inbox_.OnPlace(sweep, wanted, std::move(found));
  }
  for (auto& [ref, why] : left.waits) inbox_.OnCheckpointWaits(ref, std::move(why));
  for (auto& [ref, kept] : left.kept) inbox_.OnCheckpointKept(ref, std::move(kept));
  for (auto& [ref, copy] : left.obtained) inbox_.OnCheckpointObtained(ref, std::move(copy));
  for (const SendLog& last : left.files_sent) inbox_.OnFilesSent(last);
  for (const auto& [ref, sent] : left.logs_sent) inbox_.OnLogSent(ref, sent);
  if (left.notice) inbox_.OnNotice(*std::move(left.notice));
  to_send_.clear();
  is_link_closed_ = false;
  link_ = (*connect_)(inbox_);
}

void WorkerLoop::Do(const ExitWorker& effect) { exit_status_ = effect.status; }

}  // namespace tune
