// Ports for servers of tests whose number must be known beforehand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "core/check.h"

namespace tune::testing {

// Ports of loopback that were free a moment ago, each another one.
inline std::vector<int> FreePorts(int count) {
  std::vector<int> sockets, ports;
  for (int i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    TUNE_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    TUNE_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : sockets) close(fd);
  return ports;
}

}  // namespace tune::testing
