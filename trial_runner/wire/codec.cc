#include "trial_runner/wire/codec.h"

#include <google/protobuf/io/coded_stream.h>

#include <utility>

#include "core/limits.h"
#include "proto/tune/v1/tune.pb.h"
#include "trial_runner/wire/decode.h"
#include "trial_runner/wire/encode.h"

namespace tune {
namespace {

template <typename Batch, typename Message>
std::string Encode(std::span<const Message> messages) {
  google::protobuf::Arena arena;
  auto* const batch = google::protobuf::Arena::CreateMessage<Batch>(&arena);
  batch->mutable_messages()->Reserve(static_cast<int>(messages.size()));
  for (const Message& message : messages) Put(message, batch->add_messages());
  std::string bytes;
  TUNE_CHECK(batch->SerializeToString(&bytes));
  return bytes;
}

// How many messages there would be: a message of two bytes is a hundred times as large once it is
// read. Stops where the text is no batch.
int64_t CountMessages(std::string_view bytes) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  constexpr uint32_t kMessages = 1 << 3 | 2;  // The one field of a batch.
  int64_t count = 0;
  uint32_t length = 0;
  while (in.ReadTag() == kMessages && in.ReadVarint32(&length) &&
         in.Skip(static_cast<int>(length))) {
    ++count;
  }
  return count;
}

template <typename Batch, typename Message>
Result<std::vector<Message>> Decode(std::string_view bytes) {
  if (bytes.size() > limits::kMessageBytesMax) {
    return InvalidArgument("a batch of " + std::to_string(bytes.size()) +
                           " bytes, expected at most " + std::to_string(limits::kMessageBytesMax));
  }
  const int64_t count = CountMessages(bytes);
  if (count > static_cast<int64_t>(limits::kBatchMessagesMax)) {
    return InvalidArgument("a batch of " + std::to_string(count) + " messages, expected at most " +
                           std::to_string(limits::kBatchMessagesMax));
  }
  google::protobuf::Arena arena;
  auto* const batch = google::protobuf::Arena::CreateMessage<Batch>(&arena);
  if (!batch->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a batch of protocol tune.v1");
  }
  std::vector<Message> messages(static_cast<size_t>(batch->messages_size()));
  for (size_t i = 0; i < messages.size(); ++i) {
    const Status status = Read(*batch->mutable_messages(static_cast<int>(i)), messages[i]);
    if (!status.ok()) return status.At("message " + std::to_string(i + 1));
  }
  return messages;
}

// As ApproximateBytes of a ToWorker.
size_t ApproximateBytes(const FromWorker& message) {
  size_t bytes = 128;
  if (const auto* const report = std::get_if<AttemptReport>(&message)) {
    for (const auto& [name, value] : report->report.metrics) bytes += name.size() + 16;
    bytes += report->report.checkpoint.path.size() + report->report.note.size() +
             report->report.reading.size();
  } else if (const auto* const ended = std::get_if<AttemptEnded>(&message)) {
    bytes += ended->error.size();
  } else if (const auto* const durable = std::get_if<CheckpointDurable>(&message)) {
    bytes += durable->checkpoint.path.size();
  } else if (const auto* const heartbeat = std::get_if<Heartbeat>(&message)) {
    bytes += heartbeat->devices.size() * 24;
    for (const std::string& path : heartbeat->cached) bytes += path.size() + 8;
  }
  return bytes;
}

template <typename Message>
std::vector<Message> Take(std::deque<Message>& queue) {
  std::vector<Message> batch;
  size_t bytes = 0;
  while (!queue.empty() && batch.size() < limits::kBatchMessagesMax) {
    bytes += ApproximateBytes(queue.front());
    if (bytes > limits::kBatchBytes && !batch.empty()) break;
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return batch;
}

}  // namespace

size_t ApproximateBytes(const ToWorker& message) {
  size_t bytes = 128;
  if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    bytes += start->config.size() + start->checkpoint_path.size() + start->artifact_dir.size() +
             start->slices.size() * 16;
  } else if (const auto* const welcome = std::get_if<Welcome>(&message)) {
    for (const SweepInfo& info : welcome->sweeps) bytes += 128 + info.trainable.size();
  } else if (const auto* const info = std::get_if<SweepInfo>(&message)) {
    bytes += info->trainable.size();
  }
  return bytes;
}

std::string EncodeBatch(std::span<const FromWorker> messages) {
  return Encode<v1::FromWorkerBatch>(messages);
}
std::string EncodeBatch(std::span<const ToWorker> messages) {
  return Encode<v1::ToWorkerBatch>(messages);
}
Result<std::vector<FromWorker>> DecodeFromWorkerBatch(std::string_view bytes) {
  return Decode<v1::FromWorkerBatch, FromWorker>(bytes);
}
Result<std::vector<ToWorker>> DecodeToWorkerBatch(std::string_view bytes) {
  return Decode<v1::ToWorkerBatch, ToWorker>(bytes);
}

std::string EncodeFetchRequest(const FetchRequest& request) {
  v1::FetchRequest out;
  Put(request, &out);
  return out.SerializeAsString();
}

Result<FetchRequest> DecodeFetchRequest(std::string_view bytes) {
  v1::FetchRequest in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a request of protocol tune.v1");
  }
  FetchRequest request;
  TUNE_RETURN_IF_ERROR(Read(in, request));
  return request;
}

std::string EncodeFetchPiece(std::string text) {
  v1::FetchPiece out;
  out.set_text(std::move(text));
  return out.SerializeAsString();
}

Result<std::string> DecodeFetchPiece(std::string_view bytes) {
  v1::FetchPiece in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a piece of protocol tune.v1");
  }
  std::string text;
  TUNE_RETURN_IF_ERROR(Read(in, text));
  return text;
}

std::string EncodeCheckpointCall(const CheckpointCall& call) {
  v1::CheckpointCall out;
  Put(call, &out);
  return out.SerializeAsString();
}

Result<CheckpointCall> DecodeCheckpointCall(std::string_view bytes) {
  v1::CheckpointCall in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a call of protocol tune.v1");
  }
  CheckpointCall call;
  TUNE_RETURN_IF_ERROR(Read(in, call));
  return call;
}

std::string EncodeCheckpointAnswer(const CheckpointAnswer& answer) {
  v1::CheckpointAnswer out;
  Put(answer, &out);
  return out.SerializeAsString();
}

Result<CheckpointAnswer> DecodeCheckpointAnswer(std::string_view bytes) {
  v1::CheckpointAnswer in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not an answer of protocol tune.v1");
  }
  CheckpointAnswer answer;
  TUNE_RETURN_IF_ERROR(Read(in, answer));
  return answer;
}

std::vector<FromWorker> TakeBatch(std::deque<FromWorker>& queue) { return Take(queue); }
std::vector<ToWorker> TakeBatch(std::deque<ToWorker>& queue) { return Take(queue); }

}  // namespace tune
