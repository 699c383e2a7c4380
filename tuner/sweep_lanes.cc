// Trials that train as one: how fast that was, and how many of them shall.
#include <algorithm>
#include <utility>

#include "tuner/sweep.h"

namespace tune {

// Of trials that share devices; ranks do not.
Fusion Sweep::FusionFor(const TrialRecord& trial) const {
  const ResourceRequest request = RequestOf(trial);
  if (request.gpu_milli == 0 || request.workers > 1 || !MayFuse(options_.spec.trainable)) return {};
  return FusionOf(options_.spec.trainable, trial.configuration.ToNested(), request.gpu_milli);
}

void Sweep::On(const LaneSpeedsKnown& event) {
  for (const LaneSpeedRow& row : event.speeds) {
    lane_speeds_.Know(row);
    out_.lane_speeds.push_back(row);
  }
}

bool Sweep::MeasuresLanes() const {
  return MayFuse(options_.spec.trainable) && options_.spec.resources.workers == 1;
}

// Skips the measurement where other trials trained beside those lanes: they were slower than they
// are alone.
void Sweep::MeasureLanes(const TrialRecord& trial, const Report& report, const Neighbours& beside) {
  if (!MeasuresLanes()) return;
  const Value config = trial.configuration.ToNested();
  const std::optional<FusedSpeed> speed = FusedSpeedOf(config, report);
  if (!speed || beside.count != speed->lanes) return;
  const std::string shape = FusionOf(options_.spec.trainable, config, 0).shape;
  auto measured =
      lane_speeds_.Measure({shape, beside.device}, speed->lanes, speed->images_per_second);
  if (measured) out_.lane_speeds.push_back(*std::move(measured));
}

// 0: nothing that was measured speaks against any number, or the configuration says how many.
int64_t Sweep::LanesMaxOf(const TrialRecord& trial, const std::string& device) {
  const Fusion fusion = FusionFor(trial);
  if (fusion.lanes_max == 1 || fusion.is_asked) return 0;
  const LaneKind kind{fusion.shape, device};
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
