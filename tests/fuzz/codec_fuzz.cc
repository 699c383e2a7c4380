// libFuzzer: any bytes at all may be decoded, and what is understood encodes to bytes that are
// understood again.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/trial_runner/message_samples.h"
#include "trial_runner/wire/codec.h"

tune::FuzzStart tune::StartOfFuzz() {
  FuzzStart start{{}, 100'000};
  for (const FromWorker& message : SampleFromWorker()) {
    start.inputs.push_back(EncodeBatch(std::vector{message}));
  }
  for (const ToWorker& message : SampleToWorker()) {
    start.inputs.push_back(EncodeBatch(std::vector{message}));
  }
  start.inputs.push_back(EncodeBatch(SampleFromWorker()));
  start.inputs.push_back(EncodeBatch(SampleToWorker()));
  return start;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto from = tune::DecodeFromWorkerBatch(bytes); from.ok()) {
    TUNE_CHECK(tune::DecodeFromWorkerBatch(tune::EncodeBatch(*from)).ok());
  }
  if (const auto to = tune::DecodeToWorkerBatch(bytes); to.ok()) {
    TUNE_CHECK(tune::DecodeToWorkerBatch(tune::EncodeBatch(*to)).ok());
  }
  if (const auto request = tune::DecodeFetchRequest(bytes); request.ok()) {
    TUNE_CHECK(tune::DecodeFetchRequest(tune::EncodeFetchRequest(*request)).ok());
  }
  if (const auto piece = tune::DecodeFetchPiece(bytes); piece.ok()) {
    TUNE_CHECK(*tune::DecodeFetchPiece(tune::EncodeFetchPiece(*piece)) == *piece);
  }
  return 0;
}
