// Ports for servers of tests whose number must be known beforehand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/check.h"

namespace tune::testing {

// The kernel takes ports of outgoing connections from 32768 on (net.ipv4.ip_local_port_range): a
// port there may be another test's connection by the time that its server starts. Many a server of
// a machine has its place below 20000. tests/python/free_port.py gives ports of the same range.
inline constexpr int kFirstPort = 20000;
inline constexpr int kPorts = 12768;

// Whether no other test has the port, nor any server. It is this process's until this process ends:
// an abstract socket of the port's name says so to other tests.
inline bool ClaimPort(int port) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tune-test-port-%d", port);
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  const int claim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  TUNE_CHECK(claim >= 0);
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  TUNE_CHECK(server >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool is_free = bind(claim, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                       bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(server);
  if (!is_free) close(claim);
  return is_free;
}

// Ports that nobody else has, each another one. Tests that run beside each other begin to look at
// different places.
inline std::vector<int> FreePorts(int count) {
  std::vector<int> ports;
  for (int i = 0; i < kPorts && static_cast<int>(ports.size()) < count; ++i) {
    const int port = kFirstPort + (getpid() % kPorts * 31 + i) % kPorts;
    if (ClaimPort(port)) ports.push_back(port);
  }
  TUNE_CHECK(static_cast<int>(ports.size()) == count);
  return ports;
}

// Where a head listens that is killed and found again there. Port 0 is one of the kernel's: while
// nobody listens, a client that tries again may be connected to itself.
inline std::string FreePlace() { return "127.0.0.1:" + std::to_string(FreePorts(1).front()); }

}  // namespace tune::testing
