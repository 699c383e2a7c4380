#include "tuner/failure_policy.h"

#include <algorithm>

#include "core/random.h"

namespace tune {
namespace {

constexpr int64_t kHostMemoryFailuresMax = 1;

const CausePolicy* Find(const FailurePolicy& policy, Outcome cause) {
  const auto found = policy.causes.find(cause);
  return found == policy.causes.end() ? nullptr : &found->second;
}

bool IsCountedApart(const FailurePolicy& policy, Outcome cause) {
  const CausePolicy* const own = Find(policy, cause);
  return own != nullptr && own->max_failures.has_value();
}

bool IsTooMany(int64_t count, int64_t max) { return max >= 0 && count > max; }

int64_t CountOf(const FailureCounts& counts, Outcome cause) {
  const auto found = counts.find(cause);
  return found == counts.end() ? 0 : found->second;
}

// Of all failures that share the trial's allowance.
int64_t SharedCount(const FailurePolicy& policy, const FailureCounts& counts) {
  int64_t sum = 0;
  for (const auto& [cause, count] : counts) sum += IsCountedApart(policy, cause) ? 0 : count;
  return sum;
}

Duration Wait(const FailurePolicy& policy, const FailedAttempt& failed, const FailureCounts& counts,
              uint64_t seed) {
  int64_t total = 0;
  for (const auto& [cause, count] : counts) total += count;
  const CausePolicy* const own = Find(policy, failed.cause);
  int64_t whole_us = (own != nullptr && own->backoff ? *own->backoff : policy.backoff).us;
  for (int64_t i = 1; i < total && whole_us < policy.backoff_max.us; ++i) whole_us *= 2;
  whole_us = std::min(whole_us, std::max(policy.backoff_max.us, int64_t{0}));
  if (whole_us <= 0) return Duration{};
  KeyedRandom random(seed, "backoff", static_cast<uint64_t>(failed.trial.value),
                     static_cast<uint64_t>(total));
  return Duration{static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(whole_us) + 1))};
}

}  // namespace

bool IsFailure(Outcome outcome, const FailurePolicy& policy) {
  switch (outcome) {
    case Outcome::kCrashed:
    case Outcome::kKilled:
    case Outcome::kOutOfMemory:
    case Outcome::kDeviceOutOfMemory:
    case Outcome::kHung:
    case Outcome::kBadConfig:
      return true;
    case Outcome::kLost:
      return IsCountedApart(policy, outcome);
    case Outcome::kRunning:
    case Outcome::kCompleted:
    case Outcome::kStopped:
    case Outcome::kPreempted:
      return false;
  }
  return false;
}

FailureAnswer AnswerFailure(const FailurePolicy& policy, const FailedAttempt& failed,
                            const FailureCounts& counts, uint64_t seed) {
  FailureAnswer answer;
  const int64_t own_count = CountOf(counts, failed.cause);
  if (failed.cause == Outcome::kBadConfig) {
    answer.gives_up = true;
    return answer;
  }
  if (failed.cause == Outcome::kDeviceOutOfMemory && !IsCountedApart(policy, failed.cause)) {
    answer.gives_up = !failed.has_share;
    answer.on_whole_device = failed.has_share;
    if (answer.gives_up)
      answer.why =
          "infeasible: it ran out of device memory, and had no share of a device that could be "
          "larger";
    return answer;
  }
  if (IsCountedApart(policy, failed.cause)) {
    answer.gives_up = IsTooMany(own_count, *Find(policy, failed.cause)->max_failures);
  } else {
    answer.gives_up = IsTooMany(SharedCount(policy, counts), policy.max_failures);
    if (failed.cause == Outcome::kOutOfMemory && own_count > kHostMemoryFailuresMax) {
      answer.gives_up = true;
      answer.why = "out of memory again; another attempt would end the same way";
    }
  }
  answer.on_whole_device = failed.cause == Outcome::kDeviceOutOfMemory && failed.has_share;
  if (!answer.gives_up) answer.wait = Wait(policy, failed, counts, seed);
  return answer;
}

}  // namespace tune
