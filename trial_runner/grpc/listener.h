// The doors of a server: listens, accepts, and hands a connection on when its peer has spoken.
// Those who connect speak first in TLS and in HTTP/2, so a connection that stays silent is a
// stranger's.
//
// Whatever strangers do, the next one can connect and the process has descriptors left for its own
// work: silent connections are closed after a while, and, when their places are all taken, the
// oldest of whoever has most of them is; of those that were handed on see open_connections.h.
// Without descriptors or memory an accept waits and
// is tried again; a socket that can accept no more is made anew.
//
// Thread rule: Open and the destructor from one thread; `take` is called from a thread of the
// listener's own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/grpc/open_connections.h"
#include "trial_runner/network_address.h"

namespace tune {

class Listener {
 public:
  struct Port {
    NetworkAddress address;  // Port 0: the operating system's choice.
    // Gets the descriptor for good: of a socket that does not block.
    std::function<void(int fd)> take;
  };
  // Listens on all addresses that each host stands for, and begins to accept; `ports` get their
  // numbers. `connections` must outlive it. kUnavailable: it is no address of this machine, or the
  // port is taken or not permitted.
  static Result<std::unique_ptr<Listener>> Open(std::vector<Port>& ports,
                                                OpenConnections& connections, Duration patience);
  // Nothing is taken any more when it returns; silent connections are closed.
  ~Listener();

 private:
  class Loop;

  explicit Listener(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace tune
