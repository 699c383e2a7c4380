#include "trial_runner/fusion.h"

#include "core/configuration.h"
#include "core/json.h"
#include "models/train/food11_options.h"

namespace tune {
namespace {

bool SharesACard(const std::vector<DeviceSlice>& slices) {
  return slices.size() == 1 && slices.front().milli < kWholeMilli;
}

}  // namespace

Fusion FusionOf(const Value& trainable, std::string_view config,
                const std::vector<DeviceSlice>& slices) {
  if (!trainable.is_string() || trainable.AsString() != "food11") return {};
  const Result<Value> read = ParseJson(config);
  if (!read.ok() || !read->is_map()) return {};
  Configuration configuration;
  for (const MapEntry& entry : read->AsMap()) configuration.Set(entry.key, entry.value);
  // A seed and the data of the environment are the same for all that one worker runs.
  const Result<models::Food11Options> options = models::ParseFood11Options(configuration, 0, "");
  if (!options.ok()) return {};
  int64_t lanes = options->lanes;
  if (lanes == 0) {
    const bool may_use_card = options->device != models::DeviceKind::kCpu;
    lanes = may_use_card && SharesACard(slices) ? models::kLanesMax : 1;
  }
  if (lanes == 1) return {};
  return {models::LaneShape(*options), lanes};
}

}  // namespace tune
