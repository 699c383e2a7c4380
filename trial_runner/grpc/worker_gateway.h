// The tuner's end of its workers' connections: a gRPC server with a plain port on this machine's
// loopback for the tuner's own worker, an encrypted one for others, or both. Each connection that
// says Hello is a worker and gets the next WorkerId (one of another version is refused,
// trial_runner/version.h); bytes become messages, or the connection is refused. One write is in
// flight per connection; what gathers meanwhile goes into the next batch.
//
// A call of Fetch brings a package to who may attach, a call of Checkpoint brings checkpoints here
// and back to who is attached and holds the lease; nothing of it is seen by the sink.
//
// Connections are accepted by a Listener (listener.h), so that no crowd of strangers makes the
// gateway deaf. On the encrypted port a stranger (no certificate, or one of an unknown key) is
// closed in the handshake; a known one that may not join is told why; one whose right ends is
// closed at its next message. A worker that does not read what it is sent is disconnected, and so
// is one that says that it is the tuner's own and is not.
//
// Thread rule: as WorkerLink says; the destructor from the tuner's thread. The sink must outlive
// the gateway, and somebody must empty it until the destructor has returned if its Push can block.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/admission.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/incoming_sink.h"
#include "trial_runner/package_shelf.h"
#include "trial_runner/worker_link.h"

namespace tune {

class WorkerGateway final : public WorkerLink {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";  // Loopback only; port 0: the operating system's choice.
                                         // Empty: no plain port.
    WorkerId first_worker{1};
    std::string local_secret = {};  // What the plain port asks for; empty: nothing.
    struct Tls {
      std::string listen;              // Any address of this machine.
      std::string certificates;        // The server's, then its authority's; PEM.
      std::string key;                 // PEM.
      Admission* admission = nullptr;  // Must outlive the gateway.
    };
    std::optional<Tls> tls = {};
    PackageShelf* packages = nullptr;  // What workers fetch; must outlive the gateway.
    // Where checkpoints come in of workers that do not see this disk; must outlive the gateway.
    CheckpointDepot* checkpoints = nullptr;
  };
  static Result<std::unique_ptr<WorkerGateway>> Start(const Options& options, IncomingSink& sink);
  // Breaks what is still connected; WorkerDisconnected of each has been pushed when it returns.
  ~WorkerGateway() override;

  // Of the plain port: "127.0.0.1:34567", for `tune_worker --connect`.
  const std::string& address() const;
  // Of the encrypted port, with the host as given in the options.
  const std::string& tls_address() const;

  void Send(WorkerId worker, std::vector<ToWorker> messages) override;
  // Sends what is queued, then closes.
  void Close(WorkerId worker) override;

  // A line for a person when a crowd of strangers was first met; from any thread.
  std::optional<std::string> TakeNotice();

  // Waits until every connection has ended, at most this long: after Shutdown has been sent.
  bool WaitUntilAllGone(Duration patience);

 private:
  class Connection;
  class Service;

  explicit WorkerGateway(std::unique_ptr<Service> service);

  std::unique_ptr<Service> service_;
};

}  // namespace tune
