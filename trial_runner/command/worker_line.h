// The connection to the worker, which it left as file descriptor 3.
//
// Thread rule: one thread.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

class WorkerLine {
 public:
  explicit WorkerLine(FileDescriptor socket) : socket_(std::move(socket)) {}

  pollfd ToPoll() const { return {socket_.get(), POLLIN, 0}; }
  // What has come, without waiting; nothing yet: nullopt. An error: the worker is gone, or says
  // what cannot be understood; there is nobody left to tell.
  Result<std::optional<ToTrial>> Take();
  // Waits until it is under way; to a worker that is gone: nothing happens.
  void Send(std::string_view text);

 private:
  FileDescriptor socket_;
  std::string inbox_;
};

}  // namespace tune
