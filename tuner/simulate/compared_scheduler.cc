#include "tuner/simulate/compared_scheduler.h"

#include <array>
#include <utility>

#include "schedulers/trial_scheduler.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 3> kShared = {"max_t", "grace_period", "reduction_factor"};
constexpr uint64_t kAnySeed = 0;

Value Named(std::string_view name, Value options) {
  Value scheduler = Value::MakeMap();
  scheduler.Set(name, std::move(options));
  return scheduler;
}

bool IsValid(const Value& scheduler, Mode mode) {
  return MakeScheduler(scheduler, mode, kAnySeed).ok();
}

// The spec's own scheduler: its name, and its options or null.
std::pair<std::string, Value> OwnOf(const ExperimentSpec& spec) {
  if (spec.scheduler.is_map() && !spec.scheduler.AsMap().empty()) {
    const MapEntry& entry = spec.scheduler.AsMap().front();
    return {entry.key, entry.value};
  }
  return {spec.scheduler.is_string() ? spec.scheduler.AsString() : "fifo", Value()};
}

}  // namespace

Result<ComparedScheduler> SchedulerNamed(std::string_view name, const ExperimentSpec& spec,
                                         int64_t longest_curve) {
  const auto [own_name, own_options] = OwnOf(spec);
  if (name == own_name) return ComparedScheduler{own_name, spec.scheduler};
  TUNE_RETURN_IF_ERROR(MakeScheduler(Value(name), spec.mode, kAnySeed).status().At("--compare"));
  Value options = Value::MakeMap();
  for (const std::string_view key : kShared) {
    const Value* const own = own_options.is_map() ? own_options.Find(key) : nullptr;
    if (own == nullptr && key != kShared[0]) continue;
    Value more = options;
    more.Set(key, own == nullptr ? Value(longest_curve) : *own);
    if (IsValid(Named(name, more), spec.mode)) options = std::move(more);
  }
  Value scheduler = options.AsMap().empty() ? Value(name) : Named(name, std::move(options));
  return ComparedScheduler{std::string(name), std::move(scheduler)};
}

Result<ComparedScheduler> SchedulerWritten(const std::string& text, Mode mode) {
  Result<Value> scheduler = ParseYaml(text);
  if (!scheduler.ok()) return scheduler.status().At("--scheduler");
  TUNE_RETURN_IF_ERROR(MakeScheduler(*scheduler, mode, kAnySeed).status().At("--scheduler"));
  return ComparedScheduler{text, *std::move(scheduler)};
}

}  // namespace tune
