// A configuration near another one: what a trial that exploits another goes on with (the explore
// step of population based training; Jaderberg et al., arXiv 1711.09846).
//
// Each parameter is with resample_probability drawn anew from its domain. Otherwise a number is
// multiplied by one of the factors, drawn evenly, and stays within its domain: beyond an end it is
// the end's value, on a grid the nearest point to the product but at least one step away from where
// it was; 0 stays 0. An ordinal moves to a neighbour, at an end to the only one. A choice keeps its
// value, as nothing is near it. What Ray's explore does otherwise: it leaves the bounds, and cuts
// integers, so that 2 * 1.2 is 2 again.
//
// Conditions and constraints of the space hold: a parameter that comes to exist is drawn, and where
// a hundred drawn configurations violate the constraints it is the base itself.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/random.h"
#include "core/status.h"
#include "core/value.h"
#include "search/space.h"

namespace tune {

struct PerturbOptions {
  double resample_probability = 0.25;
  std::vector<double> factors = {1.2, 0.8};  // At least one; finite, above 0.
  std::vector<std::string> parameters;       // Flat names; none: all that have a domain.
};

Configuration Perturb(const SearchSpace& space, const Configuration& base,
                      const PerturbOptions& options, KeyedRandom& random);

// Whether each is the flat name of a parameter with a domain. `names`: strings; the error carries
// the place of the first that is not.
Status CheckPerturbed(const SearchSpace& space, std::span<const Value> names);

}  // namespace tune
