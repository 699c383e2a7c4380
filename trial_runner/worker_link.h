// The seam between the tuner and its workers, as the tuner sees it. The real one is
// grpc/worker_gateway; the simulator's is a queue through the real codec.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "trial_runner/messages.h"

namespace tune {

// What arrived, stamped with the worker (a connection) it came from. A connection that breaks is
// the last thing heard of it.
struct WorkerDisconnected {
  bool is_expelled = false;  // We closed it, and it may not come back: its token was revoked.
};
struct Incoming {
  WorkerId worker;
  std::string address;  // Of the peer, for people.
  std::variant<FromWorker, WorkerDisconnected> message;
};

// Thread rule: Send and Close may be called from the tuner's thread only; incoming messages are
// pushed by the adapter's threads into the queue that it was made with.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // Queues for sending, in order; coalesced into as few wire messages as possible. Unknown workers
  // are ignored: a disconnect is on its way.
  virtual void Send(WorkerId worker, std::vector<ToWorker> messages) = 0;
  virtual void Close(WorkerId worker) = 0;
};

}  // namespace tune
