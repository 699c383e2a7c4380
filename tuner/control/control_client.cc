#include "tuner/control/control_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tuner/control/asker.h"
#include "tuner/control/control_socket.h"

namespace tune {
namespace {

// False: the time is over.
bool WaitFor(int fd, short events, const Clock& clock, Instant deadline) {
  for (;;) {
    const int64_t left_us = (deadline - clock.Now()).us;
    if (left_us <= 0) return false;
    pollfd polled{fd, events, 0};
    const int timeout_ms = static_cast<int>(std::min<int64_t>(left_us / 1000 + 1, 60'000));
    if (poll(&polled, 1, timeout_ms) > 0) return true;
  }
}

Status NoAnswer(const std::string& why) {
  return Unavailable(why + "; tune status shows whether it was done");
}

Status SendLine(int fd, std::string line, const Clock& clock, Instant deadline) {
  while (!line.empty()) {
    if (!WaitFor(fd, POLLOUT, clock, deadline)) return NoAnswer("the tuner takes no command");
    const ssize_t size = send(fd, line.data(), line.size(), MSG_NOSIGNAL);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    // It ended, or refuses to read on and has said why.
    if (size < 0) return OkStatus();
    line.erase(0, static_cast<size_t>(size));
  }
  return OkStatus();
}

Result<std::string> ReadLine(int fd, const Clock& clock, Instant deadline,
                             const std::function<void()>& is_late) {
  constexpr Duration kSoon = Seconds(3);
  std::string line;
  if (is_late && !WaitFor(fd, POLLIN, clock, std::min(deadline, clock.Now() + kSoon))) is_late();
  while (line.size() <= kControlAnswerBytesMax) {
    if (!WaitFor(fd, POLLIN, clock, deadline)) return NoAnswer("the tuner does not answer");
    char bytes[4096];
    const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size <= 0) return NoAnswer("the tuner ended before it answered");
    line.append(bytes, static_cast<size_t>(size));
    if (const size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
  }
  return NoAnswer("the tuner's answer has no end");
}

}  // namespace

Result<ControlAnswer> AskTuner(const std::string& folder, const ControlRequest& request,
                               const Clock& clock, Duration patience,
                               const std::function<void()>& is_late) {
  const Instant deadline = clock.Now() + patience;
  TUNE_ASSIGN_OR_RETURN(const ControlAddress address, ControlAddress::In(folder));
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor connection, ConnectToControl(address));
  ControlRequest asked = request;
  asked.by = AsksFor();
  TUNE_RETURN_IF_ERROR(SendLine(connection.get(), EncodeRequest(asked) + "\n", clock, deadline));
  TUNE_ASSIGN_OR_RETURN(const std::string line,
                        ReadLine(connection.get(), clock, deadline, is_late));
  Result<ControlAnswer> answer = DecodeAnswer(line);
  if (!answer.ok()) return NoAnswer("what the tuner answered is " + answer.status().message());
  return answer;
}

}  // namespace tune
