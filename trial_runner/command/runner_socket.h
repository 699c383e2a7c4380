// The socket between a user's program and the process that runs it, by the name in TUNE_SOCKET.
//
// Thread rule: stateless.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

class RunnerAddress {
 public:
  // '@' begins a name in Linux's abstract namespace; another one is a path.
  static Result<RunnerAddress> Of(const std::string& name);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_un address_ = {};
  socklen_t length_ = 0;
};

// kUnavailable: the runner is gone.
Result<FileDescriptor> ConnectToRunner(const std::string& name);

}  // namespace tune
