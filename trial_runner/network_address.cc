#include "trial_runner/network_address.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tune {
namespace {

constexpr size_t kHostNameBytesMax = 253;  // RFC 1035.

// The first number of four, or nothing if it is no such address.
std::optional<int> FirstOfIpv4(std::string_view host) {
  int first = 0;
  for (int part = 0; part < 4; ++part) {
    int number = -1;
    const auto [end, error] = std::from_chars(host.data(), host.data() + host.size(), number);
    if (error != std::errc() || number < 0 || number > 255) return std::nullopt;
    if (part == 0) first = number;
    host.remove_prefix(static_cast<size_t>(end - host.data()));
    if (part == 3) break;
    if (host.empty() || host.front() != '.') return std::nullopt;
    host.remove_prefix(1);
  }
  return host.empty() ? std::optional(first) : std::nullopt;
}

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetterOrDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits, hyphens and dots, not all digits and dots: those are a mistyped number.
bool IsHostName(std::string_view host) {
  if (host.empty() || host.size() > kHostNameBytesMax || !IsLetterOrDigit(host.front())) {
    return false;
  }
  const auto is_allowed = [](char c) { return IsLetterOrDigit(c) || c == '-' || c == '.'; };
  const auto is_numeric = [](char c) { return IsDigit(c) || c == '.'; };
  return std::all_of(host.begin(), host.end(), is_allowed) &&
         !std::all_of(host.begin(), host.end(), is_numeric);
}

// What looks like one: hexadecimal digits, colons, at the end perhaps a dotted form. The system has
// the last word.
bool IsIpv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 && host.find(':') != std::string_view::npos &&
         std::all_of(host.begin(), host.end(),
                     [](char c) { return IsHexDigit(c) || c == ':' || c == '.'; });
}

}  // namespace

std::string NetworkAddress::ToText() const {
  return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool NetworkAddress::is_ipv4() const { return FirstOfIpv4(host).has_value(); }

bool NetworkAddress::is_loopback() const { return host == "::1" || FirstOfIpv4(host) == 127; }

bool NetworkAddress::is_any() const { return host == "0.0.0.0" || host == "::"; }

Result<NetworkAddress> ParseNetworkAddress(std::string_view text) {
  const std::string quoted = "address '" + std::string(text) + "'";
  const size_t colon = text.rfind(':');
  NetworkAddress address;
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
  } else if (host.front() == '[' && host.back() == ']' && IsIpv6(host.substr(1, host.size() - 2))) {
    address.host = std::string(host.substr(1, host.size() - 2));
  } else if (FirstOfIpv4(host) || IsHostName(host)) {
    address.host = std::string(host);
  } else {
    return InvalidArgument(quoted + ": expected a host before the colon, such as 10.0.0.5, [::1] " +
                           "or a name, read '" + std::string(host) + "'");
  }
  return address;
}

std::string OwnerOfAddress(std::string_view address) {
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  constexpr size_t kNetworkBytes = 8;
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  return std::string(address.size() == 4 ? address : address.substr(0, kNetworkBytes));
}

}  // namespace tune
