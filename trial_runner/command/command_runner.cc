#include "trial_runner/command/command_runner.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/posix/disk_room.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/plain_file.h"
#include "core/posix/threads.h"
#include "trial_runner/command/command_attempt.h"
#include "trial_runner/command/left_in_copy.h"
#include "trial_runner/command/program_checkpoint.h"
#include "trial_runner/command/shared_folder.h"
#include "trial_runner/end_notes.h"
#include "trial_runner/secrets.h"
#include "trial_runner/worker/oom_kills.h"
#include "trial_runner/worker/process_tree.h"
#include "trial_runner/working_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kMemoryLookPause = Milliseconds(250);
constexpr Duration kLeavePatience = Seconds(1);
constexpr int kLooksWithoutMax = 4;
constexpr Duration kLeaveLookPause = Milliseconds(20);

// "SIGSEGV".
std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

bool TakesNoWrites(const std::string& folder) {
  return IsDiskFull(folder) || IsDiskReadOnly(folder);
}

// Of a disk that takes no writes: whether it is one that the sweep's artifacts are not on. A
// program may run in a folder that is read-only on purpose: of that one the caller knows.
EndDetail WhichDisk(const TrialStart& start, bool is_of_program) {
  const bool is_own = !TakesNoWrites(fs::path(start.artifact_dir).parent_path()) &&
                      (is_of_program || TakesNoWrites(start.place.cache));
  return is_own ? EndDetail::kOwnDiskFull : EndDetail::kDiskFull;
}

}  // namespace

std::string CommandRunner::FolderOf(const TrialStart& start) {
  return start.place.folder.empty() ? WorkingFolder(start.trainable, start.base_dir)
                                    : start.place.folder;
}

void CommandRunner::LeaveWithAll() {
  EndDescendants();
  _exit(1);
}

CommandRunner::CommandRunner(WorkerLine& worker, const Clock& clock, std::string program_folder)
    : worker_(worker), clock_(clock), program_folder_(std::move(program_folder)) {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signals_ = FileDescriptor(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  TUNE_CHECK(signals_.is_open());
  AdoptOrphans();
}

int CommandRunner::Run() {
  // A runner without an attempt ends as any program does.
  const auto wait_for_start = [this]() -> std::optional<ToTrial> {
    while (true) {
      Result<std::optional<ToTrial>> message = worker_.Take();
      if (!message.ok()) return std::nullopt;
      if (*message) return **std::move(message);
      pollfd fds[] = {worker_.ToPoll(), {signals_.get(), POLLIN, 0}};
      poll(fds, 2, -1);
      if (fds[1].revents != 0) return std::nullopt;
    }
  };
  while (const std::optional<ToTrial> message = wait_for_start()) {
    const auto* const start = std::get_if<TrialStart>(&*message);
    if (start == nullptr) return 1;
    secrets_ = SecretsOf(start->trainable, EnvironmentText);
    std::optional<TrialEnd> end = RunAttempt(*start);
    if (!end) return 1;
    end->error = WithoutSecrets(std::move(end->error), secrets_);
    worker_.Send(EncodeEnd(*end));
  }
  EndServed();
  return 0;
}

std::optional<TrialEnd> CommandRunner::RunAttempt(const TrialStart& start) {
  Result<std::unique_ptr<Attempt>> attempt = Begin(start);
  if (!attempt.ok()) {
    EndDescendants();  // A program that would have run it.
    const StatusCode code = attempt.status().code();
    const std::string& why = attempt.status().message();
    if (code == StatusCode::kDataLoss || code == StatusCode::kPermissionDenied) {
      return EndForUnrestored(attempt.status());
    }
    const bool is_of_disk = code == StatusCode::kResourceExhausted ||
                            IsDiskReadOnly(fs::path(start.artifact_dir).parent_path());
    if (is_of_disk) {
      return TrialEnd{Outcome::kCrashed, "cannot begin: " + why,
                      WhichDisk(start, IsDiskFull(FolderOf(start)))};
    }
    const EndDetail detail = code == StatusCode::kFailedPrecondition ? EndDetail::kUnfitMachine
                             : code == StatusCode::kNotFound         ? EndDetail::kAbsentPath
                                                                     : EndDetail::kNone;
    return TrialEnd{code == StatusCode::kUnavailable ? Outcome::kCrashed : Outcome::kBadConfig, why,
                    detail};
  }
  std::optional<TrialEnd> end = Follow(**attempt);
  if (end && (*attempt)->asks_for_next) KeepServed(**attempt);
  EndDescendants(served_ ? std::set<pid_t>{served_->program.pid()} : std::set<pid_t>());
  // Whatever the attempt wrote is written now.
  const bool has_values =
      end && (end->outcome == Outcome::kCompleted || end->outcome == Outcome::kStopped);
  std::vector<std::string> notes = std::move((*attempt)->notes);
  if ((*attempt)->shared_folder) {
    for (std::string& note : (*attempt)->shared_folder->End(has_values)) {
      notes.push_back(std::move(note));
    }
  }
  std::string left = NoteOfFilesInCopy(start.place, (*attempt)->folder, (*attempt)->began_at,
                                       (*attempt)->filled.metric_files);
  if (!left.empty()) {
    std::printf("tune: %s\n", left.c_str());  // A job's is read by who follows it.
    std::fflush(stdout);
    notes.push_back(std::move(left));
  }
  for (const std::string& note : notes) {
    if (end) end->error = WithEndNote(end->outcome, end->error, note);
  }
  return end;
}

// ---- programs that take one trial after another

void CommandRunner::KeepServed(Attempt& attempt) {
  if (!attempt.program || attempt.is_signalled) return;
  if (attempt.memory) return;                // A limit is of one trial.
  if (attempt.start.world_size > 1) return;  // It has met the others of this one.
  attempt.program->BeginLog();
  served_.emplace(Served{*std::move(attempt.program), *std::move(attempt.server),
                         *attempt.asks_for_next, std::move(attempt.cpus),
                         std::move(attempt.setup_hold), attempt.environment[kSetupFolder],
                         std::move(attempt.filled), std::move(attempt.folder),
                         attempt.start.threads, attempt.start.device_environment});
}

void CommandRunner::EndServed() {
  if (!served_) return;
  served_.reset();
  EndDescendants();
}

bool CommandRunner::CanServe(const Attempt& attempt) {
  return served_ && served_->filled.arguments == attempt.filled.arguments &&
         served_->filled.environment == attempt.filled.environment &&
         served_->folder == attempt.folder && served_->threads == attempt.start.threads &&
         served_->devices == attempt.start.device_environment && attempt.start.memory_bytes == 0 &&
         attempt.start.world_size == 1 && !served_->program.TakeEnd();
}

void CommandRunner::HandOver(Served served, Attempt& attempt) {
  if (!served.setup_folder.empty()) attempt.environment[kSetupFolder] = served.setup_folder;
  attempt.setup_hold = std::move(served.setup_hold);
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : attempt.environment) {
    if (name.starts_with("TUNE_")) variables.emplace(name, value);
  }
  attempt.cpus = std::move(served.cpus);
  attempt.program = std::move(served.program);
  attempt.server->Reply(served.client, EncodeNextTrial(variables));
}

// ---- the program runs

std::optional<TrialEnd> CommandRunner::Follow(Attempt& attempt) {
  while (!attempt.finish) {
    Wait(attempt);
    Perform(attempt);
  }
  return attempt.finish->end;
}

// Until something happens, which the trial is told.
void CommandRunner::Wait(Attempt& attempt) {
  std::vector<pollfd> fds = {worker_.ToPoll(), {signals_.get(), POLLIN, 0}};
  const bool has_room = attempt.trial.HasRoom();
  if (has_room) attempt.server->AddTo(fds);
  if (attempt.program) attempt.program->AddTo(fds, has_room);
  std::optional<Instant> deadline = attempt.trial.NextDeadline();
  const bool watches = attempt.program && attempt.memory && !attempt.memory->is_enforced();
  if (watches) {
    const Instant look_at = attempt.memory_seen_at + kMemoryLookPause;
    deadline = deadline ? std::min(*deadline, look_at) : look_at;
  }
  int timeout_ms = -1;
  if (deadline) {
    const int64_t left_us = std::clamp<int64_t>((*deadline - clock_.Now()).us, 0, 60'000'000);
    timeout_ms = static_cast<int>((left_us + 999) / 1000);
  }
  poll(fds.data(), fds.size(), timeout_ms);

  while (true) {
    Result<std::optional<ToTrial>> message = worker_.Take();
    if (!message.ok()) LeaveWithAll();
    if (!*message) break;
    if (const auto* const leave = std::get_if<LeaveWithin>(&**message)) {
      attempt.trial.OnLeave(Milliseconds(leave->ms), clock_.Now());
      continue;
    }
    const auto* const answer = std::get_if<ReportAnswer>(&**message);
    if (answer == nullptr) LeaveWithAll();
    attempt.trial.OnAnswer(*answer, clock_.Now());
  }
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    attempt.trial.OnTerminate(clock_.Now());
  }
  if (has_room) TakeLines(attempt);
  if (attempt.program) {
    if (has_room) TakeOutput(attempt);
    if (watches) LookAtMemory(attempt, clock_.Now());
    TakeProgramEnd(attempt);
  }
  attempt.trial.OnTime(clock_.Now());
}

// Reports; and of a program that takes one trial after another, the request that ends this one. A
// process that it has started may report until then.
void CommandRunner::TakeLines(Attempt& attempt) {
  std::optional<ClientId> asks_for_next;
  for (const ProgramServer::Line& line : attempt.server->Take()) {
    const auto next = attempt.spec.serves() ? ParseNextRequest(line.text) : std::nullopt;
    if (attempt.asks_for_next) {
      attempt.server->Reply(line.client, EncodeProgramError("this trial has ended"));
    } else if (next) {
      asks_for_next = line.client;
      if (!next->note.empty()) attempt.notes.push_back(next->note);
    } else {
      attempt.trial.OnProgramLine(line.client, line.text, line.source);
    }
  }
  if (!asks_for_next) return;
  attempt.asks_for_next = asks_for_next;
  while (TakeOutput(attempt)) {
  }
  attempt.trial.OnProgramEnded(ProgramEnd{});
}

void CommandRunner::LookAtMemory(Attempt& attempt, Instant now) {
  if (now < attempt.memory_seen_at + kMemoryLookPause) return;
  attempt.memory_seen_at = now;
  if (DescendantsBytes() <= attempt.memory->bytes()) return;
  attempt.has_exceeded_memory = true;
  SignalDescendants(SIGKILL);
}

bool CommandRunner::TakeOutput(Attempt& attempt) {
  const std::vector<OutputPiece> output = attempt.program->TakeOutput();
  for (const OutputPiece& piece : output) attempt.trial.OnOutput(piece.stream, piece.text);
  return !output.empty();
}

// What prints on after its program's end, as a command line; empty: nothing does. A helper, such as
// Python's resource tracker, ends when it sees that end: it has a moment.
std::string CommandRunner::LeftRunning(const Program& program) {
  const Instant patience_end = clock_.Now() + kLeavePatience;
  int looks_without = 0;
  while (true) {
    const std::vector<pid_t> living = Descendants();
    const auto printing = std::find_if(living.begin(), living.end(),
                                       [&](pid_t pid) { return program.IsPrintedOnBy(pid); });
    // The kernel may leave one out that starts another just then, and on a busy machine more than
    // once.
    if (printing == living.end() && ++looks_without == kLooksWithoutMax) return "";
    if (printing == living.end()) {
      sched_yield();
      continue;
    }
    looks_without = 0;
    if (clock_.Now() >= patience_end) return CommandLineOf(*printing);
    poll(nullptr, 0, static_cast<int>(kLeaveLookPause.us / 1000));
  }
}

void CommandRunner::TakeProgramEnd(Attempt& attempt) {
  if (attempt.asks_for_next) return;
  const std::optional<int> status = attempt.program->TakeEnd();
  if (!status) return;
  // What it left behind goes, and what that printed is its too.
  const std::string left_running = *status == 0 ? LeftRunning(*attempt.program) : "";
  EndDescendants();
  for (const ProgramServer::Line& line : attempt.server->Take()) {
    attempt.trial.OnProgramLine(line.client, line.text, line.source);
  }
  while (TakeOutput(attempt)) {
  }
  ProgramEnd end;
  if (WIFSIGNALED(*status)) {
    end.signal = SignalName(WTERMSIG(*status));
    end.by_oom_killer =
        WTERMSIG(*status) == SIGKILL && ReadOomKills(FindOomKillFiles()) > attempt.oom_kills_before;
  } else {
    end.exit_status = WEXITSTATUS(*status);
  }
  const bool is_over_limit =
      attempt.memory && (attempt.has_exceeded_memory || attempt.memory->HasKilled());
  // Also where the program itself lived on: what it came to is not what all of it would have.
  if (is_over_limit) end.memory_limit_bytes = attempt.memory->bytes();
  if (*status != 0 && IsFullUnder(attempt)) {
    end.full_disk = WhichDisk(attempt.start, IsDiskFull(attempt.folder));
  }
  if (*status != 0 && HasBecomeReadOnly(attempt)) {
    end.read_only_disk = WhichDisk(attempt.start, !attempt.is_in_read_only_folder);
  }
  if (*status == 0) {
    end.left_running = left_running;
    end.file_metrics = ReadFileMetrics(attempt.spec, attempt.filled.metric_files, attempt.folder,
                                       attempt.files_before);
  }
  attempt.trial.OnProgramEnded(std::move(end));
  Perform(attempt);
  attempt.program.reset();
}

// ---- effects

void CommandRunner::Perform(Attempt& attempt) {
  for (std::vector<CommandEffect> effects = attempt.trial.TakeEffects(); !effects.empty();
       effects = attempt.trial.TakeEffects()) {
    for (const CommandEffect& effect : effects) {
      std::visit([&](const auto& e) { Do(attempt, e); }, effect);
    }
  }
}

void CommandRunner::Do(Attempt&, const SendReport& effect) {
  if (secrets_.empty()) return worker_.Send(EncodeReport(effect.report));
  auto report = effect.report;
  report.note = WithoutSecrets(std::move(report.note), secrets_);
  report.reading = WithoutSecrets(std::move(report.reading), secrets_);
  worker_.Send(EncodeReport(report));
}

void CommandRunner::Do(Attempt& attempt, const ReplyToProgram& effect) {
  attempt.server->Reply(effect.client, effect.line);
}

// A large checkpoint takes its time. It is copied beside this thread, which waits for that, or for
// the end of its worker.
Result<CheckpointRef> CommandRunner::SaveBeside(Attempt& attempt,
                                                const SaveProgramCheckpoint& effect) {
  Result<CheckpointRef> saved = Internal("nothing was copied");
  const FileDescriptor done(eventfd(0, EFD_CLOEXEC));
  const auto save = [&] {
    saved = CopyProgramCheckpoint(attempt.place, effect.iteration, effect.path);
    eventfd_write(done.get(), 1);
  };
  std::optional<std::jthread> thread;
  if (done.is_open()) thread = TryThread<std::jthread>(save, [] { return false; });
  if (!thread) {
    save();
    return saved;
  }
  pollfd fds[] = {{worker_.ToPoll().fd, 0, 0}, {done.get(), POLLIN, 0}};
  while (fds[1].revents == 0) {
    if (fds[0].revents != 0) LeaveWithAll();
    poll(fds, 2, -1);
  }
  thread->join();
  return saved;
}

void CommandRunner::Do(Attempt& attempt, const SaveProgramCheckpoint& effect) {
  const Result<CheckpointRef> saved = SaveBeside(attempt, effect);
  if (!saved.ok() && saved.status().code() == StatusCode::kResourceExhausted) {
    attempt.trial.OnDiskFull(attempt.place.folder(), saved.status());
  } else {
    attempt.trial.OnSaved(saved);
  }
}

void CommandRunner::Do(Attempt& attempt, const SignalProgram& effect) {
  attempt.is_signalled = true;
  SignalDescendants(effect.kill ? SIGKILL : SIGTERM);
}

void CommandRunner::Do(Attempt& attempt, const AddToLog& effect) {
  if (attempt.program) attempt.program->AddToLog(effect.line);
}

void CommandRunner::Do(Attempt& attempt, const FinishAttempt& effect) { attempt.finish = effect; }

}  // namespace tune
