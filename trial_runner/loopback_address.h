// HOST:PORT where tuners listen and workers connect. Only this machine's loopback is allowed until
// connections are encrypted and workers show a token.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

struct LoopbackAddress {
  std::string host;  // "127.0.0.1" or "::1"; "localhost" is read as the first, so that no name is
                     // ever looked up.
  int port = 0;      // 0: the operating system chooses one (listening only).

  // "127.0.0.1:7000", "[::1]:7000".
  std::string ToText() const;
};

// "127.0.0.1:7000", "localhost:7000", "[::1]:7000". Anything else is refused in one line.
Result<LoopbackAddress> ParseLoopbackAddress(std::string_view text);

}  // namespace tune
