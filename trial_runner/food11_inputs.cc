#include "trial_runner/food11_inputs.h"

#include <utility>

namespace tune {

Result<std::vector<CommandInput>> ReadFood11Inputs(const Value& config) {
  std::vector<CommandInput> inputs;
  const Value* const data = config.is_map() ? config.Find("data") : nullptr;
  if (data == nullptr || !data->is_string() || !IsS3Url(data->AsString())) return inputs;
  Result<S3Address> address = ParseS3Url(data->AsString());
  if (!address.ok()) return InvalidArgument("data: " + address.status().message());
  inputs.push_back({*std::move(address), kFood11Input});
  return inputs;
}

}  // namespace tune
