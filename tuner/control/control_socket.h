// The place where a tuner listens for commands: <db stem>.artifacts/control.sock, a Unix stream
// socket. A socket's address holds 107 bytes, a path many more: a long one is reached through the
// opened folder, /proc/self/fd/N/control.sock.
//
// Thread rule: one thread per object.
#pragma once

#include <sys/un.h>

#include <string>
#include <utility>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

inline constexpr char kControlSocketName[] = "control.sock";

// The socket's name within `folder`, which must exist; usable while this lives.
class ControlAddress {
 public:
  static Result<ControlAddress> In(const std::string& folder);

  int folder_fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }  // For people.
  sockaddr_un name() const { return name_; }

 private:
  ControlAddress() = default;

  FileDescriptor folder_;
  std::string path_;
  sockaddr_un name_{};
};

// A connection to whoever listens there, non-blocking. kNotFound: nobody does.
Result<FileDescriptor> ConnectToControl(const ControlAddress& address);

}  // namespace tune
