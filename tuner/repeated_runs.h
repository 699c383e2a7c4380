// Whether the runs of one configuration (`repeat: k`) differ at all: a program that does not use
// its seed runs the same draw k times, and the deviation of 0 that comes out of it means nothing.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"

namespace tune {

class RepeatedRuns {
 public:
  // Trials k * repeat ... k * repeat + repeat - 1 are the runs of configuration k. With 1 there is
  // nothing to compare.
  explicit RepeatedRuns(int64_t repeat) : repeat_(repeat) {}

  // The value of a trial's next iteration.
  void OnReport(TrialNumber trial, int64_t iteration, Metric value);

  // A trial is over. The line for a person, once, where the last run of a configuration has ended
  // and all that did not fail reported the same values, as far as each of them came.
  std::optional<std::string> OnTrialEnded(TrialNumber trial, bool has_failed);

 private:
  using Curve = std::vector<std::pair<int64_t, double>>;  // Iterations and values.
  struct Configuration {
    std::map<TrialNumber, Curve> runs;  // Of those that have not failed.
    int64_t ended_count = 0;
  };

  static bool AreAlike(const Configuration& configuration);

  int64_t repeat_;
  bool is_said_ = false;
  std::map<int64_t, Configuration> configurations_;  // Those with runs that have not ended.
};

}  // namespace tune
