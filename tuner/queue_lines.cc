#include "tuner/queue_lines.h"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "core/json.h"
#include "core/utf8.h"
#include "core/value.h"
#include "tuner/controller.h"
#include "tuner/sweep_view.h"
#include "tuner/waiting_trials.h"

namespace tune {
namespace {

// What is the same for all lines.
struct Surroundings {
  const Controller& controller;
  Instant now;
  const std::map<std::string, std::string>& pools;
  WaitingReasons reasons = {};
};

// {"cpus": 8, "gpus": 1}, or null.
Value ReserveOf(const Share& share) {
  if (share.reserve == Reserve{}) return Value();
  Value reserve = Value::MakeMap();
  reserve.Set("cpus", InWholes(share.reserve.cpu_milli));
  reserve.Set("gpus", InWholes(share.reserve.gpu_milli));
  return reserve;
}

// Of its first trial that waits, or of those to come.
Value WhyItWaits(const SweepView& view, Surroundings& around) {
  const std::optional<std::string> why = around.reasons.First(view);
  if (!why) return Value();
  const auto pools = around.pools.find(view.options().name);
  return ToUtf8(pools == around.pools.end() ? *why : *why + "; " + pools->second);
}

std::string Line(ExperimentId id, std::optional<int64_t> turn, Surroundings& around) {
  const Controller& controller = around.controller;
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
  line.Set("waits_us", open.waiting_since ? Value((around.now - *open.waiting_since).us) : Value());
  line.Set("has_claim", controller.giver().claimant() == id);
  line.Set("why", WhyItWaits(view, around));
  return ToJson(line);
}

}  // namespace

std::vector<std::string> EncodeQueue(const Controller& controller, Instant now,
                                     const std::map<std::string, std::string>& pools) {
  Surroundings around{controller, now, pools};
  std::vector<std::string> lines;
  std::vector<ExperimentId> turn = controller.giver().Turn();
  std::erase_if(turn, [&](ExperimentId id) { return !controller.sweeps().at(id).waiting_since; });
  for (size_t i = 0; i < turn.size(); ++i) {
    lines.push_back(Line(turn[i], static_cast<int64_t>(i) + 1, around));
  }
  const std::set<ExperimentId> has_turn(turn.begin(), turn.end());
  for (const auto& [id, open] : controller.sweeps()) {
    if (!has_turn.contains(id)) lines.push_back(Line(id, std::nullopt, around));
  }
  return lines;
}

std::vector<std::string> EncodeStates(const Controller& controller) {
  constexpr size_t kSweepsOfLineMax = 1000;
  WaitingReasons reasons;
  std::map<std::pair<bool, std::string>, std::vector<Value::List>> groups;  // Of those that run.
  for (const auto& [id, open] : controller.sweeps()) {
    const SweepView view(controller, id);
    const std::optional<std::string> why = view.is_paused() ? "" : reasons.First(view);
    if (!why) continue;
    auto& lists = groups[{!view.is_paused(), *why}];
    if (lists.empty() || lists.back().size() == kSweepsOfLineMax) lists.emplace_back();
    const bool has_id = id != ExperimentId{};  // Else it is the only one.
    lists.back().push_back(has_id ? Value(id.value) : Value(open.sweep.options().name));
  }
  std::vector<std::string> lines;
  for (auto& [what, lists] : groups) {
    for (Value::List& sweeps : lists) {
      Value line = Value::MakeMap();
      line.Set("is_paused", !what.first);
      line.Set("why", ToUtf8(what.second));
      Value ids = Value::MakeList();
      ids.AsList() = std::move(sweeps);
      line.Set("sweeps", std::move(ids));
      lines.push_back(ToJson(line));
    }
  }
  return lines;
}

}  // namespace tune
