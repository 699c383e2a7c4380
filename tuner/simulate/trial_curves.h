// What the trials of a virtual sweep would do: the seam between the sweep and where its curves come
// from, a formula (formula_curves.h) or a record (recorded_trials.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/configuration.h"
#include "core/metric.h"
#include "trial_runner/messages.h"

namespace tune {

// One iteration: it takes its time, then the trial reports, or goes wrong in place of reporting.
struct TrialStep {
  int64_t iteration = 0;
  double seconds = 0;
  Metrics metrics;
  bool final = false;  // The last one.
  std::optional<Outcome> ends_as = {};
  std::string error = {};  // Of such an end.
  bool hangs = false;      // Nothing more is heard of it.
};

// The iterations of one attempt, rising.
class AttemptCurve {
 public:
  virtual ~AttemptCurve() = default;

  // Nothing when there are no more. Not asked again after a final step, an end or a hang.
  virtual std::optional<TrialStep> Next() = 0;
};

class TrialCurves {
 public:
  virtual ~TrialCurves() = default;

  // What an attempt does that goes on after `from_iteration` (0: from the start).
  virtual std::unique_ptr<AttemptCurve> Begin(const AttemptRef& attempt,
                                              const Configuration& configuration,
                                              int64_t from_iteration) = 0;
  // Of the longest trial.
  virtual int64_t iterations_max() const = 0;
};

}  // namespace tune
