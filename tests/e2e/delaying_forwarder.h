// A TCP forwarder in user space that holds everything back for a while: a long way between two
// machines, where the kernel has no such link to offer.
//
// Thread rule: made and ended by one thread; it has threads of its own.
#pragma once

#include <memory>
#include <string>

namespace tune::testing {

class DelayingForwarder {
 public:
  // Listens on loopback; each byte is forwarded to `to` (HOST:PORT, IPv4) `delay_ms` after it came,
  // and the same on the way back.
  DelayingForwarder(const std::string& to, int delay_ms);
  ~DelayingForwarder();

  const std::string& address() const;  // HOST:PORT.

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tune::testing
