#include <array>
#include <utility>

#include "core/check.h"
#include "trial_runner/messages.h"

namespace tune {
namespace {

constexpr std::array<std::pair<Outcome, const char*>, 11> kNames = {{
    {Outcome::kRunning, "running"},
    {Outcome::kCompleted, "completed"},
    {Outcome::kStopped, "stopped"},
    {Outcome::kCrashed, "crashed"},
    {Outcome::kKilled, "killed"},
    {Outcome::kOutOfMemory, "out_of_memory"},
    {Outcome::kDeviceOutOfMemory, "device_out_of_memory"},
    {Outcome::kHung, "hung"},
    {Outcome::kLost, "lost"},
    {Outcome::kPreempted, "preempted"},
    {Outcome::kBadConfig, "bad_config"},
}};

}  // namespace

const char* OutcomeName(Outcome outcome) {
  for (const auto& [value, name] : kNames) {
    if (value == outcome) return name;
  }
  TUNE_CHECK(false);
}

bool ParseOutcome(std::string_view name, Outcome& outcome) {
  for (const auto& [value, known] : kNames) {
    if (name != known) continue;
    outcome = value;
    return true;
  }
  return false;
}

}  // namespace tune
