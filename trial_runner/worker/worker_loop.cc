#include "trial_runner/worker/worker_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "core/posix/environment.h"
#include "core/posix/processor_level.h"
#include "core/utf8.h"
#include "trial_runner/devices/mps_daemon.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

bool StartOnDevices(const std::vector<ToWorker>& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const ToWorker& message) {
    const auto* const start = std::get_if<StartAttempt>(&message);
    return start != nullptr && !start->slices.empty();
  });
}

// What an epoll entry is about: the low bits say which, the rest is the process.
enum Source : uint64_t { kInbox, kSignals, kSocket, kOutput, kExit, kSourceCount };

uint64_t Tag(Source source, ProcessId id = {}) {
  return static_cast<uint64_t>(id.value) * kSourceCount + source;
}

constexpr Duration kClosePatience = Seconds(1);
constexpr Duration kMemoryLookPause = Seconds(1);
constexpr Duration kStartPause = Milliseconds(250);

// "SIGSEGV".
std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace

// ---- inbox

TunerInbox::TunerInbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TUNE_CHECK(event_.is_open());
}

void TunerInbox::OnMessages(std::vector<ToWorker> messages) {
  const std::lock_guard lock(mutex_);
  const bool was_empty = content_.messages.empty() && !content_.closed;
  for (ToWorker& message : messages) content_.messages.push_back(std::move(message));
  if (was_empty) Announce();
}

void TunerInbox::OnClosed(Status reason) {
  const std::lock_guard lock(mutex_);
  content_.closed = std::move(reason);
  Announce();
}

void TunerInbox::OnPlace(ExperimentId sweep, const WantedPlace& wanted, Result<FoundPlace> found) {
  const std::lock_guard lock(mutex_);
  content_.places.push_back({sweep, wanted, std::move(found)});
  Announce();
}

void TunerInbox::OnCheckpointKept(const AttemptRef& ref, Result<KeptCheckpoint> kept) {
  const std::lock_guard lock(mutex_);
  content_.kept.emplace_back(ref, std::move(kept));
  Announce();
}

void TunerInbox::OnCheckpointObtained(const AttemptRef& ref, Result<CheckpointCopy> copy) {
  const std::lock_guard lock(mutex_);
  content_.obtained.emplace_back(ref, std::move(copy));
  Announce();
}

void TunerInbox::OnDevices(std::vector<DeviceReading> readings) {
  const std::lock_guard lock(mutex_);
  content_.devices = std::move(readings);
  Announce();
}

void TunerInbox::Announce() {
  const uint64_t one = 1;
  TUNE_CHECK(write(event_.get(), &one, sizeof one) == sizeof one);
}

TunerInbox::Content TunerInbox::Take() {
  uint64_t count = 0;
  const std::lock_guard lock(mutex_);
  if (read(event_.get(), &count, sizeof count) < 0) return {};  // Nothing since the last time.
  return std::exchange(content_, {});
}

// ---- output

void OutputLog::Append(std::string_view text) {
  constexpr std::string_view kCut = "\n[what follows is not kept: the log has reached its limit]\n";
  if (text.empty() || bytes_ > limits::kAttemptLogBytesMax) return;
  if (!file_.is_open()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    struct stat status = {};
    if (!file_.is_open() || fstat(file_.get(), &status) != 0) return;
    bytes_ = status.st_size;
  }
  const auto room = static_cast<size_t>(std::max<int64_t>(0, limits::kAttemptLogBytesMax - bytes_));
  const bool is_cut = text.size() > room;
  const std::string_view kept = text.substr(0, room);
  bytes_ += static_cast<int64_t>(text.size());
  // A log is no result: a full disk shows where results are written.
  if (write(file_.get(), kept.data(), kept.size()) < 0) return;
  if (is_cut && write(file_.get(), kCut.data(), kCut.size()) < 0) return;
}

// ---- the loop

WorkerLoop::WorkerLoop(WorkerCore& core, TunerInbox& inbox, const Clock& clock,
                       std::string program_folder, PackageFetcher* fetcher,
                       CheckpointCarrier* carrier)
    : core_(core),
      inbox_(inbox),
      clock_(clock),
      program_folder_(std::move(program_folder)),
      fetcher_(fetcher),
      carrier_(carrier),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      oom_kill_files_(FindOomKillFiles()) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, signal);
  signals_ = FileDescriptor(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  TUNE_CHECK(epoll_.is_open() && signals_.is_open());
  Watch(inbox_.event_fd(), Tag(kInbox), EPOLLIN);
  Watch(signals_.get(), Tag(kSignals), EPOLLIN);
}

// Nothing of ours stays behind.
WorkerLoop::~WorkerLoop() {
  for (auto& [id, trial] : trials_) {
    Kill(trial);
    waitpid(trial.process.pid, nullptr, 0);
  }
  const bool had_programs = std::any_of(trials_.begin(), trials_.end(), [](const auto& entry) {
    return entry.second.runs_user_programs;
  });
  trials_.clear();
  if (had_programs) EndOrphans();
}

void WorkerLoop::Watch(int fd, uint64_t tag, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return;
  TUNE_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}

void WorkerLoop::Begin() {
  LookAtMemory(clock_.Now());
  core_.Begin();
  Perform();
}

int WorkerLoop::Run(const TunerLinkFactory& connect) {
  connect_ = &connect;
  link_ = connect(inbox_);
  constexpr int kEventsPerWait = 64;
  epoll_event events[kEventsPerWait];
  if (!to_send_.empty()) link_->Send(std::exchange(to_send_, {}));
  while (!exit_status_) {
    int timeout_ms = -1;
    std::optional<Instant> deadline = core_.NextDeadline();
    if (start_again_at_ && (!deadline || *start_again_at_ < *deadline)) deadline = start_again_at_;
    if (deadline) {
      const int64_t wait_us = std::max<int64_t>(0, (*deadline - clock_.Now()).us);
      timeout_ms = static_cast<int>(std::min<int64_t>((wait_us + 999) / 1000, 60'000));
    }
    const int count = epoll_wait(epoll_.get(), events, kEventsPerWait, timeout_ms);
    TUNE_CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      Handle(events[i].data.u64, events[i].events);
      Perform();
    }
    core_.OnTime(clock_.Now());
    Perform();
    if (start_again_at_ && clock_.Now() >= *start_again_at_) {
      StartWaiting();
      Perform();
    }
    if (clock_.Now() >= memory_seen_at_ + kMemoryLookPause) LookAtMemory(clock_.Now());
    if (!to_send_.empty()) link_->Send(std::exchange(to_send_, {}));
  }
  CloseLink();
  link_.reset();
  return *exit_status_;
}

// Waits until what was sent is under way and the other side has closed, but not for long.
void WorkerLoop::CloseLink() {
  if (is_link_closed_) return;
  link_->CloseAfterSending();
  const Instant give_up = clock_.Now() + kClosePatience;
  while (true) {
    pollfd ready = {inbox_.event_fd(), POLLIN, 0};
    const int64_t wait_us = (give_up - clock_.Now()).us;
    if (wait_us <= 0 || poll(&ready, 1, static_cast<int>(wait_us / 1000 + 1)) <= 0) return;
    if (inbox_.Take().closed) return;
  }
}

void WorkerLoop::Handle(uint64_t tag, uint32_t events) {
  const ProcessId id{static_cast<int64_t>(tag / kSourceCount)};
  switch (static_cast<Source>(tag % kSourceCount)) {
    case kInbox:
      return HandleInbox();
    case kSignals:
      return HandleSignals();
    case kSocket: {
      const auto found = trials_.find(id);
      if (found == trials_.end()) return;
      if ((events & EPOLLOUT) != 0) FlushSocket(id, found->second);
      if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) ReadSocket(id);
      return;
    }
    case kOutput:
      return ReadOutput(id);
    case kExit:
      return Reap(id);
    case kSourceCount:
      break;
  }
  TUNE_CHECK(false);
}

void WorkerLoop::HandleInbox() {
  TunerInbox::Content content = inbox_.Take();
  if (StartOnDevices(content.messages)) {
    core_.OnMpsSeen(RunsMps(EnvironmentText("CUDA_MPS_PIPE_DIRECTORY")));
  }
  for (const ToWorker& message : content.messages) core_.OnMessage(message, clock_.Now());
  for (const auto& [sweep, wanted, found] : content.places) {
    const bool is_awaited = core_.OnPlace(sweep, wanted, found, clock_.Now());
    if (is_awaited && found.ok() && carrier_ != nullptr) carrier_->Settle(sweep, *found);
  }
  for (const auto& [ref, kept] : content.kept) core_.OnCheckpointKept(ref, kept, clock_.Now());
  for (const auto& [ref, copy] : content.obtained) {
    core_.OnCheckpointObtained(ref, copy, clock_.Now());
  }
  if (content.devices) core_.OnDevicesSeen(Interpret(*content.devices), clock_.Now());
  if (!content.closed) return;
  is_link_closed_ = true;
  core_.OnTunerGone(*content.closed, clock_.Now());
}

void WorkerLoop::HandleSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) core_.OnTerminate(clock_.Now());
}

// What a user's program has started may have left the group, where a signal does not reach it; the
// process that runs it ends all of that when its connection closes, and is given a moment for it.
void WorkerLoop::Kill(Trial& trial) {
  constexpr int kMomentMs = 500;
  if (trial.runs_user_programs) {
    shutdown(trial.process.socket.get(), SHUT_RDWR);
    trial.process.output.Close();  // It does not wait for us to read.
    pollfd end = {trial.process.pid_fd.get(), POLLIN, 0};
    poll(&end, 1, kMomentMs);
  }
  kill(-trial.process.pid, SIGKILL);
}

void WorkerLoop::ReadSocket(ProcessId id) {
  while (ReadLines(id)) {
  }
}

// One read; whether there may be more.
bool WorkerLoop::ReadLines(ProcessId id) {
  constexpr size_t kReadBytes = 64 << 10;
  char buffer[kReadBytes];
  const auto found = trials_.find(id);
  if (found == trials_.end() || found->second.is_closed) return false;
  Trial& trial = found->second;
  const ssize_t count = recv(trial.process.socket.get(), buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (count <= 0) {
    trial.is_closed = true;
    trial.process.socket.Close();
    core_.OnProcessClosed(id, clock_.Now());
    return false;
  }
  std::string_view rest(buffer, static_cast<size_t>(count));
  const Instant now = clock_.Now();
  for (size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    // What was printed before this line belongs to the attempt that the line may end.
    ReadOutput(id);
    if (trial.inbox.empty()) {
      core_.OnProcessLine(id, rest.substr(0, end), now);
    } else {
      trial.inbox += rest.substr(0, end);
      core_.OnProcessLine(id, std::exchange(trial.inbox, {}), now);
    }
    Perform();
  }
  trial.inbox += rest;
  if (trial.inbox.size() > limits::kTrialLineBytesMax) {
    trial.inbox.clear();
    core_.OnProcessLineTooLong(id, now);
  }
  return static_cast<size_t>(count) == sizeof buffer;
}

void WorkerLoop::ReadOutput(ProcessId id) {
  constexpr size_t kReadBytes = 64 << 10;
  char buffer[kReadBytes];
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  Trial& trial = found->second;
  // A few reads at a time: one who prints without end shall not keep the others waiting.
  for (int i = 0; i < 16 && trial.process.output.is_open(); ++i) {
    const ssize_t count = read(trial.process.output.get(), buffer, sizeof buffer);
    if (count == 0) trial.process.output.Close();
    if (count <= 0) return;
    for (OutputLog& log : trial.logs) {
      log.Append(std::string_view(buffer, static_cast<size_t>(count)));
    }
  }
}

void WorkerLoop::FlushSocket(ProcessId id, Trial& trial) {
  if (trial.is_closed) return;
  const bool was_waiting = !trial.outbox.empty();
  while (!trial.outbox.empty()) {
    const ssize_t count = send(trial.process.socket.get(), trial.outbox.data(), trial.outbox.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      Watch(trial.process.socket.get(), Tag(kSocket, id), EPOLLIN | EPOLLOUT);
      return;
    }
    if (count < 0) {
      trial.outbox.clear();  // It is gone; its end is on the way.
      break;
    }
    trial.outbox.erase(0, static_cast<size_t>(count));
  }
  if (was_waiting) Watch(trial.process.socket.get(), Tag(kSocket, id), EPOLLIN);
}

// The process has ended: what it said before comes first, then its end; its group goes with it.
void WorkerLoop::Reap(ProcessId id) {
  core_.OnProcessLeaving(id);
  ReadSocket(id);
  ReadOutput(id);
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  const int pid = found->second.process.pid;
  const bool was_killed_by_us = found->second.was_killed;
  const bool ran_user_programs = found->second.runs_user_programs;
  kill(-pid, SIGKILL);
  int status = 0;
  TUNE_CHECK(waitpid(pid, &status, 0) == pid);
  trials_.erase(found);
  if (ran_user_programs) EndOrphans();
  if (start_again_at_) start_again_at_ = clock_.Now();  // There is room now.
  ProcessEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = SignalName(WTERMSIG(status));
    if (WTERMSIG(status) == SIGKILL && !was_killed_by_us) {
      LookAtMemory(clock_.Now());
      end.by_oom_killer = oom_kills_.Claim(clock_.Now());
    }
  } else {
    end.exit_status = WEXITSTATUS(status);
  }
  core_.OnProcessEnded(id, end, clock_.Now());
}

// A process that runs users' programs ends all that they started. Should it be killed itself, what
// had left its group or session is ours (AdoptOrphans), beside the trial processes that live.
void WorkerLoop::EndOrphans() {
  std::set<pid_t> spared;
  for (const auto& [id, trial] : trials_) spared.insert(trial.process.pid);
  EndDescendants(spared);
}

void WorkerLoop::LookAtMemory(Instant now) {
  memory_seen_at_ = now;
  if (const std::optional<int64_t> total = ReadOomKills(oom_kill_files_)) {
    oom_kills_.Saw(*total, now);
  }
}

// By the trial that each process belongs to. Where the driver's process numbers are not ours,
// nothing can be said of them.
DevicesSeen WorkerLoop::Interpret(const std::vector<DeviceReading>& readings) const {
  DevicesSeen seen;
  std::map<pid_t, ProcessId> ours;
  std::set<pid_t> pids;
  for (const auto& [id, trial] : trials_) {
    ours.emplace(trial.process.pid, id);
    pids.insert(trial.process.pid);
  }
  for (const DeviceReading& reading : readings) {
    if (!reading.lost.empty()) {
      seen.lost.push_back({reading.device, reading.lost});
      continue;
    }
    seen.use.push_back({reading.device, reading.used_bytes});
    std::map<ProcessId, int64_t> sums;
    for (const DeviceProcess& process : reading.processes) {
      const auto owner = NearestAbove(static_cast<pid_t>(process.pid), pids);
      if (owner) sums[ours.at(*owner)] += process.memory_bytes;
    }
    for (const auto& [id, bytes] : sums) seen.by_process.push_back({id, {reading.device, bytes}});
  }
  return seen;
}

// ---- effects

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
    const auto kept = std::find_if(open.begin(), open.end(),
                                   [&path](const OutputLog& log) { return log.path() == path; });
    if (kept == open.end()) {
      logs.emplace_back(path);
    } else {
      logs.push_back(std::move(*kept));
    }
  }
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
}

void WorkerLoop::Do(const ConnectToTuner&) {
  link_.reset();
  TunerInbox::Content left = inbox_.Take();  // Of the connection that was given up.
  for (auto& [sweep, wanted, found] : left.places) {
    inbox_.OnPlace(sweep, wanted, std::move(found));
  }
  for (auto& [ref, kept] : left.kept) inbox_.OnCheckpointKept(ref, std::move(kept));
  for (auto& [ref, copy] : left.obtained) inbox_.OnCheckpointObtained(ref, std::move(copy));
  to_send_.clear();
  is_link_closed_ = false;
  link_ = (*connect_)(inbox_);
}

void WorkerLoop::Do(const ExitWorker& effect) { exit_status_ = effect.status; }

}  // namespace tune
