// One thread that waits for gRPC's completions and runs what belongs to each. With one thread
// nothing is handed from thread to thread on the way of a message: measured, it halves the round
// trip of gRPC's own callback threads.
//
// Thread rule: all completions of a queue run on its thread, one at a time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <thread>

#include "core/posix/threads.h"

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace tune {

class Completion {
 public:
  // The tag, for an operation that another thread begins than the one that runs completions.
  // ThreadSanitizer does not see how Debian's gRPC hands it over, and is told.
  void* HandOver() {
#if defined(__SANITIZE_THREAD__)
    __tsan_release(this);
#endif
    return this;
  }
  void TakeOver() {
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(this);
#endif
  }

  // `ok` as gRPC says of the operation.
  virtual void Run(bool ok) = 0;

 protected:
  ~Completion() = default;
};

// Calls a method of its owner, which must outlive the operation.
template <typename Owner>
class MethodCompletion final : public Completion {
 public:
  MethodCompletion(Owner* owner, void (Owner::*method)(bool)) : owner_(owner), method_(method) {}
  void Run(bool ok) override { (owner_->*method_)(ok); }

 private:
  Owner* const owner_;
  void (Owner::*const method_)(bool);
};

// Runs until the queue has been shut down and is empty.
inline std::thread RunCompletions(grpc::CompletionQueue* queue) {
  return BeginThread([queue] {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      auto* const completion = static_cast<Completion*>(tag);
      completion->TakeOver();
      completion->Run(ok);
    }
  });
}

}  // namespace tune
