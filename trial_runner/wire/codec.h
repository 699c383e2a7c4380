// The messages of trial_runner/messages.h to and from the wire form of proto/tune/v1/tune.proto.
// Decoding refuses what is out of range, so that behind it every id, count and enum can be trusted;
// any bytes at all are safe to decode.
//
// Thread rule: pure functions.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/messages.h"

namespace tune {

std::string EncodeBatch(std::span<const FromWorker> messages);
std::string EncodeBatch(std::span<const ToWorker> messages);

// Errors name the message's place in the batch, the field, what was read and what was expected:
// "message 2: report.iteration: read 0, expected at least 1".
Result<std::vector<FromWorker>> DecodeFromWorkerBatch(std::string_view bytes);
Result<std::vector<ToWorker>> DecodeToWorkerBatch(std::string_view bytes);

// What goes over a call of Fetch: its request, and each piece of its answer.
struct FetchRequest {
  PackageName package;
  int64_t offset = 0;  // Of the first byte that is asked for.
};
std::string EncodeFetchRequest(const FetchRequest& request);
Result<FetchRequest> DecodeFetchRequest(std::string_view bytes);
std::string EncodeFetchPiece(std::string text);
Result<std::string> DecodeFetchPiece(std::string_view bytes);

// The first messages of a call of Checkpoint; what follows them are pieces, as Fetch's.
std::string EncodeCheckpointCall(const CheckpointCall& call);
Result<CheckpointCall> DecodeCheckpointCall(std::string_view bytes);
std::string EncodeCheckpointAnswer(const CheckpointAnswer& answer);
Result<CheckpointAnswer> DecodeCheckpointAnswer(std::string_view bytes);

// Takes from the front of `queue` what fits into one batch (limits::kBatchBytes,
// limits::kBatchMessagesMax): at least one message if there is one.
std::vector<FromWorker> TakeBatch(std::deque<FromWorker>& queue);
std::vector<ToWorker> TakeBatch(std::deque<ToWorker>& queue);

// Of a message on the wire: an upper bound that is close where it matters, for those that can be
// large.
size_t ApproximateBytes(const ToWorker& message);

}  // namespace tune
