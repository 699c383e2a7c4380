// How a command runner begins an attempt: what the program needs is made or found, then it starts.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "core/json.h"
#include "core/posix/disk_room.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/plain_file.h"
#include "trial_runner/command/command_attempt.h"
#include "trial_runner/command/left_in_copy.h"
#include "trial_runner/command/program_checkpoint.h"
#include "trial_runner/command/setup_place.h"
#include "trial_runner/find_program.h"
#include "trial_runner/secrets.h"
#include "trial_runner/worker/oom_kills.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kSetupLookPause = Milliseconds(100);
constexpr Duration kStartPause = Milliseconds(250);

Environment OurEnvironment() {
  Environment variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

// Ranks of one machine have one file, and the first of them may read while another one writes.
Status WriteConfig(const TrialStart& start, const std::string& path) {
  const std::string text = ToJsonForYaml(start.config) + "\n";
  if (start.world_size == 1) return WriteFile(path, text);
  const std::string beside = path + ".rank_" + std::to_string(start.rank);
  TUNE_RETURN_IF_ERROR(WriteFile(beside, text));
  return std::rename(beside.c_str(), path.c_str()) == 0 ? OkStatus() : ErrnoStatus("write", path);
}

void AddTo(OutputTail& tail, const std::vector<OutputPiece>& output) {
  for (const OutputPiece& piece : output) tail.Add(piece.text);
}

}  // namespace

// kResourceExhausted: a disk takes no writes, and nothing else; kFailedPrecondition: this machine
// cannot run it; kNotFound: for want of a folder or file that may come.
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
  std::error_code error;
  if (!fs::is_directory(attempt->folder, error)) {
    return NotFound("working_dir: there is no folder " + attempt->folder);
  }
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
  const std::string python_folder = program_folder_ + "/python";
  if (fs::is_directory(python_folder, error)) places.python_folder = python_folder;
  if (!start.checkpoint_path.empty()) {
    Result<std::string> restored = VerifyProgramCheckpoint(start.checkpoint_path);
    if (restored.status().code() == StatusCode::kPermissionDenied) return restored.status();
    // Whatever else is wrong with it: the one before may be whole.
    if (!restored.ok()) return DataLoss(restored.status().message());
    places.restored = *std::move(restored);
  }
  TUNE_RETURN_IF_ERROR(MakeFolder(start.artifact_dir));
  TUNE_RETURN_IF_ERROR(WriteConfig(start, places.config_file));
  attempt->environment = ProgramEnvironment(ours, start, places, attempt->filled.environment);
  if (!served) TUNE_RETURN_IF_ERROR(SetUp(*attempt));
  // Of several ranks the first one's attempt stands for the trial.
  if (start.rank == 0) {
    attempt->shared_folder.emplace(attempt->folder, start.artifact_dir,
                                   attempt->filled.metric_files, ToJson(start.config));
    attempt->shared_folder->Begin();
  }
  attempt->began_at = FileClockNow();
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
  options.is_one_stream = attempt.spec.output_rules().patterns.empty();
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
  Result<Program> program = StartWhenThereIsRoom(options);
  // One that a parameter names.
  if (program.status().code() == StatusCode::kNotFound) {
    return InvalidArgument(program.status().message());
  }
  TUNE_ASSIGN_OR_RETURN(attempt.program, std::move(program));
  return OkStatus();
}

// Whether what every trial of the sweep needs is here. A program that a parameter names is the
// configuration's matter.
Status CommandRunner::CheckMachine(const Attempt& attempt) {
  const std::optional<std::string> program = attempt.spec.program();
  if (!program) return OkStatus();
  const auto path = attempt.environment.find("PATH");
  const Status found =
      FindProgram(*program, path == attempt.environment.end() ? "" : path->second, attempt.folder)
          .status();
  if (found.ok()) return found;
  const bool is_absent_path =
      found.code() == StatusCode::kNotFound && program->find('/') != std::string::npos;
  return is_absent_path ? NotFound(found.message()) : FailedPrecondition(found.message());
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
  const auto setup = attempt.environment.find(kSetupFolder);
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
  SetupPlace place(attempt.start, attempt.spec.setup(), attempt.folder,
                   attempt.environment["PATH"]);
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
  attempt.environment[kSetupFolder] = place.folder();
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
    std::string cause = tail.Cause();
    if (cause.empty() && WIFEXITED(*status)) {
      cause = "it exited with status " + std::to_string(WEXITSTATUS(*status));
    } else if (cause.empty()) {
      cause = std::string("it died of SIG") + sigabbrev_np(WTERMSIG(*status));
    }
    const std::string why = "setup: '" + line + "' failed: " + cause;
    const bool has_met_it = (tail.SpeaksOfFullDisk() && IsFullUnder(attempt)) ||
                            (tail.SpeaksOfReadOnlyDisk() && HasBecomeReadOnly(attempt));
    return has_met_it ? ResourceExhausted(why) : InvalidArgument(why);
  }
}

}  // namespace tune
