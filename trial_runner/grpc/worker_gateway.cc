#include "trial_runner/grpc/worker_gateway.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "core/limits.h"
#include "trial_runner/grpc/completions.h"
#include "trial_runner/grpc/gateway_connection.h"
#include "trial_runner/grpc/gateway_service.h"
#include "trial_runner/grpc/server_credentials.h"
#include "trial_runner/grpc/wire_buffer.h"

namespace tune {
namespace {

// A worker sends no more at once: a batch (limits::kBatchBytes) and one message beyond.
constexpr int kReceivedBytesMax = 4 << 20;

}  // namespace

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

Status WorkerGateway::Service::Permits(const std::string& session, const AttemptRef* ref,
                                       CheckpointService::Purpose purpose) {
  const bool tells = purpose == CheckpointService::Purpose::kTells;
  const std::lock_guard lock(mutex_);
  bool is_attached = false;
  for (const auto& [worker, connection] : workers_) {
    if (session.empty() || !connection->IsOf(session)) continue;
    if (ref == nullptr) return OkStatus();
    if (tells ? connection->HasNotEnded(*ref) : connection->Holds(*ref)) return OkStatus();
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
