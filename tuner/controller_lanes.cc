// Trials that train as one: how fast that was, and how many of them shall.
#include <algorithm>
#include <utility>

#include "tuner/experiment_controller.h"

namespace tune {
namespace {

bool ShareDevice(const Placement& a, const Placement& b) {
  return std::any_of(a.slices.begin(), a.slices.end(), [&b](const DeviceSlice& slice) {
    return std::any_of(b.slices.begin(), b.slices.end(),
                       [&slice](const DeviceSlice& other) { return other.device == slice.device; });
  });
}

}  // namespace

// Of trials that share devices; ranks do not.
Fusion ExperimentController::FusionFor(const TrialRecord& trial) const {
  const ResourceRequest request = RequestOf(trial);
  if (request.gpu_milli == 0 || request.workers > 1 || !MayFuse(options_.spec.trainable)) return {};
  return FusionOf(options_.spec.trainable, trial.configuration.ToNested(), request.gpu_milli);
}

void ExperimentController::On(const LaneSpeedsKnown& event) {
  for (const LaneSpeedRow& row : event.speeds) {
    lane_speeds_.Know(row);
    out_.lane_speeds.push_back(row);
  }
}

// Where a driver tells which device it is, its name.
LaneKind ExperimentController::LaneKindOf(const std::string& shape,
                                          const Placement& placement) const {
  LaneKind kind{shape, ""};
  for (const Device& device : cluster_.workers().At(placement.worker).row.capacity.devices) {
    const bool is_used =
        !placement.slices.empty() && placement.slices.front().device == device.index;
    if (is_used && !device.uuid.empty()) kind.device = device.name;
  }
  return kind;
}

// Where others trained beside those lanes, they were slower than they are.
void ExperimentController::MeasureLanes(const TrialRecord& trial, const Report& report) {
  if (!MayFuse(options_.spec.trainable) || options_.spec.resources.workers > 1) return;
  const Value config = trial.configuration.ToNested();
  const std::optional<FusedSpeed> speed = FusedSpeedOf(config, report);
  if (!speed) return;
  const Placement placement = cluster_.leases().RanksOf(trial.row.number).front().placement;
  const std::vector<LeaseTable::Lease> running = cluster_.leases().RunningOn(placement.worker);
  const auto beside = std::count_if(running.begin(), running.end(), [&](const auto& lease) {
    return placement.slices.empty() || ShareDevice(placement, lease.placement);
  });
  if (beside != speed->lanes) return;
  const std::string shape = FusionOf(options_.spec.trainable, config, 0).shape;
  auto measured =
      lane_speeds_.Measure(LaneKindOf(shape, placement), speed->lanes, speed->images_per_second);
  if (measured) out_.lane_speeds.push_back(*std::move(measured));
}

// 0: nothing that was measured speaks against any number, or the configuration says how many.
int64_t ExperimentController::LanesMaxOf(const TrialRecord& trial, const Placement& placement) {
  const Fusion fusion = FusionFor(trial);
  if (fusion.lanes_max == 1 || fusion.is_asked) return 0;
  const LaneKind kind = LaneKindOf(fusion.shape, placement);
  const std::optional<LaneLimit> limit = LaneLimitOf(lane_speeds_.Of(kind));
  const int64_t lanes_max = limit ? limit->kept.lanes : 0;
  const bool is_news = std::exchange(said_lanes_max_[kind], lanes_max) != lanes_max;
  if (limit && is_news) {
    out_.actions.push_back(Say{"at most " + std::to_string(lanes_max) +
                               (lanes_max == 1 ? " trial" : " trials") + " of " + kind.shape +
                               " train as one" + (kind.device.empty() ? "" : " on " + kind.device) +
                               ": " + Describe(*limit)});
  }
  return lanes_max;
}

}  // namespace tune
