// Failures that are one: sixteen trials that fail with the same error have one cause, which is
// told once, and a sweep in which nothing but that happens ends early.
//
// Thread rule: values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trial_runner/messages.h"

namespace tune {

// An error without its numbers, and without what was printed before it: "lr 0.01 is too large" and
// "lr 0.3 is too large" are of one kind.
std::string ErrorKind(std::string_view error);

// Watches whether a sweep does anything but fail in one way before its first report of the metric.
class AlikeFailures {
 public:
  // A trial failed that never reported the metric. True: so did every one before it, in the same
  // way, and often enough to end the sweep: three times where the configuration or the program was
  // refused, eight times where another attempt might have gone well. `max`, limits.failed_alike,
  // says how often instead; 0: it is never enough.
  bool Add(Outcome outcome, std::string_view error, std::optional<int64_t> max = {});
  // A trial reported the metric: nothing is ended any more.
  void OnSuccess() { has_success_ = true; }

  bool has_success() const { return has_success_; }

  int64_t count() const { return count_; }

 private:
  bool has_success_ = false;
  std::string kind_;
  int64_t count_ = 0;
};

}  // namespace tune
