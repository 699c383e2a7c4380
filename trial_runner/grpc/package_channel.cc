#include "trial_runner/grpc/package_channel.h"

#include <grpcpp/generic/generic_stub.h>

#include <chrono>

#include "trial_runner/grpc/dial.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

constexpr std::chrono::milliseconds kNextPatience(200);

}  // namespace

// One operation at a time; each next one begins when the one before is done.
class PackageChannel::Call {
 public:
  Call(const TunerEndpoint& tuner, const FetchRequest& request)
      : request_(request), stub_(DialTuner(tuner)) {
    ShowSecret(tuner, context_);
    call_ = stub_.PrepareCall(&context_, kFetchMethod, &queue_);
    call_->StartCall(&queue_);
  }

  ~Call() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  Result<std::optional<std::string>> Next() {
    if (is_over_) return end_;
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + kNextPatience;
    const auto state = queue_.AsyncNext(&tag, &ok, deadline);
    if (state == grpc::CompletionQueue::TIMEOUT) return std::optional(std::string());
    return Advance(ok);
  }

 private:
  enum class Step { kConnecting, kAsking, kReading, kFinishing };

  Result<std::optional<std::string>> Advance(bool ok) {
    std::string text;
    switch (step_) {
      case Step::kConnecting:
        step_ = ok ? Step::kAsking : Step::kFinishing;
        if (ok) {
          grpc::WriteOptions last;
          last.set_last_message();
          call_->Write(ToBuffer(EncodeFetchRequest(request_)), last, &queue_);
        }
        break;
      case Step::kReading:
        if (ok) {
          Result<std::string> piece =
              WithBytes(buffer_, [](std::string_view bytes) { return DecodeFetchPiece(bytes); });
          if (!piece.ok()) return End(DataLoss(piece.status().message()));
          text = *std::move(piece);
        }
        [[fallthrough]];
      case Step::kAsking:
        step_ = ok ? Step::kReading : Step::kFinishing;
        if (ok) call_->Read(&buffer_, &queue_);
        break;
      case Step::kFinishing:
        return End(Explain());
    }
    if (step_ == Step::kFinishing) call_->Finish(&status_, &queue_);
    return std::optional(text);
  }

  Result<std::optional<std::string>> End(const Status& status) {
    is_over_ = true;
    if (!status.ok()) end_ = status;
    return end_;
  }

  Status Explain() const {
    switch (status_.error_code()) {
      case grpc::StatusCode::OK:
        return OkStatus();
      case grpc::StatusCode::NOT_FOUND:
        return NotFound(status_.error_message());
      case grpc::StatusCode::FAILED_PRECONDITION:
        return FailedPrecondition(status_.error_message());
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::INTERNAL:
        return Internal(status_.error_message());
      default:
        return Unavailable(status_.error_message());
    }
  }

  const FetchRequest request_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  Step step_ = Step::kConnecting;
  grpc::ByteBuffer buffer_;
  grpc::Status status_;
  bool is_over_ = false;
  Result<std::optional<std::string>> end_ = std::optional<std::string>();
};

PackageChannel::PackageChannel(const TunerEndpoint& tuner, const PackageName& package,
                               int64_t offset)
    : call_(std::make_unique<Call>(tuner, FetchRequest{package, offset})) {}

PackageChannel::~PackageChannel() = default;

Result<std::optional<std::string>> PackageChannel::Next() { return call_->Next(); }

}  // namespace tune
