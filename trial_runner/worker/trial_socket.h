// A trial process's end of the connection to its worker: lines over the socket that the worker left
// as file descriptor 3 (trial_protocol.h).
//
// When the worker is gone, or says what cannot be understood, there is nobody left to tell: the
// process ends at once, with status 1.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tune {

class TrialSocket {
 public:
  static constexpr int kFd = 3;

  // Takes the socket, closed again when this program starts others. A program that was not started
  // by a worker has none: it says so on standard error and exits with status 2.
  TrialSocket();

  void Send(std::string_view line);
  static constexpr int kForever = -1;
  // Without its '\n'. Nothing: there will be none (is_closed), or none came for so long.
  std::optional<std::string> ReadLine(int wait_ms = kForever);
  bool is_closed() const { return is_closed_; }

  // Says why on standard error, and ends the process.
  [[noreturn]] static void EndProcess(const std::string& why);

 private:
  std::string inbox_;
  size_t line_start_ = 0;
  bool is_closed_ = false;
};

}  // namespace tune
