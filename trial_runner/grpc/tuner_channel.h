// The worker's end of the connection to its tuner: a gRPC client on this machine's loopback. One
// write is in flight; what gathers meanwhile goes into the next batch. It connects once: a broken
// connection is told to the sink and stays broken.
//
// Thread rule: as TunerLink says; the destructor from the same thread. The sink must outlive the
// channel.
#pragma once

#include <memory>
#include <vector>

#include "core/status.h"
#include "trial_runner/loopback_address.h"
#include "trial_runner/tuner_link.h"

namespace tune {

class TunerChannel final : public TunerLink {
 public:
  // Returns at once; messages queue until the connection is there.
  TunerChannel(const LoopbackAddress& tuner, TunerSink& sink);
  // Breaks the connection if it still stands; OnClosed has been called when it returns.
  ~TunerChannel() override;

  void Send(std::vector<FromWorker> messages) override;
  void CloseAfterSending() override;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tune
