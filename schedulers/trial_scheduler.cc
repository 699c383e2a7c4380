// The factory: one switch over the scheduler's name, and the options of each.
#include "schedulers/trial_scheduler.h"

#include <array>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "schedulers/asha_scheduler.h"
#include "schedulers/fifo_scheduler.h"
#include "schedulers/hyperband_scheduler.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"fifo", "asha", "hyperband"};
constexpr std::array<std::string_view, 3> kLaterNames = {"median_stopping", "pbt", "bohb"};

// A scheduler as the spec names it; `options` is null where there are none.
struct Named {
  std::string name;
  Place place;
  Value options;
};

Result<Named> ReadName(const Value& scheduler) {
  if (scheduler.is_null()) return Named{"fifo", scheduler.place, Value()};
  if (scheduler.is_string()) return Named{scheduler.AsString(), scheduler.place, Value()};
  if (!scheduler.is_map()) {
    return InvalidAt(scheduler.place, "scheduler: read " + Shown(scheduler) +
                                          ", expected fifo, asha or {asha: {max_t: 100}}");
  }
  if (scheduler.AsMap().size() != 1) {
    return InvalidAt(scheduler.place,
                     "scheduler: read a map of " + std::to_string(scheduler.AsMap().size()) +
                         " keys, expected one scheduler, as in {asha: {max_t: 100}}");
  }
  const MapEntry& entry = scheduler.AsMap().front();
  if (!entry.value.is_map() && !entry.value.is_null()) {
    return InvalidAt(entry.value.place, "scheduler: read " + Shown(entry.value) + " for " +
                                            entry.key + ", expected a map of its options");
  }
  return Named{entry.key, entry.key_place, entry.value};
}

Status RefuseName(const Named& named) {
  for (const std::string_view later : kLaterNames) {
    if (named.name == later) {
      return InvalidAt(named.place,
                       "scheduler: '" + named.name +
                           "' is not supported yet; there are fifo, asha and hyperband");
    }
  }
  return InvalidAt(named.place, "scheduler: '" + named.name + "' is not a scheduler" +
                                    DidYouMean(named.name, kNames));
}

}  // namespace

std::string DescribeRungs(const std::vector<RungView>& rungs) {
  std::string text;
  for (const RungView& rung : rungs) {
    text += " " + std::to_string(rung.bracket) + "/" + std::to_string(rung.milestone) + ":" +
            std::to_string(rung.count);
    if (rung.cutoff) text += "@" + ToJson(Value(*rung.cutoff));
  }
  return text;
}

Result<std::unique_ptr<TrialScheduler>> MakeScheduler(const Value& scheduler, Mode mode,
                                                      uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const Named named, ReadName(scheduler));
  if (named.name == "fifo") {
    if (!named.options.is_null() && !named.options.AsMap().empty()) {
      const MapEntry& entry = named.options.AsMap().front();
      return InvalidAt(entry.key_place, "scheduler: '" + entry.key + "': fifo has no options");
    }
    return std::unique_ptr<TrialScheduler>(std::make_unique<FifoScheduler>());
  }
  if (named.name == "asha") return MakeAshaScheduler(named.options, mode, seed);
  if (named.name == "hyperband") return MakeHyperbandScheduler(named.options, mode, seed);
  return RefuseName(named);
}

std::optional<int64_t> SchedulerMaxT(const Value& scheduler) {
  const Result<Named> named = ReadName(scheduler);
  TUNE_CHECK(named.ok());
  if (named->name == "asha") return AshaMaxT(named->options);
  if (named->name == "hyperband") return HyperbandMaxT(named->options);
  return std::nullopt;
}

}  // namespace tune
