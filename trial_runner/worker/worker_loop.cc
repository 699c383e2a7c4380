#include "trial_runner/worker/worker_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
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

bool StartOnDevices(const std::vector<TunerInbox::Message>& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const TunerInbox::Message& one) {
    const auto* const start = std::get_if<StartAttempt>(&one.message);
    return start != nullptr && !start->slices.empty();
  });
}

constexpr Duration kClosePatience = Seconds(1);
constexpr Duration kMemoryLookPause = Seconds(1);
constexpr Duration kTellLossesEvery = Seconds(1);
constexpr Duration kOrphanPatience = Seconds(10);  // On a busy machine a killed process dies late.
constexpr Duration kOrphanLookPause = Milliseconds(5);

// "SIGSEGV".
std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace

WorkerLoop::WorkerLoop(WorkerCore& core, TunerInbox& inbox, const Clock& clock,
                       std::string program_folder, PackageFetcher* fetcher,
                       CheckpointCarrier* carrier, LogCarrier* logs)
    : core_(core),
      inbox_(inbox),
      clock_(clock),
      program_folder_(std::move(program_folder)),
      fetcher_(fetcher),
      carrier_(carrier),
      logs_(logs),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      oom_kill_files_(FindOomKillFiles()) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&watched, signal);
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
  if (had_programs || !left_orphans_.empty()) EndDescendants(NotOrphans());
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
    for (const std::optional<Instant>& at : {start_again_at_, tell_losses_at_, end_orphans_at_}) {
      if (at && (!deadline || *at < *deadline)) deadline = at;
    }
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
    // What the tuner said while this turn took its time is heard before the tuner is judged silent.
    HandleInbox();
    core_.OnTime(clock_.Now());
    Perform();
    if (end_orphans_at_ && clock_.Now() >= *end_orphans_at_) {
      TellEndsWithoutOrphans();
      Perform();
    }
    if (core_.is_winding_down() && logs_ != nullptr) logs_->Hurry();
    if (start_again_at_ && clock_.Now() >= *start_again_at_) {
      StartWaiting();
      Perform();
    }
    if (tell_losses_at_ && clock_.Now() >= *tell_losses_at_) TellLosses();
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
  for (const auto& [message, came_at] : content.messages) {
    core_.OnMessage(message, clock_.Now(), came_at);
  }
  for (const auto& [sweep, why] : content.place_waits) core_.OnPlaceWaits(sweep, why);
  for (const auto& [sweep, wanted, found] : content.places) {
    const bool is_awaited = core_.OnPlace(sweep, wanted, found, clock_.Now());
    if (is_awaited && found.ok() && carrier_ != nullptr) carrier_->Settle(sweep, *found);
  }
  // Before what they waited for.
  for (const auto& [ref, why] : content.waits) core_.OnCheckpointWaits(ref, why, clock_.Now());
  for (const auto& [ref, kept] : content.kept) core_.OnCheckpointKept(ref, kept, clock_.Now());
  for (const auto& [ref, copy] : content.obtained) {
    core_.OnCheckpointObtained(ref, copy, clock_.Now());
  }
  for (const SendLog& last : content.files_sent) logs_->Send(last);
  for (const auto& [ref, sent] : content.logs_sent) core_.OnLogSent(ref, sent);
  if (content.devices) core_.OnDevicesSeen(Interpret(*content.devices), clock_.Now());
  if (content.notice) core_.OnNotice(*content.notice, clock_.Now());
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
      if (log.has_untold_loss() && !tell_losses_at_) {
        tell_losses_at_ = clock_.Now() + kTellLossesEvery;
      }
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
  const Instant now = clock_.Now();
  const int pid = found->second.process.pid;
  const bool was_killed_by_us = found->second.was_killed;
  const bool ran_user_programs = found->second.runs_user_programs;
  kill(-pid, SIGKILL);
  int status = 0;
  TUNE_CHECK(waitpid(pid, &status, 0) == pid);
  PutAside(std::move(found->second.logs));
  trials_.erase(found);
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
  if (!ran_user_programs) return core_.OnProcessEnded(id, end, now);
  left_orphans_.push_back({id, end, now + kOrphanPatience});
  TellEndsWithoutOrphans();
}

// Their programs have ended, or are at another attempt: the disk may take later what is to be said
// of them.
void WorkerLoop::PutAside(std::vector<OutputLog> logs) {
  for (OutputLog& log : logs) {
    if (log.has_untold_loss()) short_logs_.push_back(std::move(log));
  }
  if (!short_logs_.empty()) TellLosses();
}

void WorkerLoop::TellLosses() {
  bool is_any_untold = false;
  const auto tell = [&is_any_untold](OutputLog& log) {
    log.TellLoss();
    is_any_untold |= log.has_untold_loss();
  };
  for (OutputLog& log : short_logs_) tell(log);
  std::erase_if(short_logs_, [](const OutputLog& log) { return !log.has_untold_loss(); });
  for (auto& [id, trial] : trials_) {
    for (OutputLog& log : trial.logs) tell(log);
  }
  tell_losses_at_.reset();
  if (is_any_untold) tell_losses_at_ = clock_.Now() + kTellLossesEvery;
}

// Those below this process that are nobody's orphans: the trial processes that live. Beside them
// what no signal ends, as it waits for a disk or a device.
std::set<pid_t> WorkerLoop::NotOrphans() {
  std::erase_if(unkillable_, [](pid_t pid) {
    if (NearestAbove(pid, {getpid()})) return false;
    waitpid(pid, nullptr, WNOHANG);
    return true;
  });
  std::set<pid_t> spared = unkillable_;
  for (const auto& [id, trial] : trials_) spared.insert(trial.process.pid);
  return spared;
}

// A process that runs users' programs ends all that they started. Should it be killed itself, what
// had left its group or session is ours (AdoptOrphans). Its end is told when that has ended, so
// that the next attempt finds the device free; the loop goes on meanwhile. What outlives its
// patience is not waited for again.
void WorkerLoop::TellEndsWithoutOrphans() {
  const std::set<pid_t> spared = NotOrphans();
  const bool is_none_left = EndDescendantsOnce(spared);
  const Instant now = clock_.Now();
  bool is_any_late = false;
  while (!left_orphans_.empty() && (is_none_left || now >= left_orphans_.front().until)) {
    is_any_late |= !is_none_left;
    const LeftOrphans left = std::move(left_orphans_.front());
    left_orphans_.pop_front();
    core_.OnProcessEnded(left.id, left.end, now);
  }
  if (is_any_late) {
    for (const pid_t pid : Descendants(spared)) unkillable_.insert(pid);
  }
  end_orphans_at_.reset();
  if (!left_orphans_.empty()) end_orphans_at_ = now + kOrphanLookPause;
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

}  // namespace tune
