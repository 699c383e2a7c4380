// The factory: one table over the schedulers' names.
#include "schedulers/trial_scheduler.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "schedulers/asha_scheduler.h"
#include "schedulers/combined_scheduler.h"
#include "schedulers/fifo_scheduler.h"
#include "schedulers/hyperband_scheduler.h"
#include "schedulers/median_stopping_scheduler.h"
#include "schedulers/pasha_scheduler.h"
#include "schedulers/patience_scheduler.h"
#include "schedulers/pbt_scheduler.h"
#include "schedulers/percentile_scheduler.h"
#include "schedulers/scheduler_names.h"
#include "schedulers/threshold_scheduler.h"
#include "schedulers/wilcoxon_scheduler.h"

namespace tune {
namespace {

using Made = Result<std::unique_ptr<TrialScheduler>>;

Made MakeFifoScheduler(const Value& options, Mode, uint64_t) {
  if (!options.is_null() && !options.AsMap().empty()) {
    const MapEntry& entry = options.AsMap().front();
    return InvalidAt(entry.key_place, "scheduler: '" + entry.key + "': fifo has no options");
  }
  return std::unique_ptr<TrialScheduler>(std::make_unique<FifoScheduler>());
}

std::optional<int64_t> CombinedMaxT(const Value& parts);
bool CombinedPauses(const Value& parts);

struct Kind {
  std::string_view name;
  Made (*make)(const Value& options, Mode mode, uint64_t seed);  // Null of `combine`.
  std::optional<int64_t> (*max_t)(const Value& options);
  bool (*pauses)(const Value& options);
  bool has_rungs = true;  // Else it checks each trial at its own reports.
};

std::optional<int64_t> None(const Value&) { return std::nullopt; }
bool Never(const Value&) { return false; }
bool Always(const Value&) { return true; }

constexpr char kPbt[] = "pbt";
constexpr char kCombine[] = "combine";

constexpr std::array<Kind, 11> kKinds = {{
    {"fifo", MakeFifoScheduler, None, Never},
    {"asha", MakeAshaScheduler, AshaMaxT, AshaPauses},
    {"hyperband", MakeHyperbandScheduler, HyperbandMaxT, HyperbandPauses},
    {"pasha", MakePashaScheduler, PashaMaxT, Always},
    {kPbt, MakePbtScheduler, None, Always},
    {"median_stopping", MakeMedianStoppingScheduler, None, MedianStoppingPauses, false},
    {"percentile", MakePercentileScheduler, None, Never, false},
    {"patience", MakePatienceScheduler, None, Never, false},
    {"threshold", MakeThresholdScheduler, None, Never, false},
    {"wilcoxon", MakeWilcoxonScheduler, None, Never, false},
    {kCombine, nullptr, CombinedMaxT, CombinedPauses},
}};

// A scheduler as the spec names it; `options` is null where there are none, and a list for
// `combine`.
struct Named {
  const Kind* kind;
  Value options;
};

Result<const Kind*> FindKind(const std::string& name, const Place& place) {
  std::array<std::string_view, kKinds.size()> names;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].name == name) return &kKinds[i];
    names[i] = kKinds[i].name;
  }
  if (name == "bohb") {
    return InvalidAt(place,
                     "scheduler: 'bohb' is not a scheduler: BOHB is the search algorithm bohb with "
                     "the scheduler hyperband, or asha");
  }
  return InvalidAt(place, "scheduler: '" + name + "' is not a scheduler" + DidYouMean(name, names));
}

Status CheckShape(const MapEntry& entry) {
  if (entry.key == kCombine) {
    if (entry.value.is_list()) return OkStatus();
    return InvalidAt(entry.value.place,
                     "scheduler: combine: read " + Shown(entry.value) +
                         ", expected a list of schedulers, as in {combine: [{asha: {max_t: 100}}, "
                         "{patience: {patience: 5}}]}");
  }
  if (entry.value.is_map() || entry.value.is_null()) return OkStatus();
  return InvalidAt(entry.value.place, "scheduler: read " + Shown(entry.value) + " for " +
                                          entry.key + ", expected a map of its options");
}

Result<Named> ReadName(const Value& scheduler) {
  Value none;
  none.place = scheduler.place;
  if (scheduler.is_null()) return Named{&kKinds[0], none};
  if (scheduler.is_string() && scheduler.AsString() != kCombine) {
    TUNE_ASSIGN_OR_RETURN(const Kind* const kind, FindKind(scheduler.AsString(), scheduler.place));
    return Named{kind, none};
  }
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
  TUNE_ASSIGN_OR_RETURN(const Kind* const kind, FindKind(entry.key, entry.key_place));
  TUNE_RETURN_IF_ERROR(CheckShape(entry));
  return Named{kind, entry.value};
}

Made MakeCombinedScheduler(const Value& list, Mode mode, uint64_t seed, CombineRules rules) {
  if (list.AsList().empty()) {
    return InvalidAt(list.place, "scheduler: combine: read an empty list, expected schedulers");
  }
  std::vector<std::unique_ptr<TrialScheduler>> parts;
  std::string pausing;
  std::optional<CombinedScheduler::Pausing> asked_last;
  for (const Value& part : list.AsList()) {
    TUNE_ASSIGN_OR_RETURN(const Named named, ReadName(part));
    if (named.kind->name == kCombine) {
      return InvalidAt(part.place, "scheduler: combine: a combine within a combine");
    }
    TUNE_ASSIGN_OR_RETURN(auto made, named.kind->make(named.options, mode, seed));
    if (named.kind->pauses(named.options)) {
      if (!pausing.empty()) {
        return InvalidAt(part.place, "scheduler: combine: both " + pausing + " and " +
                                         std::string(named.kind->name) +
                                         " pause trials; at most one may");
      }
      pausing = named.kind->name;
      if (rules == CombineRules::kPausesLast) {
        asked_last = {parts.size(), named.kind->max_t(named.options)};
      }
    }
    parts.push_back(std::move(made));
  }
  return std::unique_ptr<TrialScheduler>(
      std::make_unique<CombinedScheduler>(std::move(parts), asked_last));
}

std::optional<int64_t> CombinedMaxT(const Value& parts) {
  std::optional<int64_t> least;
  for (const Value& part : parts.AsList()) {
    const std::optional<int64_t> max_t = SchedulerMaxT(part);
    if (max_t) least = std::min(*max_t, least.value_or(*max_t));
  }
  return least;
}

bool CombinedPauses(const Value& parts) {
  return std::any_of(parts.AsList().begin(), parts.AsList().end(), SchedulerPauses);
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
                                                      uint64_t seed, CombineRules combine_rules) {
  TUNE_ASSIGN_OR_RETURN(const Named named, ReadName(scheduler));
  if (named.kind->name == kCombine) {
    return MakeCombinedScheduler(named.options, mode, seed, combine_rules);
  }
  return named.kind->make(named.options, mode, seed);
}

std::optional<int64_t> SchedulerMaxT(const Value& scheduler) {
  const Result<Named> named = ReadName(scheduler);
  TUNE_CHECK(named.ok());
  return named->kind->max_t(named->options);
}

bool SchedulerPauses(const Value& scheduler) {
  const Result<Named> named = ReadName(scheduler);
  TUNE_CHECK(named.ok());
  return named->kind->pauses(named->options);
}

std::optional<ExploreOptions> SchedulerExplore(const Value& scheduler) {
  const Result<Named> named = ReadName(scheduler);
  TUNE_CHECK(named.ok());
  if (named->kind->name == kPbt) return PbtExplore(named->options);
  if (named->kind->name != kCombine) return std::nullopt;
  for (const Value& part : named->options.AsList()) {
    if (auto explore = SchedulerExplore(part)) return explore;
  }
  return std::nullopt;
}

bool HasRungs(std::string_view scheduler) {
  return std::none_of(kKinds.begin(), kKinds.end(),
                      [&](const Kind& kind) { return kind.name == scheduler && !kind.has_rungs; });
}

std::vector<std::string_view> SchedulerNames() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

}  // namespace tune
