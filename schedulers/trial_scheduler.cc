// The factory: one switch over the scheduler's name, and the options of each.
#include "schedulers/trial_scheduler.h"

#include <array>
#include <limits>

#include "core/check.h"
#include "core/input_error.h"
#include "core/nearest_name.h"
#include "core/option_map.h"
#include "schedulers/asha_scheduler.h"
#include "schedulers/fifo_scheduler.h"
#include "schedulers/rung_levels.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"fifo", "asha"};
constexpr std::array<std::string_view, 4> kLaterNames = {"hyperband", "median_stopping", "pbt",
                                                         "bohb"};
constexpr std::array<std::string_view, 5> kAshaOptions = {"variant", "max_t", "grace_period",
                                                          "reduction_factor", "brackets"};

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
      return InvalidAt(named.place, "scheduler: '" + named.name +
                                        "' is not supported yet; there are fifo and asha");
    }
  }
  return InvalidAt(named.place, "scheduler: '" + named.name + "' is not a scheduler" +
                                    DidYouMean(named.name, kNames));
}

Result<AshaOptions> ReadAshaOptions(const Value& map) {
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  constexpr std::array<std::string_view, 2> kVariants = {"stop", "promote"};
  const OptionMap options("scheduler", "asha", map);
  AshaOptions asha;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kAshaOptions));
  size_t variant = 0;
  TUNE_RETURN_IF_ERROR(options.Read("variant", kVariants, variant));
  if (variant != 0) {
    return InvalidAt(options.PlaceOf("variant"),
                     "scheduler: the variant 'promote' is not supported yet; there is stop");
  }
  TUNE_RETURN_IF_ERROR(options.Read("max_t", 1, kNoMax, asha.max_t));
  TUNE_RETURN_IF_ERROR(options.Read("grace_period", 1, kNoMax, asha.grace_period));
  TUNE_RETURN_IF_ERROR(options.Read("reduction_factor", 2, kNoMax, asha.reduction_factor));
  TUNE_RETURN_IF_ERROR(options.Read("brackets", 1, kNoMax, asha.brackets));
  if (asha.grace_period > asha.max_t) {
    return InvalidAt(options.PlaceOf("grace_period"),
                     "scheduler: grace_period is " + std::to_string(asha.grace_period) +
                         " and max_t is " + std::to_string(asha.max_t) +
                         "; grace_period must not be above max_t");
  }
  const size_t rungs = RungLevels(asha.grace_period, asha.max_t, asha.reduction_factor).size();
  if (asha.brackets > static_cast<int64_t>(rungs)) {
    return InvalidAt(options.PlaceOf("brackets"),
                     "scheduler: read " + std::to_string(asha.brackets) +
                         " brackets, expected at most " + std::to_string(rungs) +
                         ", the number of rungs (each bracket leaves out one more)");
  }
  return asha;
}

}  // namespace

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
  if (named.name == "asha") {
    TUNE_ASSIGN_OR_RETURN(const AshaOptions options, ReadAshaOptions(named.options));
    return std::unique_ptr<TrialScheduler>(std::make_unique<AshaScheduler>(options, mode, seed));
  }
  return RefuseName(named);
}

std::optional<int64_t> SchedulerMaxT(const Value& scheduler) {
  const Result<Named> named = ReadName(scheduler);
  TUNE_CHECK(named.ok());
  if (named->name != "asha") return std::nullopt;
  const Result<AshaOptions> options = ReadAshaOptions(named->options);
  TUNE_CHECK(options.ok());
  return options->max_t;
}

}  // namespace tune
