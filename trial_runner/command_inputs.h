// Data of a command that lie in an object store (`inputs:` of the trainable, command_spec.h).
//
//   inputs:
//     - {from: s3://bucket/photographs, to: data}  # all below the prefix, or the object of that
//     key
//     - {from: s3://bucket/vocabulary.txt}         # to: vocabulary.txt
//
// Each machine fetches them once, before the sweep's first trial there; the program finds them
// below the folder {tune.inputs}.
//
// Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "trial_runner/s3_address.h"

namespace tune {

// What a worker's trials wait for begins so, where it is their inputs.
inline constexpr std::string_view kDataWait = "trials wait for their data: ";

struct CommandInput {
  S3Address from;
  std::string to;  // A relative path.
  friend bool operator==(const CommandInput&, const CommandInput&) = default;
};

// `trainable`: the whole map, of any kind; one without `inputs` has none. Errors carry
// "line:column: ".
Result<std::vector<CommandInput>> ReadCommandInputs(const Value& trainable);

}  // namespace tune
