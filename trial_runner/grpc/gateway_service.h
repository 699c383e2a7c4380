// What a gateway's connections share: the server, its ports, and which of them are workers.
//
// Thread rule: any thread, but for what says otherwise.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/posix/process_limits.h"
#include "trial_runner/grpc/checkpoint_service.h"
#include "trial_runner/grpc/completions.h"
#include "trial_runner/grpc/listener.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/network_address.h"

namespace tune {

class WorkerGateway::Service final {
 public:
  Service(const Options& options, IncomingSink& sink)
      : options_(options),
        sink_(sink),
        checkpoints_(
            options.checkpoints,
            [this](const std::string& session, const AttemptRef* ref,
                   CheckpointService::Purpose purpose) { return Permits(session, ref, purpose); }),
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
  Status Permits(const std::string& session, const AttemptRef* ref,
                 CheckpointService::Purpose purpose);
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

}  // namespace tune
