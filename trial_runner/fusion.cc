#include "trial_runner/fusion.h"

#include "core/configuration.h"
#include "core/resources.h"
#include "models/train/food11_options.h"

namespace tune {

bool MayFuse(const Value& trainable) {
  return trainable.is_string() && trainable.AsString() == "food11";
}

Fusion FusionOf(const Value& trainable, const Value& config, int64_t gpu_milli) {
  if (!MayFuse(trainable) || !config.is_map()) return {};
  Configuration configuration;
  for (const MapEntry& entry : config.AsMap()) configuration.Set(entry.key, entry.value);
  // A seed and the data of the environment are the same for all that one worker runs.
  const Result<models::Food11Options> options = models::ParseFood11Options(configuration, 0, "");
  if (!options.ok()) return {};
  int64_t lanes = options->lanes;
  if (lanes == 0) {
    const bool shares_a_card = gpu_milli > 0 && gpu_milli < kWholeMilli;
    lanes = shares_a_card && options->device == models::DeviceKind::kCuda ? models::kLanesMax : 1;
  }
  return {models::LaneShape(*options), lanes};
}

}  // namespace tune
