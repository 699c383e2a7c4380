// The functions that searchers are compared on: cheap, with a known minimum, and between them
// every kind of domain. Lower is better. bench/search_quality runs searchers on them, tests use
// them for worked cases.
//
// The classic ones (Branin, Hartmann 6, Levy, Ackley, Rastrigin, Rosenbrock, Styblinski-Tang) are
// as in Surjanovic and Bingham, "Virtual Library of Simulation Experiments", with their usual
// domains; where a domain is symmetric about the minimum it is shifted, so that the middle of the
// range tells nothing. The others are ours and stand for tuning: learning rates, sizes, choices,
// conditions.
//
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/configuration.h"

namespace tune {

struct TestFunction {
  std::string_view name;
  std::string_view space;                 // JSON, as a spec's `space`.
  double minimum = 0;                     // Of `value`.
  double noise = 0;                       // Deviation of what an observation adds to `value`.
  double (*value)(const Configuration&);  // Without noise.
};

std::span<const TestFunction> TestFunctions();
// Null for a name that is not there.
const TestFunction* FindTestFunction(std::string_view name);

// What a trial reports: the value and a normal draw keyed by (seed, trial).
double Observe(const TestFunction& function, const Configuration& configuration, uint64_t seed,
               int64_t trial);

}  // namespace tune
