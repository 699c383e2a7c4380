#include "trial_runner/command/worker_line.h"

#include <sys/socket.h>

#include <cerrno>

namespace tune {

Result<std::optional<ToTrial>> WorkerLine::Take() {
  char buffer[16 << 10];
  while (inbox_.find('\n') == std::string::npos) {
    const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::optional<ToTrial>();
    if (count <= 0) return Unavailable("the worker is gone");
    inbox_.append(buffer, static_cast<size_t>(count));
  }
  const size_t end = inbox_.find('\n');
  const std::string line = inbox_.substr(0, end);
  inbox_.erase(0, end + 1);
  TUNE_ASSIGN_OR_RETURN(ToTrial message, ParseToTrial(line));
  return std::optional(std::move(message));
}

void WorkerLine::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace tune
