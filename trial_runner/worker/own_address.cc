#include "trial_runner/worker/own_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "core/posix/file_descriptor.h"

namespace tune {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr char kAnyPort[] = "9";
// For documentation (RFC 5737): it is nobody's, so it lies where the default route leads.
constexpr char kElsewhere[] = "192.0.2.1";

Status Unclaimed(int error) {
  if (error == EADDRINUSE) {
    return FailedPrecondition("is in use, by a program or by another trial's ranks");
  }
  return Unavailable(std::string("cannot be taken: ") + std::strerror(error));
}

}  // namespace

// A datagram socket that is connected has chosen its interface; nothing is sent for that.
std::string OwnAddress(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), kAnyPort, &hints, &first) != 0) return kLoopback;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(first, freeaddrinfo);
  const FileDescriptor probe(socket(first->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = {};
  const bool is_known = probe.is_open() &&
                        connect(probe.get(), first->ai_addr, first->ai_addrlen) == 0 &&
                        getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                        getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text,
                                    sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? text : kLoopback;
}

std::string InterfaceOf(const std::string& address) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST] = {};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const bool is_known =
        getnameinfo(entry->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
    if (is_known && address == std::string_view(text)) return entry->ifa_name;
  }
  return "";
}

Result<std::shared_ptr<const void>> ClaimPort(int64_t port) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tune-ranks-port-%" PRId64, port);
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  FileDescriptor claim(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!claim.is_open()) return Unclaimed(errno);
  if (bind(claim.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    return Unclaimed(errno);
  }
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return Unclaimed(errno);
  // What is left of ended connections (TIME_WAIT) is in nobody's way: torch's store takes the port.
  const int is_taken_over = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &is_taken_over, sizeof is_taken_over);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Unclaimed(errno);
  }
  return std::shared_ptr<const void>(std::make_shared<const FileDescriptor>(std::move(claim)));
}

std::string OwnAddress() { return OwnAddress(kElsewhere); }

}  // namespace tune
