#include "trial_runner/fusion.h"

#include <algorithm>
#include <cmath>

#include "core/configuration.h"
#include "core/resources.h"
#include "core/status.h"
#include "models/train/food11_options.h"

namespace tune {
namespace {

// A seed and the data of the environment are the same for all that one worker runs.
Result<models::Food11Options> OptionsOf(const Value& config) {
  if (!config.is_map()) return InvalidArgument("expected a map");
  Configuration configuration;
  for (const MapEntry& entry : config.AsMap()) configuration.Set(entry.key, entry.value);
  return models::ParseFood11Options(configuration, 0, "");
}

}  // namespace

bool MayFuse(const Value& trainable) {
  return trainable.is_string() && trainable.AsString() == "food11";
}

Fusion FusionOf(const Value& trainable, const Value& config, int64_t gpu_milli) {
  if (!MayFuse(trainable)) return {};
  const Result<models::Food11Options> options = OptionsOf(config);
  if (!options.ok()) return {};
  const bool is_asked = options->lanes > 0;
  const bool shares_a_card =
      gpu_milli > 0 && gpu_milli < kWholeMilli && options->device == models::DeviceKind::kCuda;
  const int64_t lanes = is_asked ? options->lanes : shares_a_card ? models::kLanesMax : 1;
  return {models::LaneShape(*options), lanes, is_asked};
}

bool FitsInto(const Fusion& running, int64_t count, const Fusion& one) {
  return !one.shape.empty() && running.shape == one.shape &&
         count < std::min(running.lanes_max, one.lanes_max);
}

std::optional<FusedSpeed> FusedSpeedOf(const Value& config, const Report& report) {
  const Metric lanes = FindMetric(report.metrics, "lanes");
  const Metric own = FindMetric(report.metrics, "images_per_second");
  const bool is_said =
      lanes && own && *lanes >= 1 && *lanes <= models::kLanesMax && *own > 0 && std::isfinite(*own);
  if (!is_said) return std::nullopt;
  const Result<models::Food11Options> options = OptionsOf(config);
  if (!options.ok() || report.iteration <= options->initial_epochs) return std::nullopt;
  return FusedSpeed{std::llround(*lanes), *lanes * *own};
}

}  // namespace tune
