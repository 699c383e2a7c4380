// Starting a trial process and what the worker holds of it: its pid, a socket to it and a pipe from
// its output.
//
// The process is in a group of its own, gets SIGKILL when the thread that started it ends, has no
// standard input, and finds its end of the socket as file descriptor 3; nothing else is open in it.
//
// Thread rule: one thread, which must live as long as the process shall.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/devices/device_environment.h"

namespace tune {

inline constexpr int kTrialSocketFd = 3;

struct TrialProcess {
  int pid = 0;
  FileDescriptor pid_fd;  // Readable when the process has ended.
  FileDescriptor socket;  // Ours, non-blocking.
  FileDescriptor output;  // Of its standard output and error, non-blocking.
};

struct TrialProcessOptions {
  std::string program;        // Path.
  int64_t threads = 0;        // OMP_NUM_THREADS; 0: as in our own environment.
  DeviceEnvironment devices;  // Of its first attempt, where that is known.
};

// Errors name the program and the cause: "cannot start /opt/tune_trial: No such file or directory".
// kResourceExhausted: it may succeed later (StartFailure in launch.h).
Result<TrialProcess> StartTrialProcess(const TrialProcessOptions& options);

// The folder of the running program, where its companions are.
Result<std::string> ProgramFolder();

}  // namespace tune
