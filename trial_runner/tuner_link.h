// The seam between a worker and its tuner, as the worker sees it. The real one is
// grpc/tuner_channel.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/status.h"
#include "trial_runner/messages.h"

namespace tune {

// What the adapter's threads call. Messages come in order; OnClosed comes once, last.
class TunerSink {
 public:
  virtual ~TunerSink() = default;
  virtual void OnMessages(std::vector<ToWorker> messages) = 0;
  // ok: the tuner closed the connection in order. Otherwise one line says why it broke or never
  // came to be.
  virtual void OnClosed(Status reason) = 0;
};

// Thread rule: one thread. The destructor gives up the connection; the sink hears nothing more of
// it afterwards.
class TunerLink {
 public:
  virtual ~TunerLink() = default;
  // Queues for sending, in order; coalesced into as few wire messages as possible. Dropped when the
  // connection is gone.
  virtual void Send(std::vector<FromWorker> messages) = 0;
  // Sends what is queued, then closes this side. OnClosed follows.
  virtual void CloseAfterSending() = 0;
};

// Begins a connection; returns at once, messages queue until it stands.
using TunerLinkFactory = std::function<std::unique_ptr<TunerLink>(TunerSink&)>;

}  // namespace tune
