// How good a result is that has to keep limits: the one order of results, for all who compare them.
//
//   feasible before infeasible; of the feasible the better value; of the infeasible the smaller
//   violation, and of equal violations the better value
//
// This is the constrained domination of Deb, Pratap, Agarwal, Meyarivan, "A Fast and Elitist
// Multiobjective Genetic Algorithm: NSGA-II", IEEE Trans. Evolutionary Computation 6(2), 2002,
// section VI-A, of one objective. A violation is the sum over the limits of what each is exceeded
// by, in parts of its bound:
//
//   violation = sum over limits i of max(0, margin_i),   margin of "l <= r" = (l - r) / |bound|
//
// The bound is the side that is a number (of two expressions the right one), and 1 where that is 0.
// So is it in Deb, "An Efficient Constraint Handling Method for Genetic Algorithms", Computer
// Methods in Applied Mechanics and Engineering 186, 2000, section 3. Expression::Margin says what
// the margin of any other expression is.
//
// Schedulers and searchers that go by ranks alone compare one number, a ranked value: of a feasible
// result its value, of an infeasible one a number beyond all values of metrics, on the bad side, in
// proportion to its violation. Means of them are in proportion to the mean violation. Finite values
// beyond kRankedValueMax count as that much.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "core/metric.h"

namespace tune {

// More than a result can violate: of one of which nobody can tell, because a metric that a limit
// names is NaN or was not reported.
inline constexpr double kViolationUnknown = 1e90;
// What breaks a limit by nothing, such as 5 < 5, violates it by this much. Smaller ones are raised.
inline constexpr double kViolationLeast = 1e-12;
// Beyond it a ranked value stands for a violation.
inline constexpr double kRankedValueMax = 1e180;
inline constexpr double kRankedPerViolation = 1e200;

// One margin for each limit; nothing: nobody can tell.
inline double ViolationOf(std::span<const Metric> margins) {
  double violation = 0;
  for (const Metric& margin : margins) {
    if (!margin) return kViolationUnknown;
    violation += std::max(0.0, *margin);
  }
  return std::min(violation, kViolationUnknown);
}

// `violation` is nothing in a sweep without limits.
inline bool IsFeasible(Metric violation) { return violation.value_or(0) == 0; }

// Whether `a` is strictly better.
inline bool IsBetterStanding(double a, Metric a_violation, double b, Metric b_violation,
                             Mode mode) {
  const double by = a_violation.value_or(0) - b_violation.value_or(0);
  return by != 0 ? by < 0 : IsBetter(a, b, mode);
}

// Of a loss within kRankedValueMax.
inline double RankedLoss(double loss, double violation) {
  return violation == 0 ? loss : kRankedPerViolation * violation;
}
inline double RankedValue(double value, Metric violation, Mode mode) {
  if (std::isfinite(value)) value = std::clamp(value, -kRankedValueMax, kRankedValueMax);
  return AsLoss(RankedLoss(AsLoss(value, mode), violation.value_or(0)), mode);
}
// The violation that a ranked value stands for; 0: it is a value.
inline double ViolationOfRanked(double ranked) {
  return std::fabs(ranked) > kRankedValueMax ? std::fabs(ranked) / kRankedPerViolation : 0;
}

}  // namespace tune
