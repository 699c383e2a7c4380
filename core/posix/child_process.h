// A process that the tuner starts beside itself: its local worker, its page, an engine's program;
// in a process group of its own (a Ctrl-C at the terminal reaches the tuner alone), and it dies
// with the tuner however that dies.
//
// Thread rule: the thread that calls Start must live as long as the child (the kernel ties the
// child to it); one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

class ChildProcess {
 public:
  // `program`: its path; `arguments` without the program's name; `environment`: what its
  // environment has besides ours or in place of it, "NAME=value"; `output`: a descriptor that
  // becomes its standard output and error, below 0: it has ours; `error`: its standard error alone;
  // `folder`: where it runs, "": where we do; `input`: its standard input, below 0: nothing, if
  // `output` is given.
  static Result<std::unique_ptr<ChildProcess>> Start(const std::string& program,
                                                     const std::vector<std::string>& arguments,
                                                     const std::vector<std::string>& environment,
                                                     int output = -1, int error = -1,
                                                     const std::string& folder = "",
                                                     int input = -1);
  // If it has not ended by itself: asks its group to end (SIGTERM), kills what is left of the group
  // once the process has ended or after two seconds, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it has ended by itself; reaps it.
  bool HasEnded();
  // After HasEnded: "exit status 1", "signal 9 (Killed)".
  const std::string& ending() const { return ending_; }
  int exit_status() const { return exit_status_; }  // 128 and its number after a signal.

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  bool has_ended_ = false;
  std::string ending_;
  int exit_status_ = 0;
};

}  // namespace tune
