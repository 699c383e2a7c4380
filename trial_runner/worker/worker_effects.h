// What goes out of a worker's decisions and what comes in of its processes and devices: effects,
// which worker_loop performs, and what it saw (worker_core.h).
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "trial_runner/devices/device_environment.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

using ProcessId = Id<struct ProcessTag>;  // Within the worker, from 1; never used twice.

// ---- effects, performed in order

struct SendToTuner {
  FromWorker message;
};
// A process in a group of its own. If it cannot be started, OnProcessEnded says why.
struct SpawnProcess {
  ProcessId process;
  std::string program;  // In the folder of our programs.
  int64_t threads = 0;  // 0: not known yet.
  DeviceEnvironment devices;
};
struct WriteToProcess {
  ProcessId process;
  std::string line;
};
// What the process prints goes to the end of each of these files from now on; none: nowhere.
struct KeepOutput {
  ProcessId process;
  std::vector<std::string> paths;
};
// To its whole group.
struct SignalProcess {
  ProcessId process;
  bool kill = false;  // SIGKILL, else SIGTERM.
};
// What went wrong, to standard error.
struct PrintLine {
  std::string text;
  bool has_time = false;  // It stands before the text.
};
// What the worker does, to standard error with the time.
struct PrintNote {
  std::string text;
};
// Answered by OnPlace, unless another one of the sweep follows.
struct FindPlace {
  ExperimentId sweep;
  WantedPlace wanted;
};
// Known without looking: where the sweep runs here.
struct SettleSweep {
  ExperimentId sweep;
  FoundPlace found;
};
// Nothing of this sweep runs here any more, nor will: what is looked for, carried and kept for it
// can go.
struct LeaveSweep {
  ExperimentId sweep;
};
// An attempt has saved this, and its report waits until it is kept (OnCheckpointKept).
struct KeepCheckpoint {
  AttemptRef ref;
  std::string folder;  // On this machine.
};
// An attempt goes on from this, and begins once it is here (OnCheckpointObtained).
struct ObtainCheckpoint {
  AttemptRef ref;
  // On the tuner's machine, or in an object store; empty: there is no checkpoint.
  std::string path;
  CheckpointCopy copy;
  // What earlier attempts' programs left in the trial's folder; empty: it is not asked for.
  std::string files_path = {};    // On the tuner's machine.
  std::string files_folder = {};  // On this one.
  std::string log_path = {};      // The attempt's, which says why they are not here.
};
// What this attempt prints goes to the tuner, too: now and then; `is_last`: all of it, and before
// that what its program left in `folder`, which then is answered (OnLogSent). The process, if it
// is there, ran it.
struct SendLog {
  ProcessId process;
  AttemptRef ref;
  std::string path;
  int64_t rank = 0;
  bool is_last = false;
  std::string folder = {};  // Empty: nothing of it is sent.
};
// Nobody waits any more for what of this attempt is on its way.
struct GiveUpCheckpoints {
  AttemptRef ref;
};
// This copy is not needed any more.
struct DropCheckpoint {
  std::string folder;
};
// A trial has nothing more to do with what its program left here beside checkpoints and logs.
struct ClearTrialFolder {
  std::string folder;
};
// A new connection in place of the one before, which is given up with all that it still carries.
struct ConnectToTuner {};
// Sends what is left to send and ends the program.
struct ExitWorker {
  int status = 0;
};
using Effect = std::variant<SendToTuner, SpawnProcess, WriteToProcess, KeepOutput, SignalProcess,
                            PrintLine, PrintNote, FindPlace, SettleSweep, LeaveSweep,
                            KeepCheckpoint, ObtainCheckpoint, SendLog, GiveUpCheckpoints,
                            DropCheckpoint, ClearTrialFolder, ConnectToTuner, ExitWorker>;

// ---- what was seen

// How a process ended.
struct ProcessEnd {
  int exit_status = 0;
  std::string signal;            // "SIGSEGV"; empty: it exited by itself.
  std::string spawn_error = {};  // Not empty: it could not be started.
  bool by_oom_killer = false;    // The system killed it: memory is short.
};

// What was seen of the devices. Those that fell away are told of again and again.
struct DevicesSeen {
  std::vector<DeviceUse> use;
  std::vector<DeviceLost> lost;
  struct ProcessUse {  // By a process and all that it started.
    ProcessId process;
    DeviceUse use;
  };
  std::vector<ProcessUse> by_process;
};

}  // namespace tune
