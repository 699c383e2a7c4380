// Whether the losses of a sweep depend on its parameters: a permutation test for each parameter,
// and Holm's correction for asking about several ("A Simple Sequentially Rejective Multiple Test
// Procedure", Scandinavian Journal of Statistics 6(2), 1979).
//
// What is tested is the sum of two shares of the losses' ranks: what a parabola over the ranks of
// the parameter's values explains (of a choice its values' means), which sees a line and a bowl
// among a dozen trials; and how much closer than chance the losses of neighbouring values are,
// which sees any other shape among more (Chatterjee, "A New Coefficient of Correlation", Journal of
// the American Statistical Association 116, 2021).
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tune {

// The values of one parameter, one for each trial; nothing where a trial does not have it.
struct ParameterValues {
  std::vector<std::optional<double>> values;
  bool is_ordered = false;
};

// Of each value how many are below it; equal ones share the middle of their places.
std::vector<double> RanksOf(std::span<const double> values);

// How often losses that are dealt to the trials anew, `deals` times, depend on the values as much
// as these do: (k + 1) / (deals + 1). It is exact up to 0.05; above, dealing ends sooner. The draws
// have fixed keys. At least two trials.
double DependencePValue(const ParameterValues& parameter, std::span<const double> losses,
                        uint64_t deals);

// Of each p-value whether it is clear: where there is no dependence at all, the chance that any of
// them is called clear is at most 0.05.
std::vector<bool> ClearByHolm(const std::vector<double>& p_values);

// So many that the smallest p-value can be clear among `parameters`.
uint64_t DealsFor(size_t parameters);

}  // namespace tune
