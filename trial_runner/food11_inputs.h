// Data of the trainable food11 that lie in an object store: its parameter `data`, where that is
// s3://bucket/prefix, one for all trials. They are brought as a command's inputs are
// (command_inputs.h).
//
// Thread rule: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "trial_runner/command_inputs.h"

namespace tune {

// What they are called below the folder of inputs.
inline constexpr char kFood11Input[] = "data";

// Whether food11's parameter of that name is a folder or file that trials read.
inline bool IsFood11Path(std::string_view parameter) {
  return parameter == "data" || parameter == "weights";
}

// `config`: of a trial. None where `data` is no s3:// URL. kInvalidArgument: it is a wrong one.
Result<std::vector<CommandInput>> ReadFood11Inputs(const Value& config);

}  // namespace tune
