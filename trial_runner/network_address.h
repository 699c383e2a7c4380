// HOST:PORT where tuners listen and workers connect, as a text is read; nothing is looked up.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

struct NetworkAddress {
  std::string host;  // "127.0.0.1", "::1" (without brackets) or a name. "localhost" is read as
                     // 127.0.0.1, so that it is never looked up.
  int port = 0;      // 0: the operating system chooses one (listening only).

  // "127.0.0.1:7000", "[::1]:7000", "tuner.example.org:7000".
  std::string ToText() const;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  bool is_ipv4() const;  // Four numbers.
  // 127.x.y.z or ::1: nobody but this machine reaches it.
  bool is_loopback() const;
  // 0.0.0.0 or ::, every interface of the machine; nobody connects to it by this name.
  bool is_any() const;

  friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

// "127.0.0.1:7000", "localhost:7000", "[::1]:7000", "tuner.example.org:7000". Anything else is
// refused in one line.
Result<NetworkAddress> ParseNetworkAddress(std::string_view text);

// Whose connections count as one's: those of an IPv4 address, which an IPv6 one may be mapped from,
// or those of an IPv6 network (/64), of which a machine has many addresses. `address`: 4 or 16
// bytes, as on the wire; so is the answer, 4 or 8.
std::string OwnerOfAddress(std::string_view address);

}  // namespace tune
