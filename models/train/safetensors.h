// The safetensors format (github.com/huggingface/safetensors): eight bytes of header length, a JSON
// header {name: {dtype, shape, data_offsets}}, the tensors' bytes. Read strictly, since the file
// may come from anywhere.
//
// Thread rule: pure functions, but for the file that is read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/mobilenet_v2.h"

namespace tune::models {

// F32, F16, BF16 become floats; so do I64 and I32 (batch counts). kDataLoss says what is wrong:
// lengths, JSON, types, offsets that overlap, leave holes or pass the end, sizes that do not fit
// the shape, doubled names.
Result<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> bytes);
// The path stands before the message.
Result<std::vector<NamedTensor>> ReadSafetensors(const std::string& path);

// F32, in the order given. Names must be unique, data must fit the shapes.
std::string SerializeSafetensors(std::span<const NamedTensor> tensors);

}  // namespace tune::models
