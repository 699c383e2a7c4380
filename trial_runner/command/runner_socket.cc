#include "trial_runner/command/runner_socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace tune {

Result<RunnerAddress> RunnerAddress::Of(const std::string& name) {
  RunnerAddress address;
  address.address_.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.address_.sun_path) {
    return InvalidArgument("read '" + name + "', expected the name of a socket");
  }
  std::memcpy(address.address_.sun_path, name.data(), name.size());
  const bool is_abstract = name.front() == '@';
  if (is_abstract) address.address_.sun_path[0] = '\0';
  address.length_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  return address;
}

Result<FileDescriptor> ConnectToRunner(const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(const RunnerAddress address, RunnerAddress::Of(name));
  FileDescriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.is_open() || connect(connection.get(), address.get(), address.length()) != 0) {
    return Unavailable(std::string("the tuner is gone: ") + std::strerror(errno));
  }
  return connection;
}

}  // namespace tune
