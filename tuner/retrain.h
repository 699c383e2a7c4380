// The best configurations of a sweep once more, as a sweep of its own: at full length, several runs
// of each.
//
// Runs of one configuration differ by what they draw: food11 (weights, shuffling, augmentation) and
// the noise of a curve by their trials' numbers, a program by its seed (search/trial_seed.h). A
// `seed` among the space's own parameters is kept as it is: then runs are alike, and the tuner says
// so.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "search/space.h"

namespace tune {

struct RetrainPlan {
  std::string name;  // Of the new sweep.
  uint64_t seed = 0;
  std::vector<Configuration> configurations;  // The best first.
  int64_t runs = 1;                           // Of each configuration.
};

// The space file of the new sweep: `document` of the earlier one with the configurations as its
// points, each repeated in consecutive trials. The scheduler is fifo; where there was
// one with a max_t, trials stop at that iteration. Limits of the sweep as a whole are left out.
Value RetrainDocument(const Value& document, const SearchSpace& space, std::optional<int64_t> max_t,
                      const RetrainPlan& plan);

// The space with a choice in each grid_search's place, for a sweep whose trials are counted.
Value WithoutGrids(Value space);

// Not the earlier sweep's, so that no trial draws what another drew there.
uint64_t RetrainSeed(uint64_t seed);

}  // namespace tune
