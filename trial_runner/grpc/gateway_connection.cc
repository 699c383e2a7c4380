#include "trial_runner/grpc/gateway_connection.h"

#include <utility>

#include "core/limits.h"
#include "trial_runner/grpc/status_codes.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/version.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

// "ipv4:127.0.0.1:4711" to "127.0.0.1:4711", "ipv6:%5B::1%5D:4711" to "[::1]:4711"; the link of
// "ipv6:%5Bfe80::1%25eth0%5D:4711" is left out.
std::string PeerAddress(const std::string& peer) {
  const size_t colon = peer.find(':');
  std::string address = colon == std::string::npos ? peer : peer.substr(colon + 1);
  if (address.starts_with("%5B")) address.replace(0, 3, "[");
  if (const size_t end = address.find("%5D"); end != std::string::npos)
    address.replace(end, 3, "]");
  const size_t link = address.find('%');
  if (const size_t end = address.find(']'); link < end) address.erase(link, end - link);
  return address;
}

// What may wait for a worker that is slow to read.
constexpr size_t kOutboxMessagesMax = 100'000;
constexpr size_t kOutboxBytesMax = 256u << 20;

// Takes as long wherever they differ.
bool EqualSecrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

void WorkerGateway::Connection::Await(Service& service) {
  std::shared_ptr<Connection> connection(new Connection(service));
  connection->self_ = connection;
  service.Request(*connection->call_, connection->on_called_);
}

void WorkerGateway::Connection::Send(std::vector<ToWorker> messages) {
  const std::lock_guard lock(mutex_);
  leases_.OnSent(messages);
  if (wants_to_finish_) return;
  for (ToWorker& message : messages) {
    outbox_bytes_ += ApproximateBytes(message);
    outbox_.push_back(std::move(message));
  }
  Advance();
  if (outbox_.empty()) outbox_bytes_ = 0;
  if (outbox_.size() <= kOutboxMessagesMax && outbox_bytes_ <= kOutboxBytesMax) return;
  outbox_.clear();
  wants_to_finish_ = true;
  call_->context.TryCancel();
}

bool WorkerGateway::Connection::IsOf(const std::string& session) {
  const std::lock_guard lock(mutex_);
  return session_ == session;
}

bool WorkerGateway::Connection::Holds(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  return leases_.Holds(ref);
}

bool WorkerGateway::Connection::HasNotEnded(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  return leases_.HasNotEnded(ref);
}

void WorkerGateway::Connection::OnCalled(bool ok) {
  if (!ok) {  // The server ends.
    const std::shared_ptr<Connection> keep = std::move(self_);
    return service_.NotCalled();
  }
  service_.Opened();
  service_.Await();  // The next one.
  const std::string method = call_->context.method();
  address_ = PeerAddress(call_->context.peer());
  is_fetch_ = method == kFetchMethod;
  Status admitted = CheckCaller();
  if (admitted.ok()) service_.open_connections().SetKnown(address_);
  if (method == kCheckpointMethod) {
    service_.ServeCheckpoint(std::move(call_), std::move(admitted));
    return self_.reset();
  }
  if (method != kAttachMethod && !is_fetch_) {
    return FinishAfterSending({grpc::StatusCode::UNIMPLEMENTED, "unknown method " + method});
  }
  if (!admitted.ok()) return Refuse(admitted);
  Read();
}

Status WorkerGateway::Connection::CheckCaller() {
  const Options& options = service_.options();
  const auto certificates =
      call_->context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (options.tls && !certificates.empty()) {
    const std::string_view certificate(certificates.front().data(), certificates.front().size());
    Admission& admission = *options.tls->admission;
    TUNE_ASSIGN_OR_RETURN(token_id_, call_->context.method() == kAttachMethod
                                         ? admission.Admit(certificate)
                                         : admission.AdmitCall(certificate));
    return OkStatus();
  }
  if (options.local_secret.empty()) return OkStatus();
  const auto shown = call_->context.client_metadata().find(kLocalSecretKey);
  if (shown != call_->context.client_metadata().end() &&
      EqualSecrets({shown->second.data(), shown->second.size()}, options.local_secret)) {
    return OkStatus();
  }
  return FailedPrecondition(
      "this port is for its own worker; others join with the line that tune run --listen prints");
}

void WorkerGateway::Connection::Refuse(const Status& status) {
  if (status.code() == StatusCode::kUnavailable) {
    return FinishAfterSending({grpc::StatusCode::UNAVAILABLE, status.message()});
  }
  if (is_fetch_) {
    return FinishAfterSending({grpc::StatusCode::FAILED_PRECONDITION, status.message()});
  }
  Send({Refused{status.message()}});
  Close();
}

void WorkerGateway::Connection::Read() {
  is_reading_ = true;
  call_->stream.Read(&read_buffer_, &on_read_);
}

void WorkerGateway::Connection::OnRead(bool ok) {
  is_reading_ = false;
  if (!ok) {
    FinishAfterSending(grpc::Status::OK);  // The worker closed, or is gone.
    return LeaveIfDone();
  }
  if (token_id_) {
    const Status admitted = service_.options().tls->admission->StillAdmits(*token_id_);
    if (!admitted.ok()) {
      is_expelled_ = true;
      return Refuse(admitted);
    }
  }
  if (is_fetch_) return BeginFetch();
  Result<std::vector<FromWorker>> messages =
      WithBytes(read_buffer_, [](std::string_view bytes) { return DecodeFromWorkerBatch(bytes); });
  const Status status = messages.ok() ? CheckHello(*messages) : messages.status();
  if (status.code() == StatusCode::kFailedPrecondition) return Refuse(status);
  if (!status.ok()) {
    return FinishAfterSending({grpc::StatusCode::INVALID_ARGUMENT, status.message()});
  }
  if (!messages->empty()) Deliver(*std::move(messages));
  Read();
}

void WorkerGateway::Connection::BeginFetch() {
  const Result<FetchRequest> request =
      WithBytes(read_buffer_, [](std::string_view bytes) { return DecodeFetchRequest(bytes); });
  if (!request.ok()) {
    return FinishAfterSending({grpc::StatusCode::INVALID_ARGUMENT, request.status().message()});
  }
  PackageShelf* const packages = service_.options().packages;
  std::shared_ptr<const PackageSource> package;
  if (packages != nullptr) package = packages->Find(request->package);
  if (package == nullptr) {
    return FinishAfterSending({grpc::StatusCode::NOT_FOUND, "the tuner has no such package"});
  }
  const std::lock_guard lock(mutex_);
  fetched_ = std::move(package);
  fetch_offset_ = request->offset;
  Advance();
}

void WorkerGateway::Connection::FetchNext() {
  const Result<std::string> text = fetched_->Read(fetch_offset_, limits::kPackagePieceBytes);
  if (!text.ok() || text->empty()) {
    fetched_ = nullptr;
    wants_to_finish_ = true;
    if (!text.ok()) status_ = {grpc::StatusCode::INTERNAL, text.status().message()};
    return;
  }
  fetch_offset_ += static_cast<int64_t>(text->size());
  is_writing_ = true;
  call_->stream.Write(ToBuffer(EncodeFetchPiece(*text)), &on_written_);
}

void WorkerGateway::Connection::OnWritten(bool ok) {
  const std::lock_guard lock(mutex_);
  is_writing_ = false;
  if (!ok) {  // Nobody is there to read what is queued.
    outbox_.clear();
    fetched_ = nullptr;
    wants_to_finish_ = true;
  }
  Advance();
}

void WorkerGateway::Connection::OnFinished(bool) {
  is_finished_ = true;
  LeaveIfDone();
}

void WorkerGateway::Connection::LeaveIfDone() {
  if (!is_finished_ || is_reading_) return;
  const std::shared_ptr<Connection> keep = std::move(self_);
  if (worker_) {
    std::vector<Incoming> last;
    last.push_back({*worker_, address_, WorkerDisconnected{is_expelled_}});
    service_.sink().Push(std::move(last));
  }
  service_.Leave(worker_);
}

Status WorkerGateway::Connection::CheckHello(const std::vector<FromWorker>& messages) {
  for (const FromWorker& message : messages) {
    const auto* const hello = std::get_if<Hello>(&message);
    if ((hello != nullptr) == worker_.has_value()) {
      return InvalidArgument(hello != nullptr ? "hello: said twice" : "hello: expected first");
    }
    if (hello == nullptr) continue;
    if (hello->version != kProgramVersion) {
      return FailedPrecondition(DescribeVersions(hello->version, kProgramVersion));
    }
    // What a local worker ran is known to have ended with its tuner.
    if (hello->is_local && token_id_) {
      return FailedPrecondition("it says that it is the tuner's own worker, and is not");
    }
    worker_ = service_.Enter(self_);
  }
  return OkStatus();
}

void WorkerGateway::Connection::Deliver(std::vector<FromWorker> messages) {
  std::vector<Incoming> incoming;
  incoming.reserve(messages.size());
  {
    const std::lock_guard lock(mutex_);
    for (const FromWorker& message : messages) {
      leases_.OnHeard(message);
      if (const auto* const hello = std::get_if<Hello>(&message)) session_ = hello->session;
    }
  }
  for (FromWorker& message : messages) {
    incoming.push_back({*worker_, address_, std::move(message)});
  }
  service_.sink().Push(std::move(incoming));
}

void WorkerGateway::Connection::FinishAfterSending(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (!wants_to_finish_) {
    wants_to_finish_ = true;
    status_ = status;
  }
  Advance();
}

void WorkerGateway::Connection::Advance() {
  if (is_writing_ || is_finishing_) return;
  if (fetched_ != nullptr) FetchNext();
  if (is_writing_) return;
  if (!outbox_.empty()) {
    is_writing_ = true;
    call_->stream.Write(ToBuffer(EncodeBatch(TakeBatch(outbox_))), &on_written_);
    if (outbox_.empty()) outbox_bytes_ = 0;
  } else if (wants_to_finish_) {
    is_finishing_ = true;
    call_->stream.Finish(status_, &on_finished_);
  }
}

}  // namespace tune
