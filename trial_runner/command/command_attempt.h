// An attempt that a command runner has under way: what its two files share.
//
// Thread rule: as of the runner, one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial_runner/command/command_runner.h"
#include "trial_runner/command/metric_files.h"
#include "trial_runner/command/shared_folder.h"

namespace tune {

// The variable that names what `setup` made.
inline constexpr char kSetupFolder[] = "TUNE_SETUP_DIR";

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
  Instant began_at;  // By the clock of files: its program was started then, or heard of it.
  std::vector<std::string> notes;  // What may be wrong with its values.
  std::optional<FinishAttempt> finish;
};

}  // namespace tune
