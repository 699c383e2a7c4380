#include "models/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/posix/durable_file.h"

namespace tune::models {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie");

constexpr uint64_t kHeaderBytesMax = 1u << 20;
constexpr uint64_t kFileBytesMax = 4ull << 30;
constexpr size_t kDimensionsMax = 8;

float FromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {  // Zero and the numbers below 2^-14: fraction * 2^-24.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename T, typename Convert>
void Widen(std::span<const std::byte> bytes, std::vector<float>& out, Convert convert) {
  out.resize(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T word;
    std::memcpy(&word, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = convert(word);
  }
}

size_t ElementBytes(const std::string& type) {
  if (type == "F32" || type == "I32") return 4;
  if (type == "F16" || type == "BF16") return 2;
  if (type == "I64") return 8;
  return 0;
}

void ReadElements(const std::string& type, std::span<const std::byte> bytes,
                  std::vector<float>& out) {
  if (type == "F32") Widen<float>(bytes, out, [](float x) { return x; });
  if (type == "F16") Widen<uint16_t>(bytes, out, FromHalf);
  if (type == "BF16") {
    Widen<uint16_t>(bytes, out, [](uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); });
  }
  if (type == "I32") Widen<int32_t>(bytes, out, [](int32_t x) { return static_cast<float>(x); });
  if (type == "I64") Widen<int64_t>(bytes, out, [](int64_t x) { return static_cast<float>(x); });
}

struct TensorEntry {
  NamedTensor tensor;
  std::string type;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// A list of whole numbers from 0.
std::optional<std::vector<int64_t>> ReadNumbers(const Value* value) {
  if (value == nullptr || !value->is_list()) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Value& item : value->AsList()) {
    if (!item.is_int() || item.AsInt() < 0) return std::nullopt;
    numbers.push_back(item.AsInt());
  }
  return numbers;
}

Result<TensorEntry> ReadEntry(const MapEntry& header, uint64_t data_bytes) {
  const std::string place = "tensor '" + header.key + "': ";
  if (!header.value.is_map()) return DataLoss(place + "its header is not a map");
  const Value* const type = header.value.Find("dtype");
  if (type == nullptr || !type->is_string()) return DataLoss(place + "no dtype");
  const size_t element_bytes = ElementBytes(type->AsString());
  if (element_bytes == 0) {
    return DataLoss(place + "dtype " + type->AsString() + ", expected F32, F16, BF16, I32 or I64");
  }
  const auto shape = ReadNumbers(header.value.Find("shape"));
  if (!shape || shape->size() > kDimensionsMax) return DataLoss(place + "no usable shape");
  const auto offsets = ReadNumbers(header.value.Find("data_offsets"));
  if (!offsets || offsets->size() != 2) return DataLoss(place + "no usable data_offsets");
  TensorEntry entry;
  entry.begin = static_cast<uint64_t>((*offsets)[0]);
  entry.end = static_cast<uint64_t>((*offsets)[1]);
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return DataLoss(place + "data_offsets pass the end of the file");
  }
  uint64_t expected = element_bytes;
  for (const int64_t extent : *shape) {
    if (__builtin_mul_overflow(expected, static_cast<uint64_t>(extent), &expected)) {
      return DataLoss(place + "no usable shape");
    }
  }
  if (entry.end - entry.begin != expected) {
    return DataLoss(place + std::to_string(entry.end - entry.begin) + " bytes, its shape needs " +
                    std::to_string(expected));
  }
  entry.tensor.name = header.key;
  entry.tensor.shape = *shape;
  entry.type = type->AsString();
  return entry;
}

// Every byte belongs to exactly one tensor.
Status CheckCover(const std::vector<TensorEntry>& entries, uint64_t data_bytes) {
  std::vector<const TensorEntry*> sorted;
  for (const TensorEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t at = 0;
  for (const TensorEntry* entry : sorted) {
    if (entry->begin != at) {
      return DataLoss("tensor '" + entry->tensor.name + "': its data " +
                      (entry->begin < at ? "overlaps another's" : "leaves a hole before it"));
    }
    at = entry->end;
  }
  if (at != data_bytes) return DataLoss("bytes after the last tensor");
  return OkStatus();
}

}  // namespace

Result<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return DataLoss("shorter than a safetensors header");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  bytes = bytes.subspan(sizeof header_bytes);
  if (header_bytes > kHeaderBytesMax) {
    return DataLoss("the header claims " + std::to_string(header_bytes) +
                    " bytes: not a safetensors file");
  }
  if (header_bytes > bytes.size()) return DataLoss("the file ends inside its header");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), header_bytes);
  const std::span<const std::byte> data = bytes.subspan(header_bytes);
  const Result<Value> header = ParseJson(text);
  if (!header.ok()) return DataLoss("header: " + header.status().message());
  if (!header->is_map()) return DataLoss("the header is not a map");

  std::vector<TensorEntry> entries;
  for (const MapEntry& item : header->AsMap()) {
    if (item.key == "__metadata__") continue;
    TUNE_ASSIGN_OR_RETURN(TensorEntry entry, ReadEntry(item, data.size()));
    entries.push_back(std::move(entry));
  }
  TUNE_RETURN_IF_ERROR(CheckCover(entries, data.size()));
  std::vector<NamedTensor> tensors;
  for (TensorEntry& entry : entries) {
    ReadElements(entry.type, data.subspan(entry.begin, entry.end - entry.begin), entry.tensor.data);
    tensors.push_back(std::move(entry.tensor));
  }
  return tensors;
}

Result<std::vector<NamedTensor>> ReadSafetensors(const std::string& path) {
  TUNE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kFileBytesMax));
  Result<std::vector<NamedTensor>> tensors =
      ParseSafetensors(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!tensors.ok()) return tensors.status().At(path);
  return tensors;
}

std::string SerializeSafetensors(std::span<const NamedTensor> tensors) {
  Value header = Value::MakeMap();
  uint64_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    TUNE_CHECK(static_cast<size_t>(count) == tensor.data.size());
    Value entry = Value::MakeMap();
    entry.Set("dtype", "F32");
    entry.Set("shape", Value::List(tensor.shape.begin(), tensor.shape.end()));
    const uint64_t end = at + tensor.data.size() * sizeof(float);
    entry.Set("data_offsets", Value::List{static_cast<int64_t>(at), static_cast<int64_t>(end)});
    TUNE_CHECK(header.Find(tensor.name) == nullptr);
    header.Set(tensor.name, std::move(entry));
    at = end;
  }
  std::string text = ToJson(header);
  while (text.size() % 8 != 0) text.push_back(' ');  // The format's own padding: aligns the data.
  const uint64_t header_bytes = text.size();
  std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  file.reserve(file.size() + text.size() + at);
  file += text;
  for (const NamedTensor& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.data.data()),
                tensor.data.size() * sizeof(float));
  }
  return file;
}

}  // namespace tune::models
