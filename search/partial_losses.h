// What of the losses of trials is one parameter's, where the others are set apart: trials that a
// search has chosen move all parameters together towards where the losses are small, so that by
// itself each of them seems to matter.
//
// A trial's loss, as a rank, less what a forest (search/regression_forest.h) predicts for it that
// was grown on other trials. Under the hypothesis that the losses do not depend on the parameter
// given the others, what is left may be dealt to the trials anew (a permutation of residuals, as in
// Kennedy, "Randomization tests in econometrics", Journal of Business & Economic Statistics 13,
// 1995).
//
// Thread rule: immutable; pure functions with fixed draws.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/regression_forest.h"

namespace tune {

using TrialPoint = std::vector<double>;  // A number for each parameter.

// Of each trial the loss's rank less what its other parameters predict. Whatever they can tell in
// the parameter's place is taken for theirs. At least two trials.
std::vector<double> LeftByOthers(std::span<const TrialPoint> trials, std::span<const double> losses,
                                 size_t parameter);

// Of each trial the loss's rank less what is predicted for it with values of the parameter that
// other trials have: what a forest of all parameters takes for this one's stays. It tells more
// where others move with the parameter, and now and then too much. At least two trials.
class LeftOfOwn {
 public:
  LeftOfOwn(std::span<const TrialPoint> trials, std::span<const double> losses);
  // `members`: the trials that have it, rising.
  std::vector<double> Of(size_t parameter, std::span<const size_t> members) const;

 private:
  std::vector<TrialPoint> trials_;
  std::vector<double> ranks_;
  std::vector<RegressionForest> forests_;  // Of the folds.
};

}  // namespace tune
