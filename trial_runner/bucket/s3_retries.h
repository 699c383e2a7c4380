// When a request to an object store that failed is tried again: pauses by the kind of failure, with
// full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog 2015), and a budget that all
// requests share, so that a store in trouble is not asked six times for each thing (AWS SDKs' retry
// quota). Time and randomness are arguments.
//
// Thread rule: RetryPause is pure; RetryBudget any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/random.h"
#include "core/time.h"
#include "trial_runner/bucket/s3_answers.h"

namespace tune {

// Before the next try, `failed_tries` (from 1) having failed, the last one so; nothing: it is given
// up. Drawn between nothing and twice as much with each try; throttled, from ten times as much.
std::optional<Duration> RetryPause(S3Failure failure, int failed_tries, KeyedRandom& random);

class RetryBudget {
 public:
  // Whether there is something left for another try.
  bool Take();
  // A request went well.
  void GiveBack();

 private:
  static constexpr int kFull = 100;
  static constexpr int kOfTry = 5;
  std::mutex mutex_;
  int left_ = kFull;
};

}  // namespace tune
