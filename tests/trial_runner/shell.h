// A script of /bin/sh as a child of the test, which reads what it prints line by line.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/check.h"

namespace tune {

class Shell {
 public:
  explicit Shell(const std::string& script) {
    int ends[2];
    TUNE_CHECK(pipe(ends) == 0);
    pid_ = fork();
    TUNE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  ~Shell() { fclose(output_); }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  pid_t pid() const { return pid_; }
  // Waits for it; empty at the end.
  std::string Line() {
    char line[4096];
    if (fgets(line, sizeof line, output_) == nullptr) return "";
    std::string text = line;
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  pid_t pid_ = 0;
  FILE* output_ = nullptr;
};

}  // namespace tune
