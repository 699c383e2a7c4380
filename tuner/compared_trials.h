// What a sweep's trials must have in common for their values to compare, and no single one of them
// shows: where they begin, the unit of what they print, and that their parameters have an effect.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/metric.h"
#include "trial_runner/first_reading.h"

namespace tune {

class ComparedTrials {
 public:
  // The first report of an attempt that was given no checkpoint. What is doubtful of it, lines for
  // a person; the words before a line's colon are its kind.
  std::vector<std::string> OnFirstReport(TrialNumber trial, int64_t iteration,
                                         const std::optional<FirstReading>& reading);

  // The value of a trial's next iteration.
  void OnReport(TrialNumber trial, int64_t iteration, Metric value);

  // A trial is over. The line for a person, once, where the first few trials have other
  // configurations and reported the same, as far as each of them came, or began with the same and
  // one of them was never as good again.
  std::optional<std::string> OnTrialEnded(TrialNumber trial, const Configuration& configuration,
                                          bool has_failed, Mode mode);

 private:
  static constexpr int64_t kWatched = 4;  // So many alike by chance are few.

  using Curve = std::vector<std::pair<int64_t, double>>;  // Iterations and values.
  struct Beginning {
    int64_t at = 0;
    bool is_epoch = false;
  };
  struct Unit {
    TrialNumber trial;
    std::string unit;
  };

  std::optional<std::string> CheckBeginning(const Beginning& beginning);
  std::optional<std::string> CheckUnit(const Unit& unit);

  std::optional<Beginning> first_beginning_;
  std::optional<Unit> first_unit_;
  std::map<TrialNumber, Curve> curves_;  // Of the first trials, until they are compared.
  std::map<TrialNumber, Configuration> ended_;
  bool is_compared_ = false;
};

}  // namespace tune
