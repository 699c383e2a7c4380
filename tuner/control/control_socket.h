// The place where a tuner listens for commands: <db stem>.artifacts/control.sock, a Unix stream
// socket. A socket's address holds 107 bytes, a path many more: a long one is reached through the
// opened folder, /proc/self/fd/N/control.sock.
//
// Thread rule: one thread per object.
#pragma once

#include <sys/un.h>

#include <string>
#include <utility>

#include "core/status.h"

namespace tune {

inline constexpr char kControlSocketName[] = "control.sock";

// A descriptor that is closed with its owner.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int fd = -1) : fd_(fd) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedDescriptor();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The socket's name within `folder`, which must exist; usable while this lives.
class ControlAddress {
 public:
  static Result<ControlAddress> In(const std::string& folder);

  int folder_fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }  // For people.
  sockaddr_un name() const { return name_; }

 private:
  ControlAddress() = default;

  OwnedDescriptor folder_;
  std::string path_;
  sockaddr_un name_{};
};

// A connection to whoever listens there, non-blocking. kNotFound: nobody does.
Result<OwnedDescriptor> ConnectToControl(const ControlAddress& address);

}  // namespace tune
