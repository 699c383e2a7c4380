#include "trial_runner/command_inputs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

constexpr char kInputForm[] = "{from: s3://bucket/prefix, to: data}";

Status NoInput(const Value& read, const std::string& what) {
  return InvalidAt(read.place, "trainable: inputs: read " + Shown(read) + ", expected " + what);
}

// Each part of it is a name, so that nothing lies beside the folder.
bool IsPathBelow(std::string_view path) {
  if (path.empty() || path.size() > limits::kNameBytesMax) return false;
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    const bool is_name =
        !part.empty() && part != "." && part != ".." && part.find('\0') == std::string_view::npos;
    if (!is_name) return false;
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

Result<CommandInput> ReadInput(const Value& value) {
  constexpr std::array<std::string_view, 2> kInputKeys = {"from", "to"};
  if (!value.is_map()) return NoInput(value, kInputForm);
  for (const MapEntry& entry : value.AsMap()) {
    if (std::find(kInputKeys.begin(), kInputKeys.end(), entry.key) != kInputKeys.end()) continue;
    return InvalidAt(entry.key_place, "trainable: inputs: unknown key '" + entry.key + "'" +
                                          DidYouMean(entry.key, kInputKeys));
  }
  const Value* const from = value.Find("from");
  if (from == nullptr) return NoInput(value, std::string(kInputForm) + ": from is missing");
  if (!from->is_string()) return NoInput(*from, "s3://bucket/prefix");
  Result<S3Address> address = ParseS3Url(from->AsString());
  if (!address.ok()) {
    return InvalidAt(from->place, "trainable: inputs: from: " + address.status().message());
  }
  CommandInput input{*std::move(address), {}};
  input.to = input.from.key.substr(input.from.key.rfind('/') + 1);
  const Value* const to = value.Find("to");
  if (to != nullptr) input.to = to->is_string() ? to->AsString() : "";
  if (IsPathBelow(input.to)) return input;
  return NoInput(to == nullptr ? value : *to,
                 to == nullptr ? "a name for a whole bucket, to: data"
                               : "to: a relative path without '..', such as data");
}

bool IsWithin(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

Result<std::vector<CommandInput>> ReadCommandInputs(const Value& trainable) {
  const Value* const list = trainable.is_map() ? trainable.Find("inputs") : nullptr;
  std::vector<CommandInput> inputs;
  if (list == nullptr) return inputs;
  if (!list->is_list()) return NoInput(*list, std::string("a list, [") + kInputForm + "]");
  for (const Value& value : list->AsList()) {
    TUNE_ASSIGN_OR_RETURN(CommandInput input, ReadInput(value));
    for (const CommandInput& other : inputs) {
      if (!IsWithin(input.to, other.to) && !IsWithin(other.to, input.to)) continue;
      return InvalidAt(value.place, "trainable: inputs: '" + input.to + "' and '" + other.to +
                                        "' would lie at one place: give each a to of its own");
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace tune
