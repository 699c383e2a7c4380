// The tuner's end of calls of Checkpoint: each is served on a thread of its own, since it reads and
// writes on the disk, and waits for that; so nothing of it is in the way of reports. How many there
// are at a time is bounded (limits::kCheckpointCallsMax), and by the room for threads: the others
// are told to come again.
//
// Thread rule: Serve from the thread of the gateway's completions.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"

namespace tune {

// A call that has come in.
struct ServerCall {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

class CheckpointService {
 public:
  // What a worker may do: kUnavailable, nobody of that session is attached; kFailedPrecondition, it
  // does not hold that lease (kTells: nor did before it was taken back). Without a lease: may it
  // ask at all?
  enum class Purpose { kActs, kTells };
  using Permission =
      std::function<Status(const std::string& session, const AttemptRef* ref, Purpose purpose)>;

  // `depot`: null: none is taken. It must outlive all calls.
  CheckpointService(CheckpointDepot* depot, Permission permission)
      : depot_(depot), permission_(std::move(permission)) {}

  // `refusal`: not ok: the caller may not, and is told why. `on_end` is called last, from some
  // thread, and the service must live until then.
  void Serve(std::unique_ptr<ServerCall> call, Status refusal, std::function<void()> on_end);

 private:
  class Served;
  class Refused;
  void Refuse(std::unique_ptr<ServerCall> call, const Status& why, std::function<void()> on_end);

  CheckpointDepot* const depot_;
  const Permission permission_;
  std::atomic<int> call_count_ = 0;
};

}  // namespace tune
