// A program under test that is ended from outside at a drawn moment, with all that it started:
// found through /proc, awaited through pidfds, so that "nothing is left" is seen and not assumed.
//
// The moment is a time after the start, or the n-th call of the program's first thread that touches
// a file: counted with ptrace, so that each write of a database's creation is as likely as another.
//
// Thread rule: one thread; the one that starts a program waits for it (ptrace asks for that).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tune::testing {

// Orphans of what we start become our children, so that they can be awaited. Once a process.
void AdoptOrphans();

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
  int64_t started_at = 0;  // In hundredths of a second. Numbers are given anew from the first.
};
// All that descend from `root`, without it; ended ones that nobody has reaped are left out.
std::vector<ProcessEntry> Descendants(pid_t root);

int64_t MonotonicUs();

class WatchedProgram {
 public:
  struct Options {
    std::string program;  // Its path.
    std::vector<std::string> arguments;
    std::string folder;                  // Where it runs.
    std::vector<std::string> variables;  // NAME=value, beside the environment of this process.
    std::string out_path;                // Standard output and error.
    bool is_traced = false;
  };
  explicit WatchedProgram(const Options& options);
  ~WatchedProgram();  // Kills what is left.
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;

  pid_t pid() const { return pid_; }
  // Waits until `us` after the start; false when it ended before.
  bool RunFor(int64_t us);
  // Traced only: stops it before its n-th call that touches a file; false when it ended before.
  bool RunToFileCall(int64_t n);
  // Traced only: lets it go.
  void Release();
  void Signal(int signal) const;

  // To its end; 128 + signal when a signal ended it. Nothing when it has not ended after
  // `bound_us`.
  std::optional<int> WaitForEnd(int64_t bound_us);
  // After its end: until all that it started have ended too. Their names, if some have not.
  std::vector<std::string> WaitForDescendants(int64_t bound_us);

 private:
  bool Reap(int wait_status);

  pid_t pid_ = 0;
  int pid_fd_ = -1;
  bool is_traced_ = false;
  int64_t start_us_ = 0;
  std::optional<int> exit_status_;
};

}  // namespace tune::testing
