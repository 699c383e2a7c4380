#include "tuner/queue_lines.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/json.h"
#include "core/utf8.h"
#include "core/value.h"
#include "tuner/controller.h"
#include "tuner/sweep_view.h"
#include "tuner/waiting_trials.h"

namespace tune {
namespace {

using PoolWords = std::function<std::string(const std::string& sweep)>;

// {"cpus": 8, "gpus": 1}, or null.
Value ReserveOf(const Share& share) {
  if (share.reserve == Reserve{}) return Value();
  Value reserve = Value::MakeMap();
  reserve.Set("cpus", InWholes(share.reserve.cpu_milli));
  reserve.Set("gpus", InWholes(share.reserve.gpu_milli));
  return reserve;
}

// Of its first trial that waits, or of those to come.
Value WhyItWaits(const SweepView& view, const std::string& pools) {
  for (const std::string& text : EncodeWaiting(view, 2)) {
    const Result<Value> line = ParseJson(text);
    if (!line.ok()) continue;
    const Value* const why = line->Find("why");
    if (why == nullptr || !why->is_string()) continue;
    return pools.empty() ? *why : Value(why->AsString() + "; " + ToUtf8(pools));
  }
  return Value();
}

std::string Line(const Controller& controller, ExperimentId id, std::optional<int64_t> turn,
                 Instant now, const PoolWords& pools) {
  const OpenSweep& open = controller.sweeps().at(id);
  const SweepView view(controller, id);
  const Share& share = view.options().spec.share;
  const Usage used = controller.cluster().leases().UsageOf(id);
  Value line = Value::MakeMap();
  line.Set("turn", turn ? Value(*turn) : Value());
  line.Set("sweep", ToUtf8(view.options().name));
  line.Set("owner", ToUtf8(share.owner));
  line.Set("priority", share.priority);
  line.Set("weight", share.weight);
  line.Set("reserve", ReserveOf(share));
  line.Set("running", view.running_count());
  line.Set("cpus", InWholes(used.cpu_milli));
  line.Set("gpus", InWholes(used.gpu_milli));
  line.Set("waits_us", open.waiting_since ? Value((now - *open.waiting_since).us) : Value());
  line.Set("has_claim", controller.giver().claimant() == id);
  line.Set("why", WhyItWaits(view, pools ? pools(view.options().name) : ""));
  return ToJson(line);
}

}  // namespace

std::vector<std::string> EncodeQueue(const Controller& controller, Instant now,
                                     const PoolWords& pools) {
  std::vector<std::string> lines;
  std::vector<ExperimentId> turn = controller.giver().Turn();
  std::erase_if(turn, [&](ExperimentId id) { return !controller.sweeps().at(id).waiting_since; });
  for (size_t i = 0; i < turn.size(); ++i) {
    lines.push_back(Line(controller, turn[i], static_cast<int64_t>(i) + 1, now, pools));
  }
  for (const auto& [id, open] : controller.sweeps()) {
    if (std::find(turn.begin(), turn.end(), id) == turn.end()) {
      lines.push_back(Line(controller, id, std::nullopt, now, pools));
    }
  }
  return lines;
}

}  // namespace tune
