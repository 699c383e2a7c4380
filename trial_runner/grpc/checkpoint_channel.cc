#include "trial_runner/grpc/checkpoint_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "core/limits.h"
#include "trial_runner/grpc/dial.h"
#include "trial_runner/grpc/status_codes.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

constexpr std::chrono::milliseconds kStopLookPause(100);

}  // namespace

class CheckpointChannel::Connection {
 public:
  Connection(const TunerEndpoint& tuner, std::string session)
      : tuner_(tuner), session_(std::move(session)), stub_(DialTuner(tuner)) {}

  const TunerEndpoint& tuner() const { return tuner_; }
  const std::string& session() const { return session_; }
  grpc::GenericStub& stub() { return stub_; }

 private:
  const TunerEndpoint tuner_;
  const std::string session_;
  grpc::GenericStub stub_;
};

// One operation at a time, each waited for, or until it is told to stop.
class CheckpointChannel::Call {
 public:
  Call(Connection& connection, std::stop_token stop) : stop_(std::move(stop)) {
    ShowSecret(connection.tuner(), context_);
    call_ = connection.stub().PrepareCall(&context_, kCheckpointMethod, &queue_);
    call_->StartCall(this);
    is_open_ = Wait();
  }
  ~Call() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // False: the call has ended; Finish says why.
  bool Write(const std::string& bytes) {
    StartWrite(bytes);
    return EndWrite();
  }
  // The two halves of it.
  void StartWrite(const std::string& bytes) {
    if (is_open_) call_->Write(ToBuffer(bytes), this);
  }
  bool EndWrite() { return is_open_ = is_open_ && Wait(); }
  // Likewise.
  bool Read() {
    if (!is_open_) return false;
    call_->Read(&buffer_, this);
    return is_open_ = Wait();
  }
  Result<CheckpointAnswer> ReadAnswer() {
    if (!Read()) return Finish();
    return WithBytes(buffer_, [](std::string_view bytes) { return DecodeCheckpointAnswer(bytes); });
  }
  const grpc::ByteBuffer& buffer() const { return buffer_; }

  // Why it ended before its time.
  Status Finish() {
    grpc::Status status;
    call_->Finish(&status, this);
    Wait();
    if (stop_.stop_requested()) return Unavailable("given up");
    const Status ours = FromGrpc(status);
    return ours.ok() ? Unavailable("the tuner ended the call") : ours;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    while (true) {
      if (stop_.stop_requested()) context_.TryCancel();
      const auto deadline = std::chrono::system_clock::now() + kStopLookPause;
      const auto state = queue_.AsyncNext(&tag, &ok, deadline);
      if (state == grpc::CompletionQueue::GOT_EVENT) return ok;
    }
  }

  const std::stop_token stop_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer buffer_;
  bool is_open_ = false;
};

CheckpointChannel::CheckpointChannel(const TunerEndpoint& tuner, std::string session)
    : connection_(std::make_unique<Connection>(tuner, std::move(session))) {}

CheckpointChannel::~CheckpointChannel() = default;

Result<bool> CheckpointChannel::Sees(const SeeNonce& see, std::stop_token stop) {
  Call call(*connection_, std::move(stop));
  call.Write(EncodeCheckpointCall({connection_->session(), see}));
  TUNE_ASSIGN_OR_RETURN(const CheckpointAnswer answer, call.ReadAnswer());
  return answer.is_seen;
}

Result<std::string> CheckpointChannel::Put(const PutCheckpoint& put, const PackageSource& text,
                                           std::stop_token stop) {
  Call call(*connection_, std::move(stop));
  call.Write(EncodeCheckpointCall({connection_->session(), put}));
  TUNE_ASSIGN_OR_RETURN(CheckpointAnswer answer, call.ReadAnswer());
  // The next piece is read while the last one is sent.
  bool is_sending = false;
  for (int64_t at = answer.offset; at < put.text.bytes;) {
    Result<std::string> piece = text.Read(at, limits::kPackagePieceBytes);
    if (is_sending && !call.EndWrite()) return call.Finish();
    TUNE_RETURN_IF_ERROR(piece.status());
    if (piece->empty()) return DataLoss("the checkpoint became shorter while it was sent");
    at += static_cast<int64_t>(piece->size());
    call.StartWrite(EncodeFetchPiece(*std::move(piece)));
    is_sending = true;
  }
  if (is_sending && !call.EndWrite()) return call.Finish();
  TUNE_ASSIGN_OR_RETURN(answer, call.ReadAnswer());
  return answer.path;
}

Result<int64_t> CheckpointChannel::SendLog(const PutLog& put, std::stop_token stop) {
  Call call(*connection_, std::move(stop));
  call.Write(EncodeCheckpointCall({connection_->session(), put}));
  TUNE_ASSIGN_OR_RETURN(const CheckpointAnswer answer, call.ReadAnswer());
  return answer.offset;
}

Result<std::string> CheckpointChannel::Sign(const SignStoreRequest& request, std::stop_token stop) {
  Call call(*connection_, std::move(stop));
  call.Write(EncodeCheckpointCall({connection_->session(), request}));
  TUNE_ASSIGN_OR_RETURN(CheckpointAnswer answer, call.ReadAnswer());
  return std::move(answer.url);
}

Status CheckpointChannel::Get(const GetCheckpoint& get, const Taker& taker, std::stop_token stop) {
  Call call(*connection_, std::move(stop));
  call.Write(EncodeCheckpointCall({connection_->session(), get}));
  TUNE_ASSIGN_OR_RETURN(const CheckpointAnswer answer, call.ReadAnswer());
  TUNE_RETURN_IF_ERROR(taker.begin(answer.text));
  for (int64_t at = get.offset; at < answer.text.bytes;) {
    if (!call.Read()) return call.Finish();
    TUNE_RETURN_IF_ERROR(WithBytes(call.buffer(), [&](std::string_view bytes) -> Status {
      TUNE_ASSIGN_OR_RETURN(const std::string piece, DecodeFetchPiece(bytes));
      at += static_cast<int64_t>(piece.size());
      return taker.take(piece);
    }));
  }
  return OkStatus();
}

}  // namespace tune
