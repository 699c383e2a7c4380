// libFuzzer target: any bytes at all may be read as a file of weights; what is accepted has as many
// values as its shapes say, and is written and read again as it was.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "models/train/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using tune::models::NamedTensor;

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string File(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  const std::vector<NamedTensor> tensors = {{"a", {2}, {1.0f, -2.5f}}, {"b.c", {1, 1}, {0.0f}}};
  return {{models::SerializeSafetensors(tensors),
           File(R"({"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "abcd"),
           File(R"({"__metadata__":{"a":"b"},"x":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})",
                "abcdefgh"),
           File(R"({"x":{"dtype":"F16","shape":[0,3],"data_offsets":[0,0]}})", "")},
          50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto tensors = tune::models::ParseSafetensors(BytesOf(text));
  if (!tensors.ok()) return 0;
  for (const NamedTensor& tensor : *tensors) {
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    TUNE_CHECK(static_cast<int64_t>(tensor.data.size()) == count);
  }
  const auto again =
      tune::models::ParseSafetensors(BytesOf(tune::models::SerializeSafetensors(*tensors)));
  TUNE_CHECK(again.ok() && again->size() == tensors->size());
  return 0;
}
