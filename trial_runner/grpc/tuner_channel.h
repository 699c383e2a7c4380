// The worker's end of the connection to its tuner: a gRPC client, plain on this machine's loopback,
// over TLS otherwise. One write is in flight; what gathers meanwhile goes into the next batch. It
// connects once: a broken connection is told to the sink and stays broken.
//
// Thread rule: as TunerLink says; the destructor from the same thread. The sink must outlive the
// channel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/network_address.h"
#include "trial_runner/tuner_link.h"

namespace tune {

// Where a tuner is, and what a worker shows to it. Good for any number of connections.
struct TunerEndpoint {
  NetworkAddress address;
  std::string local_secret = {};  // Shown if not empty: the tuner's own worker.
  // All PEM. With it the connection is encrypted; the tuner must have a certificate of `authority`
  // for `name`, whatever its host is called.
  struct Tls {
    std::string authority;
    std::string name;
    std::string certificate;
    std::string key;
  };
  std::optional<Tls> tls = {};  // Without: plain, loopback only.
};

class TunerChannel final : public TunerLink {
 public:
  // Returns at once; messages queue until the connection is there.
  TunerChannel(const TunerEndpoint& tuner, TunerSink& sink);
  // Breaks the connection if it still stands; OnClosed has been called when it returns.
  ~TunerChannel() override;

  void Send(std::vector<FromWorker> messages) override;
  void CloseAfterSending() override;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tune
