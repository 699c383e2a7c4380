#include "trial_runner/grpc/worker_gateway.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "core/posix/process_limits.h"
#include "trial_runner/grpc/checkpoint_service.h"
#include "trial_runner/grpc/completions.h"
#include "trial_runner/grpc/listener.h"
#include "trial_runner/grpc/server_credentials.h"
#include "trial_runner/grpc/status_codes.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/held_leases.h"
#include "trial_runner/network_address.h"
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

// A worker sends no more at once: a batch (limits::kBatchBytes) and one message beyond.
constexpr int kReceivedBytesMax = 4 << 20;

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

class WorkerGateway::Service final {
 public:
  Service(const Options& options, IncomingSink& sink)
      : options_(options),
        sink_(sink),
        checkpoints_(options.checkpoints,
                     [this](const std::string& session, const AttemptRef* ref) {
                       return Permits(session, ref);
                     }),
        next_worker_(options.first_worker) {}

  Status Listen();
  void Shutdown();

  const Options& options() const { return options_; }
  const std::string& address() const { return address_; }
  const std::string& tls_address() const { return tls_address_; }
  IncomingSink& sink() { return sink_; }
  OpenConnections& open_connections() { return open_connections_; }

  std::shared_ptr<Connection> Find(WorkerId worker);
  bool WaitUntilAllGone(Duration patience);

  // From connections, on the completion thread.
  void Request(ServerCall& call, Completion& completion) {
    service_.RequestCall(&call.context, &call.stream, queue_.get(), queue_.get(), &completion);
  }
  void Await();
  void Opened();
  void NotCalled();  // Of one that was awaited.
  WorkerId Enter(std::shared_ptr<Connection> connection);
  void Leave(std::optional<WorkerId> worker);
  void ServeCheckpoint(std::unique_ptr<ServerCall> call, Status refusal) {
    checkpoints_.Serve(std::move(call), std::move(refusal), [this] { Leave(std::nullopt); });
  }

 private:
  // Of calls beside the stream: what that worker holds.
  Status Permits(const std::string& session, const AttemptRef* ref);
  Status ReadAddresses();
  // Connections of the address will be the server's, with these credentials.
  void AddPort(grpc::ServerBuilder& builder, const NetworkAddress& address,
               std::shared_ptr<grpc::ServerCredentials> credentials);

  const Options options_;
  IncomingSink& sink_;
  CheckpointService checkpoints_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>> acceptors_;
  std::vector<Listener::Port> ports_;
  OpenConnections open_connections_{RoomWithin(DescriptorLimit())};
  std::unique_ptr<Listener> listener_;  // After what it hands connections to.
  std::thread thread_;
  NetworkAddress plain_;
  NetworkAddress tls_;
  std::string address_;
  std::string tls_address_;

  std::mutex mutex_;
  std::condition_variable connection_left_;
  int64_t open_count_ = 0;
  int64_t awaited_count_ = 0;
  bool is_ending_ = false;
  WorkerId next_worker_;
  std::map<WorkerId, std::shared_ptr<Connection>> workers_;
};

// One stream: awaited, open, finished. It owns itself until then; the service shares it while it is
// a worker.
class WorkerGateway::Connection final {
 public:
  static void Await(Service& service) {
    std::shared_ptr<Connection> connection(new Connection(service));
    connection->self_ = connection;
    service.Request(*connection->call_, connection->on_called_);
  }

  void Send(std::vector<ToWorker> messages) {
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

  void Close() { FinishAfterSending(grpc::Status::OK); }

  bool IsOf(const std::string& session) {
    const std::lock_guard lock(mutex_);
    return session_ == session;
  }
  bool Holds(const AttemptRef& ref) {
    const std::lock_guard lock(mutex_);
    return leases_.Holds(ref);
  }

 private:
  explicit Connection(Service& service) : service_(service) {}

  void OnCalled(bool ok) {
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

  // Who came over TLS has a certificate; the rest came through the plain port.
  Status CheckCaller() {
    const Options& options = service_.options();
    const auto certificates =
        call_->context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (options.tls && !certificates.empty()) {
      TUNE_ASSIGN_OR_RETURN(
          token_id_, options.tls->admission->Admit(std::string_view(certificates.front().data(),
                                                                    certificates.front().size())));
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

  // kUnavailable passes: the caller may try again.
  void Refuse(const Status& status) {
    if (status.code() == StatusCode::kUnavailable) {
      return FinishAfterSending({grpc::StatusCode::UNAVAILABLE, status.message()});
    }
    if (is_fetch_) {
      return FinishAfterSending({grpc::StatusCode::FAILED_PRECONDITION, status.message()});
    }
    Send({Refused{status.message()}});
    Close();
  }

  void Read() {
    is_reading_ = true;
    call_->stream.Read(&read_buffer_, &on_read_);
  }

  void OnRead(bool ok) {
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
    Result<std::vector<FromWorker>> messages = WithBytes(
        read_buffer_, [](std::string_view bytes) { return DecodeFromWorkerBatch(bytes); });
    const Status status = messages.ok() ? CheckHello(*messages) : messages.status();
    if (status.code() == StatusCode::kFailedPrecondition) return Refuse(status);
    if (!status.ok()) {
      return FinishAfterSending({grpc::StatusCode::INVALID_ARGUMENT, status.message()});
    }
    if (!messages->empty()) Deliver(*std::move(messages));
    Read();
  }

  // The one message of such a call; the text follows piece by piece, each when the one before is on
  // its way.
  void BeginFetch() {
    const Result<FetchRequest> request =
        WithBytes(read_buffer_, [](std::string_view bytes) { return DecodeFetchRequest(bytes); });
    if (!request.ok()) {
      return FinishAfterSending({grpc::StatusCode::INVALID_ARGUMENT, request.status().message()});
    }
    const PackageSource* const package = service_.options().package;
    if (package == nullptr || package->name() != request->package) {
      return FinishAfterSending({grpc::StatusCode::NOT_FOUND, "the tuner has no such package"});
    }
    const std::lock_guard lock(mutex_);
    fetched_ = package;
    fetch_offset_ = request->offset;
    Advance();
  }

  // Requires mutex_. The next piece, or nothing more.
  void FetchNext() {
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

  void OnWritten(bool ok) {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (!ok) {  // Nobody is there to read what is queued.
      outbox_.clear();
      fetched_ = nullptr;
      wants_to_finish_ = true;
    }
    Advance();
  }

  void OnFinished(bool) {
    is_finished_ = true;
    LeaveIfDone();
  }

  // Both ways are at their end. The disconnection is the last that is heard of a worker.
  void LeaveIfDone() {
    if (!is_finished_ || is_reading_) return;
    const std::shared_ptr<Connection> keep = std::move(self_);
    if (worker_) {
      std::vector<Incoming> last;
      last.push_back({*worker_, address_, WorkerDisconnected{is_expelled_}});
      service_.sink().Push(std::move(last));
    }
    service_.Leave(worker_);
  }

  // Hello comes first, and once, from a worker of our own version (kFailedPrecondition otherwise).
  Status CheckHello(const std::vector<FromWorker>& messages) {
    for (const FromWorker& message : messages) {
      const auto* const hello = std::get_if<Hello>(&message);
      if ((hello != nullptr) == worker_.has_value()) {
        return InvalidArgument(hello != nullptr ? "hello: said twice" : "hello: expected first");
      }
      if (hello == nullptr) continue;
      if (hello->version != kProgramVersion) {
        return FailedPrecondition("it is of version " + hello->version +
                                  ", this tuner of version " + kProgramVersion +
                                  "; install the same one on both sides");
      }
      // What a local worker ran is known to have ended with its tuner.
      if (hello->is_local && token_id_) {
        return FailedPrecondition("it says that it is the tuner's own worker, and is not");
      }
      worker_ = service_.Enter(self_);
    }
    return OkStatus();
  }

  void Deliver(std::vector<FromWorker> messages) {
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

  void FinishAfterSending(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (!wants_to_finish_) {
      wants_to_finish_ = true;
      status_ = status;
    }
    Advance();
  }

  // Requires mutex_. The next write, or the end.
  void Advance() {
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
  const PackageSource* fetched_ = nullptr;  // Of a call of Fetch, while it is under way.
  int64_t fetch_offset_ = 0;
};

Status WorkerGateway::Service::ReadAddresses() {
  if (!options_.listen.empty()) {
    TUNE_ASSIGN_OR_RETURN(plain_, ParseNetworkAddress(options_.listen));
    if (!plain_.is_loopback()) {
      return InvalidArgument("address '" + options_.listen +
                             "': without TLS only this machine's loopback is listened on");
    }
  }
  if (options_.tls) {
    TUNE_ASSIGN_OR_RETURN(tls_, ParseNetworkAddress(options_.tls->listen));
  }
  return OkStatus();
}

void WorkerGateway::Service::AddPort(grpc::ServerBuilder& builder, const NetworkAddress& address,
                                     std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  acceptors_.push_back(
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, std::move(credentials)));
  ports_.push_back({address, [acceptor = acceptors_.back().get()](int fd) {
                      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters peer;
                      peer.fd = fd;
                      acceptor->HandleNewConnection(&peer);
                    }});
}

Status WorkerGateway::Service::Listen() {
  QuietGrpcLog();
  grpc::ServerBuilder builder;
  TUNE_RETURN_IF_ERROR(ReadAddresses());
  if (!options_.listen.empty()) AddPort(builder, plain_, grpc::InsecureServerCredentials());
  if (options_.tls) {
    AddPort(builder, tls_,
            MakeServerCredentials(options_.tls->certificates, options_.tls->key,
                                  *options_.tls->admission));
  }
  builder.RegisterAsyncGenericService(&service_);
  builder.SetMaxReceiveMessageSize(kReceivedBytesMax);
  builder.SetMaxSendMessageSize(static_cast<int>(limits::kMessageBytesMax));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamAheadBytes);
  builder.AddChannelArgument(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(limits::kStrangerMs));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(limits::kStrangerMs));
  SetKeepalive([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return Internal("the server of workers' connections cannot start");
  Await();
  thread_ = RunCompletions(queue_.get());
  TUNE_ASSIGN_OR_RETURN(
      listener_, Listener::Open(ports_, open_connections_, Milliseconds(limits::kStrangerMs)));
  if (!options_.listen.empty()) address_ = ports_.front().address.ToText();
  if (options_.tls) tls_address_ = ports_.back().address.ToText();
  return OkStatus();
}

void WorkerGateway::Service::Shutdown() {
  listener_.reset();
  if (server_ != nullptr) {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    server_->Shutdown(std::chrono::system_clock::now());
    // A call that came last may still be on its way to us: nothing of it may begin on a queue that
    // has been shut down.
    std::unique_lock lock(mutex_);
    connection_left_.wait(lock, [this] { return open_count_ == 0 && awaited_count_ == 0; });
  }
  if (queue_ == nullptr) return;
  queue_->Shutdown();
  if (!thread_.joinable()) thread_ = RunCompletions(queue_.get());
  thread_.join();
}

void WorkerGateway::Service::Await() {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) return;
    ++awaited_count_;
  }
  Connection::Await(*this);
}

void WorkerGateway::Service::Opened() {
  const std::lock_guard lock(mutex_);
  --awaited_count_;
  ++open_count_;
}

void WorkerGateway::Service::NotCalled() {
  const std::lock_guard lock(mutex_);
  --awaited_count_;
  connection_left_.notify_all();
}

std::shared_ptr<WorkerGateway::Connection> WorkerGateway::Service::Find(WorkerId worker) {
  const std::lock_guard lock(mutex_);
  const auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : found->second;
}

Status WorkerGateway::Service::Permits(const std::string& session, const AttemptRef* ref) {
  const std::lock_guard lock(mutex_);
  bool is_attached = false;
  for (const auto& [worker, connection] : workers_) {
    if (session.empty() || !connection->IsOf(session)) continue;
    if (ref == nullptr || connection->Holds(*ref)) return OkStatus();
    is_attached = true;
  }
  if (!is_attached) return Unavailable("no such worker is attached");
  return FailedPrecondition("the worker does not hold the lease of trial " +
                            std::to_string(ref->trial.value) + " any more");
}

bool WorkerGateway::Service::WaitUntilAllGone(Duration patience) {
  std::unique_lock lock(mutex_);
  return connection_left_.wait_for(lock, std::chrono::microseconds(patience.us),
                                   [this] { return open_count_ == 0; });
}

WorkerId WorkerGateway::Service::Enter(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  const WorkerId worker = next_worker_;
  ++next_worker_.value;
  workers_.emplace(worker, std::move(connection));
  return worker;
}

void WorkerGateway::Service::Leave(std::optional<WorkerId> worker) {
  const std::lock_guard lock(mutex_);
  if (worker) workers_.erase(*worker);
  --open_count_;
  connection_left_.notify_all();
}

WorkerGateway::WorkerGateway(std::unique_ptr<Service> service) : service_(std::move(service)) {}

Result<std::unique_ptr<WorkerGateway>> WorkerGateway::Start(const Options& options,
                                                            IncomingSink& sink) {
  // From here on the gateway's destructor ends what has begun.
  std::unique_ptr<WorkerGateway> gateway(
      new WorkerGateway(std::make_unique<Service>(options, sink)));
  TUNE_RETURN_IF_ERROR(gateway->service_->Listen());
  return gateway;
}

WorkerGateway::~WorkerGateway() { service_->Shutdown(); }

const std::string& WorkerGateway::address() const { return service_->address(); }

const std::string& WorkerGateway::tls_address() const { return service_->tls_address(); }

void WorkerGateway::Send(WorkerId worker, std::vector<ToWorker> messages) {
  if (const auto connection = service_->Find(worker)) connection->Send(std::move(messages));
}

void WorkerGateway::Close(WorkerId worker) {
  if (const auto connection = service_->Find(worker)) connection->Close();
}

std::optional<std::string> WorkerGateway::TakeNotice() {
  return service_->open_connections().TakeNotice();
}

bool WorkerGateway::WaitUntilAllGone(Duration patience) {
  return service_->WaitUntilAllGone(patience);
}

}  // namespace tune
