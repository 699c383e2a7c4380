#include "tuner/control/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tune {

Result<ControlAddress> ControlAddress::In(const std::string& folder) {
  ControlAddress address;
  address.path_ = folder + "/" + kControlSocketName;
  address.folder_ = FileDescriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!address.folder_.is_open()) {
    const int error = errno;
    const std::string message = folder + ": " + std::strerror(error);
    return error == ENOENT ? NotFound(message) : FailedPrecondition(message);
  }
  std::string name = address.path_;
  if (name.size() >= sizeof address.name_.sun_path) {
    name = "/proc/self/fd/" + std::to_string(address.folder_.get()) + "/" + kControlSocketName;
  }
  address.name_.sun_family = AF_UNIX;
  std::memcpy(address.name_.sun_path, name.c_str(), name.size() + 1);
  return address;
}

Result<FileDescriptor> ConnectToControl(const ControlAddress& address) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return Unavailable(std::string("no socket: ") + std::strerror(errno));
  const sockaddr_un name = address.name();
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) return fd;
  const int error = errno;
  const std::string message = address.path() + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
    case ECONNREFUSED:
    case ENOTSOCK:
      return NotFound(message);
    case EAGAIN:  // Too many wait already.
      return Unavailable(address.path() + ": too many commands at once");
    case EACCES:
    case EPERM:
      return FailedPrecondition(message + "; it is open to the user who runs the tuner alone");
    default:
      return Unavailable(message);
  }
}

}  // namespace tune
