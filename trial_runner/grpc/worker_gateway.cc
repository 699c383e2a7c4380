#include "trial_runner/grpc/worker_gateway.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "core/limits.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/loopback_address.h"
#include "trial_runner/version.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

// "ipv4:127.0.0.1:4711" to "127.0.0.1:4711".
std::string PeerAddress(const std::string& peer) {
  const size_t colon = peer.find(':');
  return colon == std::string::npos ? peer : peer.substr(colon + 1);
}

// Ends a call that has no business here.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

class WorkerGateway::Service final : public grpc::CallbackGenericService {
 public:
  Service(WorkerId first_worker, IncomingSink& sink) : sink_(sink), next_worker_(first_worker) {}

  Status Listen(const LoopbackAddress& listen);
  void Shutdown();

  const std::string& address() const { return address_; }
  IncomingSink& sink() { return sink_; }

  std::shared_ptr<Connection> Find(WorkerId worker);
  bool WaitUntilAllGone(Duration patience);

  // From connections.
  WorkerId Enter(std::shared_ptr<Connection> connection);
  void Leave(std::optional<WorkerId> worker);

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

  IncomingSink& sink_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;

  std::mutex mutex_;
  std::condition_variable connection_left_;
  int64_t open_count_ = 0;  // Connections between CreateReactor and Leave.
  WorkerId next_worker_;
  std::map<WorkerId, std::shared_ptr<Connection>> workers_;
};

// One stream. It owns itself until OnDone; the service shares it while it is a worker.
class WorkerGateway::Connection final : public grpc::ServerGenericBidiReactor {
 public:
  static Connection* Open(Service& service, grpc::GenericCallbackServerContext* context) {
    std::shared_ptr<Connection> connection(new Connection(service, PeerAddress(context->peer())));
    connection->self_ = connection;
    connection->StartRead(&connection->read_buffer_);
    return connection.get();
  }

  void Send(std::vector<ToWorker> messages) {
    const std::lock_guard lock(mutex_);
    if (wants_to_finish_) return;
    for (ToWorker& message : messages) outbox_.push_back(std::move(message));
    Advance();
  }

  void Close() { FinishAfterSending(grpc::Status::OK); }

  void OnReadDone(bool ok) override {
    if (!ok) return FinishAfterSending(grpc::Status::OK);  // The worker closed, or is gone.
    Result<std::vector<FromWorker>> messages = WithBytes(
        read_buffer_, [](std::string_view bytes) { return DecodeFromWorkerBatch(bytes); });
    const Status status = messages.ok() ? CheckHello(*messages) : messages.status();
    if (status.code() == StatusCode::kFailedPrecondition) {
      Send({Refused{status.message()}});
      return Close();
    }
    if (!status.ok()) {
      return FinishAfterSending({grpc::StatusCode::INVALID_ARGUMENT, status.message()});
    }
    if (!messages->empty()) Deliver(*std::move(messages));
    StartRead(&read_buffer_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (!ok) Abandon();
    Advance();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    Abandon();
    Advance();
  }

  void OnDone() override {
    const std::shared_ptr<Connection> keep = std::move(self_);
    if (worker_) {
      std::vector<Incoming> last;
      last.push_back({*worker_, address_, WorkerDisconnected{}});
      service_.sink().Push(std::move(last));
    }
    service_.Leave(worker_);
  }

 private:
  Connection(Service& service, std::string address)
      : service_(service), address_(std::move(address)) {}

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
      worker_ = service_.Enter(self_);
    }
    return OkStatus();
  }

  void Deliver(std::vector<FromWorker> messages) {
    std::vector<Incoming> incoming;
    incoming.reserve(messages.size());
    for (FromWorker& message : messages) {
      Incoming& last = incoming.emplace_back();
      last.worker = *worker_;
      last.address = address_;
      std::visit([&last](auto&& m) { last.message = FromWorker(std::move(m)); },
                 std::move(message));
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

  // Nobody is there to read what is queued.
  void Abandon() {
    outbox_.clear();
    if (wants_to_finish_) return;
    wants_to_finish_ = true;
    status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the connection broke");
  }

  // Requires mutex_. The next write, or the end.
  void Advance() {
    if (is_writing_ || has_finished_) return;
    if (!outbox_.empty()) {
      is_writing_ = true;
      write_buffer_ = ToBuffer(EncodeBatch(TakeBatch(outbox_)));
      StartWrite(&write_buffer_);
    } else if (wants_to_finish_) {
      has_finished_ = true;
      Finish(status_);
    }
  }

  Service& service_;
  const std::string address_;
  std::shared_ptr<Connection> self_;

  // Of the reading side alone.
  grpc::ByteBuffer read_buffer_;
  std::optional<WorkerId> worker_;

  std::mutex mutex_;
  std::deque<ToWorker> outbox_;
  grpc::ByteBuffer write_buffer_;
  bool is_writing_ = false;
  bool wants_to_finish_ = false;
  bool has_finished_ = false;
  grpc::Status status_;
};

Status WorkerGateway::Service::Listen(const LoopbackAddress& listen) {
  QuietGrpcLog();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen.ToText(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(this);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytesMax));
  builder.SetMaxSendMessageSize(static_cast<int>(limits::kMessageBytesMax));
  // Two tuners on one port would share its workers in silence.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    return Unavailable("cannot listen on " + listen.ToText() +
                       ": the port is in use or not permitted; choose another, or 0 for any");
  }
  address_ = LoopbackAddress{listen.host, port}.ToText();
  return OkStatus();
}

void WorkerGateway::Service::Shutdown() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  std::unique_lock lock(mutex_);
  connection_left_.wait(lock, [this] { return open_count_ == 0; });
}

std::shared_ptr<WorkerGateway::Connection> WorkerGateway::Service::Find(WorkerId worker) {
  const std::lock_guard lock(mutex_);
  const auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : found->second;
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

grpc::ServerGenericBidiReactor* WorkerGateway::Service::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  if (context->method() != kAttachMethod) {
    return new Refusal({grpc::StatusCode::UNIMPLEMENTED, "unknown method " + context->method()});
  }
  {
    const std::lock_guard lock(mutex_);
    ++open_count_;
  }
  return Connection::Open(*this, context);
}

WorkerGateway::WorkerGateway(std::unique_ptr<Service> service) : service_(std::move(service)) {}

Result<std::unique_ptr<WorkerGateway>> WorkerGateway::Start(const Options& options,
                                                            IncomingSink& sink) {
  TUNE_ASSIGN_OR_RETURN(const LoopbackAddress listen, ParseLoopbackAddress(options.listen));
  auto service = std::make_unique<Service>(options.first_worker, sink);
  TUNE_RETURN_IF_ERROR(service->Listen(listen));
  return std::unique_ptr<WorkerGateway>(new WorkerGateway(std::move(service)));
}

WorkerGateway::~WorkerGateway() { service_->Shutdown(); }

const std::string& WorkerGateway::address() const { return service_->address(); }

void WorkerGateway::Send(WorkerId worker, std::vector<ToWorker> messages) {
  if (const auto connection = service_->Find(worker)) connection->Send(std::move(messages));
}

void WorkerGateway::Close(WorkerId worker) {
  if (const auto connection = service_->Find(worker)) connection->Close();
}

bool WorkerGateway::WaitUntilAllGone(Duration patience) {
  return service_->WaitUntilAllGone(patience);
}

}  // namespace tune
