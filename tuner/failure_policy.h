// What an attempt's bad end leads to: another attempt, when, and where, or the trial's end. Pure.
//
// Failures are counted against `max_failures` of the trial; a cause with a limit of its own is
// counted apart. Waits grow exponentially with the failures of the trial and are drawn evenly
// between nothing and the whole wait (full jitter; Brooker, "Exponential Backoff And Jitter",
// 2015), by a keyed draw, so that a replay waits as long.
//
// - crashed, killed, hung: tried again.
// - out_of_memory: tried again once at most unless the policy says otherwise; a second time is
//   hopeless.
// - device_out_of_memory: tried again on a whole device, free of charge; there, or where no device
//   was asked for, the configuration is infeasible.
// - lost, preempted: not the trial's doing; free of charge, unless a limit is set for `lost`.
// - bad_config: never tried again.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/ids.h"
#include "core/time.h"
#include "trial_runner/messages.h"

namespace tune {

struct CausePolicy {
  std::optional<int64_t> max_failures;  // -1: no limit. Nothing: counted with the others.
  std::optional<Duration> backoff;
};

struct FailurePolicy {
  int64_t max_failures = 0;       // Per trial; -1: no limit.
  Duration backoff = Seconds(1);  // Before the first retry, at most; doubles each time.
  Duration backoff_max = Seconds(300);
  std::map<Outcome, CausePolicy> causes;  // Those that the space file names.
};

// Failures of one trial so far, by cause.
using FailureCounts = std::map<Outcome, int64_t>;

// Whether it counts as a failure at all.
bool IsFailure(Outcome outcome, const FailurePolicy& policy);

struct FailureAnswer {
  bool gives_up = false;
  bool on_whole_device = false;  // The next attempt, and those after it.
  Duration wait;                 // Before the next attempt.
  std::string why;               // Of giving up, for a person; may be empty.
};

struct FailedAttempt {
  Outcome cause = Outcome::kCrashed;
  TrialNumber trial;
  bool has_share = false;  // It ran on less than a whole device.
};

// `counts` has the failure already.
FailureAnswer AnswerFailure(const FailurePolicy& policy, const FailedAttempt& failed,
                            const FailureCounts& counts, uint64_t seed);

}  // namespace tune
