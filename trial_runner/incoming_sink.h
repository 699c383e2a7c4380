// Where the tuner's side of the workers' connections puts what arrives. The tuner's queue
// implements it; the gateway pushes into it.
//
// Thread rule: Push may be called from any thread, and from several at once; messages of one worker
// come in order. It may block: that slows the connection down, which is meant.
#pragma once

#include <vector>

#include "trial_runner/worker_link.h"

namespace tune {

class IncomingSink {
 public:
  virtual ~IncomingSink() = default;
  virtual void Push(std::vector<Incoming> messages) = 0;
};

}  // namespace tune
