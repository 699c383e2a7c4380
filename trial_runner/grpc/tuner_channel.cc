#include "trial_runner/grpc/tuner_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "trial_runner/grpc/completions.h"
#include "trial_runner/grpc/dial.h"
#include "trial_runner/grpc/wire_buffer.h"
#include "trial_runner/wire/codec.h"

namespace tune {
class TunerChannel::Stream final {
 public:
  Stream(const TunerEndpoint& tuner, TunerSink& sink)
      : address_(tuner.address.ToText()), sink_(sink), stub_(DialTuner(tuner)) {
    ShowSecret(tuner, context_);
    call_ = stub_.PrepareCall(&context_, kAttachMethod, &queue_);
    call_->StartCall(&on_started_);
    thread_ = RunCompletions(&queue_);
  }

  ~Stream() {
    context_.TryCancel();
    thread_.join();
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
  void OnStarted(bool ok) {
    if (!ok) return Finish();
    call_->Read(&read_buffer_, &on_read_);
    const std::lock_guard lock(mutex_);
    is_started_ = true;
    Advance();
  }

  void OnRead(bool ok) {
    if (!ok) return Finish();
    has_heard_ = true;
    Result<std::vector<ToWorker>> messages =
        WithBytes(read_buffer_, [](std::string_view bytes) { return DecodeToWorkerBatch(bytes); });
    if (!messages.ok()) {
      wire_error_ = messages.status();
      context_.TryCancel();
      return Finish();
    }
    if (!messages->empty()) sink_.OnMessages(*std::move(messages));
    call_->Read(&read_buffer_, &on_read_);
  }

  void OnWritten(bool ok) {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (!ok) CloseWriting();
    Advance();
  }

  // Nothing more will be read: the end of the call says why.
  void Finish() {
    const std::lock_guard lock(mutex_);
    CloseWriting();
    wants_to_finish_ = true;
    Advance();
  }

  void OnFinished(bool) {
    sink_.OnClosed(Explain(status_));
    queue_.Shutdown();
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

  // Requires mutex_. The next write, the end of writing, or the end.
  void Advance() {
    if (is_writing_) return;
    if (wants_to_finish_) {
      is_writing_ = true;  // Nothing comes after it.
      call_->Finish(&status_, &on_finished_);
    } else if (!is_started_ || is_writing_closed_) {
      return;
    } else if (!outbox_.empty()) {
      is_writing_ = true;
      call_->Write(ToBuffer(EncodeBatch(TakeBatch(outbox_))), &on_written_);
    } else if (wants_to_close_) {
      is_writing_ = true;
      is_writing_closed_ = true;
      call_->WritesDone(&on_written_);
    }
  }

  // Requires mutex_.
  void CloseWriting() {
    is_writing_closed_ = true;
    outbox_.clear();
  }

  const std::string address_;
  TunerSink& sink_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  MethodCompletion<Stream> on_started_{this, &Stream::OnStarted};
  MethodCompletion<Stream> on_read_{this, &Stream::OnRead};
  MethodCompletion<Stream> on_written_{this, &Stream::OnWritten};
  MethodCompletion<Stream> on_finished_{this, &Stream::OnFinished};
  std::thread thread_;

  // Of the completion thread alone.
  grpc::ByteBuffer read_buffer_;
  grpc::Status status_;
  Status wire_error_;
  bool has_heard_ = false;

  std::mutex mutex_;
  std::deque<FromWorker> outbox_;
  bool is_started_ = false;
  bool is_writing_ = false;
  bool wants_to_close_ = false;
  bool is_writing_closed_ = false;
  bool wants_to_finish_ = false;
};

TunerChannel::TunerChannel(const TunerEndpoint& tuner, TunerSink& sink) {
  QuietGrpcLog();
  stream_ = std::make_unique<Stream>(tuner, sink);
}

TunerChannel::~TunerChannel() = default;

void TunerChannel::Send(std::vector<FromWorker> messages) { stream_->Send(std::move(messages)); }

void TunerChannel::CloseAfterSending() { stream_->CloseAfterSending(); }

}  // namespace tune
