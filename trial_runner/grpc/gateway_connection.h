// A stream between a gateway and a worker, or a call beside one.
//
// Thread rule: Send, Close, IsOf and Holds from any thread, the rest from the completion thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "trial_runner/grpc/gateway_service.h"
#include "trial_runner/held_leases.h"

namespace tune {

// One stream: awaited, open, finished. It owns itself until then; the service shares it while it is
// a worker.
class WorkerGateway::Connection final {
 public:
  static void Await(Service& service);

  void Send(std::vector<ToWorker> messages);
  void Close() { FinishAfterSending(grpc::Status::OK); }

  bool IsOf(const std::string& session);
  bool Holds(const AttemptRef& ref);
  bool HasNotEnded(const AttemptRef& ref);

 private:
  explicit Connection(Service& service) : service_(service) {}

  void OnCalled(bool ok);

  // Who came over TLS has a certificate; the rest came through the plain port.
  Status CheckCaller();

  // kUnavailable passes: the caller may try again.
  void Refuse(const Status& status);
  void Read();
  void OnRead(bool ok);

  // The one message of such a call; the text follows piece by piece, each when the one before is on
  // its way.
  void BeginFetch();

  // Requires mutex_. The next piece, or nothing more.
  void FetchNext();
  void OnWritten(bool ok);
  void OnFinished(bool);

  // Both ways are at their end. The disconnection is the last that is heard of a worker.
  void LeaveIfDone();

  // Hello comes first, and once, from a worker of our own version (kFailedPrecondition otherwise).
  Status CheckHello(const std::vector<FromWorker>& messages);
  void Deliver(std::vector<FromWorker> messages);
  void FinishAfterSending(const grpc::Status& status);

  // Requires mutex_. The next write, or the end.
  void Advance();

  Service& service_;
  std::unique_ptr<ServerCall> call_ = std::make_unique<ServerCall>();
  std::shared_ptr<Connection> self_;
  MethodCompletion<Connection> on_called_{this, &Connection::OnCalled};
  MethodCompletion<Connection> on_read_{this, &Connection::OnRead};
  MethodCompletion<Connection> on_written_{this, &Connection::OnWritten};
  MethodCompletion<Connection> on_finished_{this, &Connection::OnFinished};

  // Of the completion thread alone.
  std::string address_;
  std::optional<std::string> token_id_;  // Of who came over TLS.
  bool is_expelled_ = false;
  bool is_fetch_ = false;
  grpc::ByteBuffer read_buffer_;
  std::optional<WorkerId> worker_;
  bool is_reading_ = false;
  bool is_finished_ = false;

  std::mutex mutex_;
  std::string session_;
  HeldLeases leases_;
  std::deque<ToWorker> outbox_;
  size_t outbox_bytes_ = 0;  // At most, since it was last empty.
  bool is_writing_ = false;
  bool wants_to_finish_ = false;
  bool is_finishing_ = false;
  grpc::Status status_;
  std::shared_ptr<const PackageSource> fetched_;  // Of a call of Fetch, while it is under way.
  int64_t fetch_offset_ = 0;
};

}  // namespace tune
