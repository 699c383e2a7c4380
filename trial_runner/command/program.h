// A program that runs: the user's, or a command of `setup`. What it prints on standard output and
// on standard error comes through two pipes. It is given on to our own standard output (which the
// worker keeps as the attempt's log) in the order in which it is read, and returned. Of an output
// that is longer than a log, the middle is left out: a traceback stands at the end, which is given
// on when the Program is destroyed.
//
// Thread rule: one thread, which must live as long as the program shall.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/command/program_environment.h"
#include "trial_runner/output_pattern.h"

namespace tune {

struct ProgramOptions {
  std::vector<std::string> arguments;  // The program is looked for in `environment`'s PATH.
  Environment environment;
  std::string folder;
  std::vector<int64_t> cpus;  // Empty: all.
  int cgroup_procs = -1;
  bool is_one_stream =
      false;  // Nobody tells its outputs apart: they come in the order of printing.
};

struct OutputPiece {
  OutputStream stream;
  std::string text;
};

class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // Errors say what could not be started and why, with the remedy where there is one.
  // kResourceExhausted: it may succeed later.
  static Result<Program> Start(const ProgramOptions& options);

  // To poll for its end, and for its output where that is wanted now.
  void AddTo(std::vector<pollfd>& fds, bool with_output) const;
  // What it has printed and was not read yet, a piece a stream: standard output first, because a
  // traceback comes after what was printed before it. Empty: nothing.
  std::vector<OutputPiece> TakeOutput();
  // What comes from now on is of another attempt's log.
  void BeginLog();
  // A line of ours in the log, on a line of its own.
  void AddToLog(std::string_view line);
  // Its wait status once it has ended. What it started may live on.
  std::optional<int> TakeEnd();

  // Whether what a process prints comes to us.
  bool IsPrintedOnBy(int pid) const;

  int pid() const { return pid_; }

 private:
  class Log;
  Program();

  int pid_ = 0;
  FileDescriptor pid_fd_;
  std::array<FileDescriptor, 2> outputs_;  // Standard output's and standard error's.
  std::unique_ptr<Log> log_;
};

}  // namespace tune
