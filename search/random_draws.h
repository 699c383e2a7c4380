// What chance gives a trial. Parameter p of trial n is drawn with the key (seed, "search", n, hash
// of p's name + attempt): adding, removing or reordering parameters leaves the draws of the others
// as they were, and what a trial gets does not depend on which were asked for before.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "search/space.h"

namespace tune {

class RandomDraws {
 public:
  RandomDraws(SearchSpace space, uint64_t seed);

  const SearchSpace& space() const { return space_; }

  // Whether the constraints allow it or not. `given`: by parameter, not drawn.
  Configuration At(TrialNumber number, uint64_t attempt, const GivenValues& given = {}) const;

  // The first attempt that the constraints allow. Where hardly anything is allowed and what the
  // constraints look at can be enumerated, one of the allowed combinations of that instead, by its
  // mass. Nothing when kAttemptsMax attempts find none; `is_none_allowed` is set where there is
  // none to be found, for no trial.
  std::optional<Configuration> Allowed(TrialNumber number, const GivenValues& given = {},
                                       bool* is_none_allowed = nullptr);

 private:
  struct Combination {
    std::vector<std::optional<Value>> values;  // Of constrained_.
    double mass_before = 0;
  };
  struct Combinations {
    std::vector<Combination> all;
    double mass = 0;
  };

  // Nothing where they are too many.
  std::optional<Combinations> Enumerate(const GivenValues& given) const;
  std::optional<Configuration> Choose(const Combinations& combinations, TrialNumber number,
                                      const GivenValues& given, bool* is_none_allowed) const;

  SearchSpace space_;
  uint64_t seed_;
  std::vector<size_t> constrained_;
  // Where nothing is given, once attempts have failed.
  bool is_enumerated_ = false;
  std::optional<Combinations> combinations_;
};

}  // namespace tune
