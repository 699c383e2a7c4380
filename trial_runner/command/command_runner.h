// The process that runs a user's program for a worker (trial_protocol.h), one attempt after
// another: starts the program, lets command_trial decide, and performs what it decided.
//
// It outlives its worker just long enough to end the program and all that it started: it notices
// the end of the connection, where PR_SET_PDEATHSIG would have left them running, also while a
// checkpoint is copied.
//
// Thread rule: one thread, and one beside it that copies a checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/command/command_trial.h"
#include "trial_runner/command/cpu_share.h"
#include "trial_runner/command/memory_group.h"
#include "trial_runner/command/program.h"
#include "trial_runner/command/program_server.h"
#include "trial_runner/command/worker_line.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/secrets.h"
#include "trial_runner/worker/checkpoint_place.h"

namespace tune {

class CommandRunner {
 public:
  CommandRunner(WorkerLine& worker, const Clock& clock, std::string program_folder);

  // Until the worker wants no more; the exit status.
  int Run();

 private:
  struct Attempt;
  // A program of `serve: true` between two trials.
  struct Served {
    Program program;
    ProgramServer server;
    ClientId client;  // That asks for the next trial.
    CpuShare cpus;
    // What `setup` made for it, in that folder, stays as long as this is open.
    FileDescriptor setup_hold;
    std::string setup_folder;
    // What another trial must have in common, to be run by it.
    FilledCommand filled;
    std::string folder;
    int64_t threads = 0;
    DeviceEnvironment devices;
  };

  static std::string FolderOf(const TrialStart& start);  // Its program's.
  // The worker is gone: nothing that it started stays.
  [[noreturn]] static void LeaveWithAll();
  std::optional<TrialEnd> RunAttempt(const TrialStart& start);
  Result<std::unique_ptr<Attempt>> Begin(const TrialStart& start);
  void KeepServed(Attempt& attempt);
  void EndServed();
  bool CanServe(const Attempt& attempt);
  static void HandOver(Served served, Attempt& attempt);
  Status StartProgram(Attempt& attempt);
  Result<Program> StartWhenThereIsRoom(const ProgramOptions& options);
  static Status CheckMachine(const Attempt& attempt);
  static std::vector<std::string> FoldersOf(const Attempt& attempt);
  static bool IsFullUnder(const Attempt& attempt);
  static bool HasBecomeReadOnly(const Attempt& attempt);
  Status SetUp(Attempt& attempt);
  Status RunSetup(const Attempt& attempt, const std::string& line);
  std::optional<TrialEnd> Follow(Attempt& attempt);
  void Wait(Attempt& attempt);
  void LookAtMemory(Attempt& attempt, Instant now);
  // Whether there was any.
  bool TakeOutput(Attempt& attempt);
  std::string LeftRunning(const Program& program);
  void TakeLines(Attempt& attempt);
  void TakeProgramEnd(Attempt& attempt);
  Result<CheckpointRef> SaveBeside(Attempt& attempt, const SaveProgramCheckpoint& effect);
  void Perform(Attempt& attempt);
  void Do(Attempt& attempt, const SendReport& effect);
  void Do(Attempt& attempt, const ReplyToProgram& effect);
  void Do(Attempt& attempt, const SaveProgramCheckpoint& effect);
  void Do(Attempt& attempt, const SignalProgram& effect);
  void Do(Attempt& attempt, const AddToLog& effect);
  void Do(Attempt& attempt, const FinishAttempt& effect);

  WorkerLine& worker_;
  const Clock& clock_;
  const std::string program_folder_;
  FileDescriptor signals_;
  std::vector<Secret> secrets_;  // Of the present trial: they are not sent.
  std::optional<Served> served_;
};

}  // namespace tune
