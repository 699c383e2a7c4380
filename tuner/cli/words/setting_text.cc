#include "tuner/cli/words/setting_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/nearest_name.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

namespace {

// Workers learn the others when they join.
Result<std::string> OfCheckpoints(const std::string& text) {
  static constexpr std::string_view kNames[] = {"every", "keep", "keep_best", "disk_budget"};
  const size_t dot = text.find('.') + 1;
  const std::string name = text.substr(dot, text.find('=') - dot);
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return text;
  return InvalidArgument("tune set: read '" + Printable(text) +
                         "', expected every, keep, keep_best or disk_budget of checkpoint" +
                         DidYouMean(name, kNames) +
                         "; what workers are told of it can change between two runs of the tuner "
                         "alone: stop it with Ctrl-C, then tune resume --set " +
                         Printable(text));
}

}  // namespace

// What a worker was told when it joined does not change while the sweep goes on.
Result<std::string> FullSetting(const std::string& text) {
  struct Section {
    std::string_view name;
    std::string_view settings;
  };
  static constexpr Section kSections[] = {
      {"limits",
       "max_concurrent, sweep_time, trial_time, no_progress, failed_trials, failed_alike and "
       "unplaceable"},
      {"failure", "max_failures, backoff, backoff_max and causes such as out_of_memory"},
      {"checkpoint", "every, keep, keep_best and disk_budget"},
      {"reserve", "cpu and gpu"},
      {"stop", "the names of what is reported, such as training_iteration"}};
  const std::string place = "tune set: read '" + Printable(text) + "', expected ";
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument(place + "NAME=VALUE, such as max_concurrent=4 or limits.trial_time=20m");
  }
  const std::string key = text.substr(0, text.find_first_of(".="));
  for (const Section& section : kSections) {
    if (key != section.name) continue;
    if (equals > key.size()) return key == "checkpoint" ? OfCheckpoints(text) : text;
    return InvalidArgument(place + "one setting of " + key + ", as " + key +
                           ".NAME=VALUE; the names are " + std::string(section.settings));
  }
  static constexpr std::string_view kShares[] = {"priority", "weight", "owner"};  // On a head.
  for (const std::string_view share : kShares) {
    if (text.substr(0, equals) == share) return text;
  }
  static constexpr std::string_view kNeedsResume[] = {"trainable", "resources"};
  for (const std::string_view section : kNeedsResume) {
    if (key != section) continue;
    return InvalidArgument("tune set: " + key +
                           " can change between two runs of the tuner: stop "
                           "it with Ctrl-C, then tune resume --set " +
                           text);
  }
  static constexpr std::string_view kLimits[] = {"max_concurrent", "sweep_time",    "trial_time",
                                                 "no_progress",    "failed_trials", "failed_alike",
                                                 "unplaceable"};
  for (const std::string_view limit : kLimits) {
    if (text.substr(0, equals) == limit) return "limits." + text;
  }
  return InvalidArgument(
      place +
      "a setting of limits, failure, checkpoint, stop or reserve, priority, weight or owner" +
      DidYouMean(text.substr(0, equals), kLimits) +
      "; what decides (space, search, scheduler, metric) cannot change");
}

}  // namespace tune
