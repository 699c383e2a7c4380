#include "trial_runner/command/command_runner.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/json.h"
#include "core/posix/disk_room.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/plain_file.h"
#include "trial_runner/command/program_checkpoint.h"
#include "trial_runner/command/setup_place.h"
#include "trial_runner/command/shared_folder.h"
#include "trial_runner/end_notes.h"
#include "trial_runner/find_program.h"
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
constexpr Duration kSetupLookPause = Milliseconds(100);
constexpr Duration kStartPause = Milliseconds(250);
constexpr uint64_t kMetricFileBytesMax = 64u << 20;

Environment OurEnvironment() {
  Environment variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

// "SIGSEGV".
std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

// The worker is gone: nothing that it started stays.
[[noreturn]] void LeaveWithAll() {
  EndDescendants();
  _exit(1);
}

// What tells whether a file was written again. By its own clock: a server may have another one.
struct FileState {
  ino_t inode = 0;
  int64_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState StateOf(const struct stat& info) {
  return {info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

std::vector<std::optional<FileState>> StatesOf(const std::vector<std::string>& files,
                                               const std::string& folder) {
  std::vector<std::optional<FileState>> states;
  for (const std::string& file : files) {
    struct stat info;
    const bool is_there = stat((fs::path(folder) / file).c_str(), &info) == 0;
    states.push_back(is_there ? std::optional(StateOf(info)) : std::nullopt);
  }
  return states;
}

// A file that waits for a writer has no end, and one that the attempt has not written is another's.
Status CheckMetricFile(const std::string& path, const std::optional<FileState>& before) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return OkStatus();  // Told when it is read.
  if (!S_ISREG(info.st_mode)) return InvalidArgument("it is no file with an end");
  if (before != StateOf(info)) return OkStatus();
  return InvalidArgument(
      "it was there before this attempt began, which has not written it; a file for each trial is "
      "{tune.dir}/" +
      fs::path(path).filename().string());
}

Result<Metrics> ReadFileMetrics(const CommandSpec& spec, const std::vector<std::string>& files,
                                const std::string& folder,
                                const std::vector<std::optional<FileState>>& before) {
  Metrics metrics;
  for (size_t i = 0; i < files.size(); ++i) {
    const FileMetric& wanted = spec.file_metrics()[i];
    const std::string path = (fs::path(folder) / files[i]).string();
    const std::string label = wanted.metric + ": " + files[i];
    TUNE_RETURN_IF_ERROR(CheckMetricFile(path, before[i]).At(label));
    const Result<std::string> text = ReadFile(path, kMetricFileBytesMax);
    if (!text.ok()) return text.status().At(label);
    const Result<Value> document = ParseJson(*text, JsonDialect::kWithNaN);
    if (!document.ok()) return document.status().At(label);
    const Result<double> number = NumberUnder(*document, wanted.key);
    if (!number.ok()) return number.status().At(label);
    metrics.emplace_back(wanted.metric, *number);
  }
  return metrics;
}

std::string FolderOf(const TrialStart& start) {
  return start.place.folder.empty() ? WorkingFolder(start.trainable, start.base_dir)
                                    : start.place.folder;
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

void AddTo(OutputTail& tail, const std::vector<OutputPiece>& output) {
  for (const OutputPiece& piece : output) tail.Add(piece.text);
}

}  // namespace

// One that is under way.
struct CommandRunner::Attempt {
  Attempt(const TrialStart& s, CommandSpec parsed)
      : start(s), spec(std::move(parsed)), trial(start, spec), place(start) {}

  const TrialStart& start;
  const CommandSpec spec;
  CommandTrial trial;
  CheckpointPlace place;
  std::optional<ProgramServer> server;                 // There from the beginning on.
  std::string folder;                                  // The program's,
  bool is_in_read_only_folder = false;                 // which was so from the beginning.
  std::vector<std::optional<FileState>> files_before;  // Those with metrics, at its start.
  FilledCommand filled;
  Environment environment;
  FileDescriptor setup_hold;  // What `setup` made stays as long as this is open.
  CpuShare cpus;
  std::optional<MemoryGroup> memory;
  bool has_exceeded_memory = false;
  Instant memory_seen_at;
  std::optional<Program> program;
  std::optional<int64_t> oom_kills_before;  // Of the system, of whatever it killed.
  std::optional<ClientId> asks_for_next;    // It has ended, and its program lives on.
  bool is_signalled = false;                // That it does is not sure.
  std::optional<SharedFolder> shared_folder;
  std::vector<std::string> notes;  // What may be wrong with its values.
  std::optional<FinishAttempt> finish;
};

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
    if (code == StatusCode::kDataLoss) return EndForUnrestored(attempt.status());
    const bool is_of_disk = code == StatusCode::kResourceExhausted ||
                            IsDiskReadOnly(fs::path(start.artifact_dir).parent_path());
    if (is_of_disk) {
      return TrialEnd{Outcome::kCrashed, "cannot begin: " + why,
                      WhichDisk(start, IsDiskFull(FolderOf(start)))};
    }
    const bool is_unfit = code == StatusCode::kFailedPrecondition;
    return TrialEnd{code == StatusCode::kUnavailable ? Outcome::kCrashed : Outcome::kBadConfig, why,
                    is_unfit ? EndDetail::kUnfitMachine : EndDetail::kNone};
  }
  std::optional<TrialEnd> end = Follow(**attempt);
  if (end && (*attempt)->asks_for_next) KeepServed(**attempt);
  EndDescendants(served_ ? std::set<pid_t>{served_->program.pid()} : std::set<pid_t>());
  // Whatever the attempt wrote is written now.
  const bool has_values =
      end && (end->outcome == Outcome::kCompleted || end->outcome == Outcome::kStopped);
  std::vector<std::string> notes = std::move((*attempt)->notes);
  for (std::string& note : (*attempt)->shared_folder->End(has_values)) {
    notes.push_back(std::move(note));
  }
  for (const std::string& note : notes) {
    if (end) end->error = WithEndNote(end->outcome, end->error, note);
  }
  return end;
}

// ---- programs that take one trial after another

void CommandRunner::KeepServed(Attempt& attempt) {
  if (!attempt.program || attempt.is_signalled) return;
  if (attempt.memory) return;  // A limit is of one trial.
  attempt.program->BeginLog();
  served_.emplace(Served{*std::move(attempt.program), *std::move(attempt.server),
                         *attempt.asks_for_next, std::move(attempt.cpus), std::move(attempt.filled),
                         std::move(attempt.folder), attempt.start.threads,
                         attempt.start.device_environment});
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
         !served_->program.TakeEnd();
}

void CommandRunner::HandOver(Served served, Attempt& attempt) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : attempt.environment) {
    if (name.starts_with("TUNE_")) variables.emplace(name, value);
  }
  attempt.cpus = std::move(served.cpus);
  attempt.program = std::move(served.program);
  attempt.server->Reply(served.client, EncodeNextTrial(variables));
}

// ---- beginning

// kResourceExhausted: a disk takes no writes, and nothing else.
Result<std::unique_ptr<CommandRunner::Attempt>> CommandRunner::Begin(const TrialStart& start) {
  if (!start.trainable.is_map() || start.trainable.Find("command") == nullptr) {
    return InvalidArgument("this program runs the trainable command alone");
  }
  TUNE_ASSIGN_OR_RETURN(CommandSpec spec, CommandSpec::Parse(start.trainable));
  const Environment ours = OurEnvironment();
  for (const std::string& name : VariablesFromEnvironment(start.trainable)) {
    if (!ours.contains(name)) return FailedPrecondition(DescribeMissingVariable(name));
  }
  auto attempt = std::make_unique<Attempt>(start, std::move(spec));
  TUNE_ASSIGN_OR_RETURN(attempt->filled, attempt->spec.Fill(start.config, OwnValues(start)));
  attempt->folder = FolderOf(start);
  attempt->is_in_read_only_folder = IsDiskReadOnly(attempt->folder);
  if (!CanServe(*attempt)) EndServed();
  std::optional<Served> served = std::exchange(served_, std::nullopt);
  if (served) {
    TUNE_ASSIGN_OR_RETURN(attempt->server,
                          ProgramServer::OpenAfter(std::move(served->server), served->client));
  } else {
    TUNE_ASSIGN_OR_RETURN(attempt->server, ProgramServer::Open());
  }

  ProgramPlaces places;
  places.socket = attempt->server->name();
  places.config_file = start.artifact_dir + "/config.json";
  places.program_folder = program_folder_;
  std::error_code error;
  const std::string python_folder = program_folder_ + "/python";
  if (fs::is_directory(python_folder, error)) places.python_folder = python_folder;
  if (!start.checkpoint_path.empty()) {
    Result<std::string> restored = VerifyProgramCheckpoint(start.checkpoint_path);
    // Whatever is wrong with it: the one before may be whole.
    if (!restored.ok()) return DataLoss(restored.status().message());
    places.restored = *std::move(restored);
  }
  TUNE_RETURN_IF_ERROR(MakeFolder(start.artifact_dir));
  TUNE_RETURN_IF_ERROR(WriteFile(places.config_file, ToJsonForYaml(start.config) + "\n"));
  attempt->environment = ProgramEnvironment(ours, start, places, attempt->filled.environment);
  if (!served) TUNE_RETURN_IF_ERROR(SetUp(*attempt));
  attempt->shared_folder.emplace(attempt->folder, start.artifact_dir, attempt->filled.metric_files,
                                 ToJson(start.config));
  attempt->shared_folder->Begin();
  attempt->oom_kills_before = ReadOomKills(FindOomKillFiles());
  if (served) {
    HandOver(*std::move(served), *attempt);
  } else {
    TUNE_RETURN_IF_ERROR(StartProgram(*attempt));
  }
  return attempt;
}

Status CommandRunner::StartProgram(Attempt& attempt) {
  const TrialStart& start = attempt.start;
  ProgramOptions options;
  options.arguments = attempt.filled.arguments;
  options.environment = attempt.environment;
  options.folder = attempt.folder;
  attempt.cpus = CpuShare::Take(start.threads);
  options.cpus = attempt.cpus.cpus();
  if (start.memory_bytes > 0) {
    attempt.memory.emplace(start.memory_bytes, "tune-" + std::to_string(getpid()) + "-" +
                                                   std::to_string(start.trial.value) + "-" +
                                                   std::to_string(start.attempt.value));
    options.cgroup_procs = attempt.memory->procs_fd();
    if (!attempt.memory->is_enforced()) {
      std::printf("tune: no memory cgroup can be made here: the limit of %lld bytes is watched\n",
                  static_cast<long long>(start.memory_bytes));
      std::fflush(stdout);
    }
  }
  TUNE_RETURN_IF_ERROR(CheckMachine(attempt));
  attempt.files_before = StatesOf(attempt.filled.metric_files, attempt.folder);
  TUNE_ASSIGN_OR_RETURN(attempt.program, StartWhenThereIsRoom(options));
  return OkStatus();
}

// Whether what every trial of the sweep needs is here. A program that a parameter names is the
// configuration's matter.
Status CommandRunner::CheckMachine(const Attempt& attempt) {
  std::error_code ignored;
  if (!fs::is_directory(attempt.folder, ignored)) {
    return FailedPrecondition("working_dir: there is no folder " + attempt.folder);
  }
  const std::optional<std::string> program = attempt.spec.program();
  if (!program) return OkStatus();
  const auto path = attempt.environment.find("PATH");
  const Status found =
      FindProgram(*program, path == attempt.environment.end() ? "" : path->second, attempt.folder)
          .status();
  return found.ok() ? found : FailedPrecondition(found.message());
}

// A machine that is full at the moment is no fault of the trial's: its start waits.
Result<Program> CommandRunner::StartWhenThereIsRoom(const ProgramOptions& options) {
  Result<Program> program = Program::Start(options);
  if (program.status().code() == StatusCode::kResourceExhausted) {
    std::printf("tune: %s; trying again until it starts\n", program.status().message().c_str());
    std::fflush(stdout);
  }
  while (program.status().code() == StatusCode::kResourceExhausted) {
    pollfd fds[] = {worker_.ToPoll(), {signals_.get(), POLLIN, 0}};
    poll(fds, 2, static_cast<int>(kStartPause.us / 1000));
    if (fds[0].revents != 0 || fds[1].revents != 0) LeaveWithAll();
    program = Program::Start(options);
  }
  return program;
}

// Where the program runs, where its trial's files go and where its setup lies.
std::vector<std::string> CommandRunner::FoldersOf(const Attempt& attempt) {
  std::vector<std::string> folders = {attempt.folder, attempt.start.artifact_dir};
  const auto setup = attempt.environment.find("TUNE_SETUP_DIR");
  if (setup != attempt.environment.end()) folders.push_back(setup->second);
  return folders;
}

bool CommandRunner::IsFullUnder(const Attempt& attempt) {
  const std::vector<std::string> folders = FoldersOf(attempt);
  return std::any_of(folders.begin(), folders.end(), IsDiskFull);
}

// One of them is read-only now that was not when the attempt began.
bool CommandRunner::HasBecomeReadOnly(const Attempt& attempt) {
  const std::vector<std::string> folders = FoldersOf(attempt);
  return std::any_of(folders.begin(), folders.end(), [&attempt](const std::string& folder) {
    const bool was_so = attempt.is_in_read_only_folder && folder == attempt.folder;
    return !was_so && IsDiskReadOnly(folder);
  });
}

// ---- setup

// Once for all trials on this machine that need the same: who finds it undone does it, the others
// wait.
Status CommandRunner::SetUp(Attempt& attempt) {
  if (attempt.spec.setup().empty()) return OkStatus();
  const SetupPlace place(attempt.start, attempt.spec.setup(), attempt.folder,
                         attempt.environment["PATH"]);
  attempt.environment["TUNE_SETUP_DIR"] = place.folder();
  TUNE_ASSIGN_OR_RETURN(SetupPlace::Claim claim, place.Ask());
  if (claim.turn == SetupPlace::Turn::kWait) {
    std::printf("tune: setup: waiting for another trial of this machine in %s\n",
                place.folder().c_str());
    std::fflush(stdout);
  }
  while (claim.turn == SetupPlace::Turn::kWait) {
    pollfd fds[] = {worker_.ToPoll(), {signals_.get(), POLLIN, 0}};
    poll(fds, 2, static_cast<int>(kSetupLookPause.us / 1000));
    if (fds[0].revents != 0 || fds[1].revents != 0) LeaveWithAll();
    TUNE_ASSIGN_OR_RETURN(claim, place.Ask());
  }
  if (claim.turn == SetupPlace::Turn::kToMake) {
    for (const std::string& line : attempt.spec.setup()) {
      TUNE_RETURN_IF_ERROR(RunSetup(attempt, line));
    }
    TUNE_RETURN_IF_ERROR(place.Finish(claim));
  }
  attempt.setup_hold = std::move(claim.hold);
  return OkStatus();
}

Status CommandRunner::RunSetup(const Attempt& attempt, const std::string& line) {
  std::printf("tune: setup: %s\n", line.c_str());
  std::fflush(stdout);
  ProgramOptions options;
  options.arguments = {"/bin/sh", "-c", line};
  options.environment = attempt.environment;
  options.folder = attempt.folder;
  TUNE_ASSIGN_OR_RETURN(Program program, StartWhenThereIsRoom(options));
  OutputTail tail;
  while (true) {
    std::vector<pollfd> fds = {worker_.ToPoll(), {signals_.get(), POLLIN, 0}};
    program.AddTo(fds, true);
    poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0 || fds[1].revents != 0) LeaveWithAll();
    AddTo(tail, program.TakeOutput());
    const std::optional<int> status = program.TakeEnd();
    if (!status) continue;
    EndDescendants();
    AddTo(tail, program.TakeOutput());
    if (*status == 0) return OkStatus();
    const std::string why = "setup: '" + line + "' failed: " + tail.Cause();
    const bool has_met_it = (tail.SpeaksOfFullDisk() && IsFullUnder(attempt)) ||
                            (tail.SpeaksOfReadOnlyDisk() && HasBecomeReadOnly(attempt));
    return has_met_it ? ResourceExhausted(why) : InvalidArgument(why);
  }
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

void CommandRunner::Do(Attempt& attempt, const SaveProgramCheckpoint& effect) {
  const Result<CheckpointRef> saved =
      CopyProgramCheckpoint(attempt.place, effect.iteration, effect.path);
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
