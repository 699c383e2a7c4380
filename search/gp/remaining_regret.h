// By how much the best configuration of a space is expected to be better than the best that was
// tried: functions are drawn that agree with what was seen, and each one's value at the trial that
// is best by the model is compared with its minimum (expected simple regret, as in Makarova, Shen,
// Perrone, Klein, Faddoul, Krause, Seeger, Archambeau, "Automatic Termination for Hyperparameter
// Optimization", AutoML 2022, and Ishibashi, Karasuyama, Takeuchi, Hino, "A Stopping Criterion for
// Bayesian Optimization by the Gap of Expected Minimum Simple Regrets", AISTATS 2023, which bound
// it; here it is drawn, over a set of points).
//
// The minimum is over the points given: of a space of many dimensions they leave gaps, so that the
// answer is then on the low side.
//
// Thread rule: a pure function.
#pragma once

#include "core/random.h"
#include "search/gp/gp_model.h"

namespace tune {

// In units of the loss. `incumbent`: the best trial's point.
double RemainingRegret(const GpModel& model, const Surrogate& surrogate,
                       const Eigen::VectorXd& incumbent, const Points& points, KeyedRandom random);

}  // namespace tune
