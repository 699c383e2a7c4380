// The worker that the tuner starts by itself: a child process in a process group of its own (a
// Ctrl-C at the terminal reaches the tuner alone), which dies with the tuner however that dies.
//
// Thread rule: the thread that calls Start must live as long as the worker (the kernel ties the
// child to it); one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

class LocalWorker {
 public:
  // `program`: path of tune_worker; `arguments` without the program's name; `environment`: what its
  // environment has besides ours, "NAME=value".
  static Result<std::unique_ptr<LocalWorker>> Start(const std::string& program,
                                                    const std::vector<std::string>& arguments,
                                                    const std::vector<std::string>& environment);
  // Asks it to end (SIGTERM), kills its group if it has not ended within two seconds, and waits for
  // it.
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it has ended by itself; reaps it.
  bool HasEnded();
  // After HasEnded: "exit status 1", "signal 9 (Killed)".
  const std::string& ending() const { return ending_; }

 private:
  explicit LocalWorker(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  bool has_ended_ = false;
  std::string ending_;
};

}  // namespace tune
