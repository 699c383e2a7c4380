#include "trial_runner/worker/trial_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tune {

TrialSocket::TrialSocket() {
  if (fcntl(kFd, F_SETFD, FD_CLOEXEC) == 0) return;
  std::fprintf(stderr, "this program runs trials for tune_worker and is started by it alone\n");
  std::exit(2);
}

void TrialSocket::EndProcess(const std::string& why) {
  std::fprintf(stderr, "trial process: %s\n", why.c_str());
  std::fflush(nullptr);
  _exit(1);
}

void TrialSocket::Send(std::string_view line) {
  while (!line.empty()) {
    const ssize_t count = send(kFd, line.data(), line.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) EndProcess("the worker is gone");
    line.remove_prefix(static_cast<size_t>(count));
  }
}

std::optional<std::string> TrialSocket::ReadLine(int wait_ms) {
  while (true) {
    const size_t end = inbox_.find('\n', line_start_);
    if (end != std::string::npos) {
      std::string line = inbox_.substr(line_start_, end - line_start_);
      line_start_ = end + 1;
      if (line_start_ == inbox_.size()) {
        inbox_.clear();
        line_start_ = 0;
      }
      return line;
    }
    if (is_closed_) return std::nullopt;
    pollfd ready = {kFd, POLLIN, 0};
    if (wait_ms != kForever && poll(&ready, 1, wait_ms) <= 0) return std::nullopt;
    char buffer[16 << 10];
    const ssize_t count = recv(kFd, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    is_closed_ = count <= 0;
    if (!is_closed_) inbox_.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace tune
