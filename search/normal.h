// The standard normal distribution.
//
// Thread rule: pure functions.
#pragma once

namespace tune {

double NormalDensity(double x);
// P(X <= x); keeps its relative precision far below zero.
double NormalCdf(double x);
// log P(X <= x), finite wherever x is.
double LogNormalCdf(double x);
// The x with P(X <= x) = p: Wichura, "Algorithm AS 241: The Percentage Points of the Normal
// Distribution", Applied Statistics 37(3), 1988, PPND16 (about 1 part in 10^16). -inf at 0, +inf
// at 1.
double NormalQuantile(double p);

}  // namespace tune
