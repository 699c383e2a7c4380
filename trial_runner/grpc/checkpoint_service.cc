#include "trial_runner/grpc/checkpoint_service.h"

#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "core/posix/threads.h"
#include "trial_runner/grpc/completions.h"
#include "trial_runner/grpc/status_codes.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

// With one message: also a link of 64 kbit/s gets a piece across.
constexpr std::chrono::seconds kPatience(60);

}  // namespace

// One operation at a time, each waited for.
class CheckpointService::Served {
 public:
  Served(CheckpointService& service, std::unique_ptr<ServerCall> call)
      : service_(service), call_(std::move(call)) {}

  void Run() {
    call_->stream.Finish(ToGrpc(Answer()), done_.HandOver());
    done_.Wait();
    if (is_reading_) read_.Wait();
  }

 private:
  class Done final : public Completion {
   public:
    void Run(bool ok) override {
      is_ok_ = ok;
      semaphore_.release();
    }
    bool Wait() {
      semaphore_.acquire();
      return is_ok_;
    }
    // False: it has not run within that time, and will.
    bool IsDoneWithin(std::chrono::seconds patience) {
      const bool is_done = semaphore_.try_acquire_for(patience);
      if (is_done) semaphore_.release();
      return is_done;
    }

   private:
    std::binary_semaphore semaphore_{0};
    bool is_ok_ = false;
  };

  // Whether something came.
  bool Read() {
    StartRead();
    return EndRead();
  }
  // The two halves of it: the next piece comes while the last one is taken.
  void StartRead() {
    call_->stream.Read(&buffer_, read_.HandOver());
    is_reading_ = true;
  }
  bool EndRead() {
    const bool is_there = Wait(read_);
    is_reading_ = false;
    return is_there;
  }
  // Who is silent, or does not read, shall not keep others out.
  bool Wait(Done& done) {
    if (!done.IsDoneWithin(kPatience)) {
      call_->context.TryCancel();
    }
    return done.Wait();
  }
  Status Write(const std::string& bytes) {
    call_->stream.Write(ToBuffer(bytes), done_.HandOver());
    return Wait(done_) ? OkStatus() : Unavailable("the worker is gone");
  }
  Status Write(const CheckpointAnswer& answer) { return Write(EncodeCheckpointAnswer(answer)); }

  Status Answer() {
    if (service_.depot_ == nullptr) return FailedPrecondition("no checkpoints are taken here");
    if (!Read()) return Unavailable("the worker is gone");
    TUNE_ASSIGN_OR_RETURN(const CheckpointCall call, WithBytes(buffer_, [](std::string_view bytes) {
                            return DecodeCheckpointCall(bytes);
                          }));
    session_ = call.session;
    return std::visit([this](const auto& what) { return Do(what); }, call.what);
  }

  Status Do(const SeeNonce& see) {
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, nullptr, Purpose::kTells));
    CheckpointAnswer answer;
    answer.is_seen = service_.depot_->Sees(see);
    return Write(answer);
  }

  Status Do(const PutLog& put) {
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, &put.ref, Purpose::kTells));
    CheckpointAnswer answer;
    TUNE_ASSIGN_OR_RETURN(answer.offset, service_.depot_->TakeLog(put));
    return Write(answer);
  }

  Status Do(const SignStoreRequest& request) {
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, &request.ref, Purpose::kActs));
    CheckpointAnswer answer;
    TUNE_ASSIGN_OR_RETURN(answer.url, service_.depot_->Sign(request));
    return Write(answer);
  }

  Status Do(const PutCheckpoint& put) {
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, &put.ref, Purpose::kActs));
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<IncomingCheckpoint> incoming,
                          service_.depot_->Receive(put));
    CheckpointAnswer answer;
    answer.offset = incoming->offset();
    TUNE_RETURN_IF_ERROR(Write(answer));
    if (incoming->offset() < put.text.bytes) StartRead();
    while (incoming->offset() < put.text.bytes) {
      if (!EndRead()) return Unavailable("the worker is gone");
      TUNE_ASSIGN_OR_RETURN(const std::string piece, WithBytes(buffer_, [](std::string_view bytes) {
                              return DecodeFetchPiece(bytes);
                            }));
      const int64_t there = incoming->offset() + static_cast<int64_t>(piece.size());
      if (there < put.text.bytes) StartRead();
      TUNE_RETURN_IF_ERROR(incoming->Append(piece));
    }
    // It took its time.
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, &put.ref, Purpose::kActs));
    TUNE_ASSIGN_OR_RETURN(answer.path, incoming->Commit());
    return Write(answer);
  }

  Status Do(const GetCheckpoint& get) {
    TUNE_RETURN_IF_ERROR(service_.permission_(session_, &get.ref, Purpose::kActs));
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<PackageSource> text, service_.depot_->Open(get));
    CheckpointAnswer answer;
    answer.text = text->name();
    TUNE_RETURN_IF_ERROR(Write(answer));
    for (int64_t at = get.offset; at < answer.text.bytes;) {
      TUNE_ASSIGN_OR_RETURN(const std::string piece, text->Read(at, limits::kPackagePieceBytes));
      TUNE_RETURN_IF_ERROR(Write(EncodeFetchPiece(piece)));
      at += static_cast<int64_t>(piece.size());
    }
    return OkStatus();
  }

  CheckpointService& service_;
  const std::unique_ptr<ServerCall> call_;
  Done done_;
  Done read_;
  bool is_reading_ = false;
  grpc::ByteBuffer buffer_;
  std::string session_;
};

// Ends a call without a thread; lives until that is done.
class CheckpointService::Refused final : public Completion {
 public:
  Refused(CheckpointService& service, std::unique_ptr<ServerCall> call,
          std::function<void()> on_end)
      : service_(service), call_(std::move(call)), on_end_(std::move(on_end)) {}

  void Begin(const Status& why) { call_->stream.Finish(ToGrpc(why), HandOver()); }
  void Run(bool /*ok*/) override {
    --service_.call_count_;
    const std::function<void()> on_end = std::move(on_end_);
    delete this;
    on_end();
  }

 private:
  CheckpointService& service_;
  const std::unique_ptr<ServerCall> call_;
  std::function<void()> on_end_;
};

void CheckpointService::Refuse(std::unique_ptr<ServerCall> call, const Status& why,
                               std::function<void()> on_end) {
  (new Refused(*this, std::move(call), std::move(on_end)))->Begin(why);
}

// A thread that has called `on_end` touches nothing of ours any more. On this one everything else
// waits, so it waits for no room.
void CheckpointService::Serve(std::unique_ptr<ServerCall> call, Status refusal,
                              std::function<void()> on_end) {
  if (++call_count_ > limits::kCheckpointCallsMax && refusal.ok()) {
    refusal = Unavailable("the tuner takes " + std::to_string(limits::kCheckpointCallsMax) +
                          " checkpoints at a time");
  }
  if (!refusal.ok()) return Refuse(std::move(call), refusal, std::move(on_end));
  const auto taken = std::make_shared<std::unique_ptr<ServerCall>>(std::move(call));
  const auto serve = [this, taken, on_end] {
    LetOthersGoFirst();  // Reports.
    Served(*this, std::move(*taken)).Run();
    --call_count_;
    on_end();
  };
  std::optional<std::thread> thread = TryThread(serve, [] { return false; });
  if (thread) return thread->detach();
  Refuse(std::move(*taken), Unavailable("the tuner's machine has no room for one more thread"),
         std::move(on_end));
}

}  // namespace tune
