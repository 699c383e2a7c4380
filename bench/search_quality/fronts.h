// The functions of several objectives that searchers are compared on: what counts is the
// hypervolume below a reference point. Lower is better in each objective.
//
// ZDT 1 to 3: Zitzler, Deb, Thiele, "Comparison of Multiobjective Evolutionary Algorithms:
// Empirical Results", Evolutionary Computation 8(2), 2000. DTLZ 2: Deb, Thiele, Laumanns, Zitzler,
// "Scalable Multi-Objective Optimization Test Problems", CEC 2002. Branin and Currin: Belakaria,
// Deshwal, Doppa, "Max-value Entropy Search for Multi-Objective Bayesian Optimization", NeurIPS
// 2019. Kursawe: "A Variant of Evolution Strategies for Vector Optimization", PPSN 1990. The others
// are ours and stand for tuning: the error of a network beside what it costs.
//
// Thread rule: immutable.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/configuration.h"

namespace tune {

struct FrontFunction {
  std::string_view name;
  std::string_view space;  // JSON, as a spec's `space`.
  std::vector<double> reference;
  std::vector<double> (*values)(const Configuration&);
};

std::span<const FrontFunction> FrontFunctions();
// Null for a name that is not there.
const FrontFunction* FindFrontFunction(std::string_view name);

}  // namespace tune
