#include "trial_runner/grpc/tuner_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

std::shared_ptr<grpc::Channel> MakeChannel(const LoopbackAddress& tuner) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytesMax));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kMessageBytesMax));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  // The scheme says that this is an address, so that no name is looked up.
  const bool is_ipv6 = tuner.host.find(':') != std::string::npos;
  return grpc::CreateCustomChannel((is_ipv6 ? "ipv6:" : "ipv4:") + tuner.ToText(),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

class TunerChannel::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(const LoopbackAddress& tuner, TunerSink& sink)
      : address_(tuner.ToText()), sink_(sink), stub_(MakeChannel(tuner)) {
    stub_.PrepareBidiStreamingCall(&context_, kAttachMethod, grpc::StubOptions(), this);
    AddHold();  // For writes, which start outside of the reactions.
    StartRead(&read_buffer_);
    StartCall();
  }

  ~Stream() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    CloseWriting();
    done_.wait(lock, [this] { return is_done_; });
  }

  void Send(std::vector<FromWorker> messages) {
    const std::lock_guard lock(mutex_);
    if (is_writing_closed_ || wants_to_close_) return;
    for (FromWorker& message : messages) outbox_.push_back(std::move(message));
    Advance();
  }

  void CloseAfterSending() {
    const std::lock_guard lock(mutex_);
    wants_to_close_ = true;
    Advance();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      CloseWriting();
      return;
    }
    has_heard_ = true;
    Result<std::vector<ToWorker>> messages =
        WithBytes(read_buffer_, [](std::string_view bytes) { return DecodeToWorkerBatch(bytes); });
    if (!messages.ok()) {
      wire_error_ = messages.status();
      context_.TryCancel();
      const std::lock_guard lock(mutex_);
      CloseWriting();
      return;
    }
    if (!messages->empty()) sink_.OnMessages(*std::move(messages));
    StartRead(&read_buffer_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (!ok) return CloseWriting();
    Advance();
  }

  void OnDone(const grpc::Status& status) override {
    sink_.OnClosed(Explain(status));
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_all();
  }

  Status Explain(const grpc::Status& status) const {
    const std::string tuner = "the tuner at " + address_;
    if (!wire_error_.ok()) return wire_error_.At(tuner + " sent what is no message");
    if (status.ok()) return OkStatus();
    if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      return InvalidArgument(tuner + " refused a message: " + status.error_message());
    }
    if (!has_heard_) {
      const bool is_refused =
          status.error_message().find("Connection refused") != std::string::npos;
      return Unavailable("cannot connect to " + tuner + ": " +
                         (is_refused ? "nobody listens there" : status.error_message()));
    }
    return Unavailable("the connection to " + tuner + " broke: " + status.error_message());
  }

  // Requires mutex_. The next write, or the end of writing.
  void Advance() {
    if (is_writing_ || is_writing_closed_) return;
    if (!outbox_.empty()) {
      is_writing_ = true;
      write_buffer_ = ToBuffer(EncodeBatch(TakeBatch(outbox_)));
      StartWrite(&write_buffer_);
    } else if (wants_to_close_) {
      StartWritesDone();
      CloseWriting();
    }
  }

  // Requires mutex_.
  void CloseWriting() {
    if (is_writing_closed_) return;
    is_writing_closed_ = true;
    outbox_.clear();
    RemoveHold();
  }

  const std::string address_;
  TunerSink& sink_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;

  // Of the reading side alone.
  grpc::ByteBuffer read_buffer_;
  Status wire_error_;
  bool has_heard_ = false;

  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<FromWorker> outbox_;
  grpc::ByteBuffer write_buffer_;
  bool is_writing_ = false;
  bool wants_to_close_ = false;
  bool is_writing_closed_ = false;
  bool is_done_ = false;
};

TunerChannel::TunerChannel(const LoopbackAddress& tuner, TunerSink& sink) {
  QuietGrpcLog();
  stream_ = std::make_unique<Stream>(tuner, sink);
}

TunerChannel::~TunerChannel() = default;

void TunerChannel::Send(std::vector<FromWorker> messages) { stream_->Send(std::move(messages)); }

void TunerChannel::CloseAfterSending() { stream_->CloseAfterSending(); }

}  // namespace tune
