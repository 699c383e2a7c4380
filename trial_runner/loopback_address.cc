#include "trial_runner/loopback_address.h"

#include <charconv>

namespace tune {
namespace {

// 127.x.y.z with each part 0 to 255.
bool IsLoopbackIpv4(std::string_view host) {
  int parts = 0;
  while (parts < 4) {
    int number = -1;
    const auto [end, error] = std::from_chars(host.data(), host.data() + host.size(), number);
    if (error != std::errc() || number < 0 || number > 255) return false;
    if (parts == 0 && number != 127) return false;
    host.remove_prefix(static_cast<size_t>(end - host.data()));
    ++parts;
    if (parts == 4) return host.empty();
    if (host.empty() || host.front() != '.') return false;
    host.remove_prefix(1);
  }
  return false;
}

}  // namespace

std::string LoopbackAddress::ToText() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<LoopbackAddress> ParseLoopbackAddress(std::string_view text) {
  const std::string quoted = "address '" + std::string(text) + "'";
  const size_t colon = text.rfind(':');
  LoopbackAddress address;
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument(quoted + ": expected HOST:PORT, such as 127.0.0.1:7000");
  }
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > 65535) {
    return InvalidArgument(quoted + ": expected a port from 0 to 65535 after the colon, read '" +
                           std::string(port) + "'");
  }
  const std::string_view host = text.substr(0, colon);
  if (host == "localhost") {
    address.host = "127.0.0.1";
  } else if (host == "[::1]") {
    address.host = "::1";
  } else if (IsLoopbackIpv4(host)) {
    address.host = std::string(host);
  } else {
    return InvalidArgument(
        quoted +
        " is not on this machine's loopback (127.0.0.1, localhost or [::1]); connections "
        "between machines come with TLS and join tokens in a later version");
  }
  return address;
}

}  // namespace tune
