// `--detach`: the rest of a command goes on in a process of its own, in a session of its own, so
// that a closed terminal does not reach it; who started it waits until the sweep runs or is
// refused.
//
// Thread rule: one thread; start it before any other is.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "core/status.h"

namespace tune {

// The background process's line to the one that waits. Before LogTo it speaks to the same terminal.
class Background {
 public:
  explicit Background(int fd) : fd_(fd) {}
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // From now on standard output and error go to the end of this file; its folder is made.
  Status LogTo(const std::string& path);
  // The sweep is stored and runs; `text` is for who waits. Later calls do nothing.
  void TellRunning(const std::string& text);

 private:
  void Tell(const std::string& line);

  int fd_;
};

// Forks. In the new process `body` runs, and its exit status is returned there. In the old one:
// what the new one wrote to its log until then is shown on `err`; then either the text of
// TellRunning is printed on `out` and 0 returned, or, when the new process ends before it runs the
// sweep, its exit status. If the old one ends while it waits, the new one is asked to end, too.
int RunInBackground(const std::function<int(Background&)>& body, std::ostream& out,
                    std::ostream& err);

}  // namespace tune
