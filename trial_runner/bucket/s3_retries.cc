#include "trial_runner/bucket/s3_retries.h"

#include <algorithm>

#include "core/limits.h"

namespace tune {

std::optional<Duration> RetryPause(S3Failure failure, int failed_tries, KeyedRandom& random) {
  const bool may_pass = failure == S3Failure::kBroken || failure == S3Failure::kServer ||
                        failure == S3Failure::kThrottled;
  if (failure == S3Failure::kCredential && failed_tries == 1) return Duration{};
  if (!may_pass || failed_tries >= limits::kS3TriesMax) return std::nullopt;
  const int64_t first_ms = limits::kS3PauseMs * (failure == S3Failure::kThrottled ? 10 : 1);
  const int64_t most_ms =
      std::min(limits::kS3PauseMsMax, first_ms << std::min(failed_tries - 1, 20));
  return Duration{
      static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(Milliseconds(most_ms).us) + 1))};
}

bool RetryBudget::Take() {
  const std::lock_guard lock(mutex_);
  if (left_ < kOfTry) return false;
  left_ -= kOfTry;
  return true;
}

void RetryBudget::GiveBack() {
  const std::lock_guard lock(mutex_);
  left_ = std::min(left_ + 1, kFull);
}

}  // namespace tune
