// Independent draws for each trial. Parameter p of trial n is drawn with the key (seed, "search",
// n, hash of p's name): adding, removing or reordering parameters leaves the draws of the others as
// they were.
//
// grid_search domains make a grid of all their combinations; trial n has combination n modulo their
// number, the last one in the space changing fastest, and the other parameters redrawn.
#pragma once

#include <string>

#include "search/grid.h"
#include "search/searcher.h"

namespace tune {

class RandomSearcher final : public Searcher {
 public:
  // `grid` is over the space's grid_search domains.
  RandomSearcher(SearchSpace space, Grid grid, uint64_t seed);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Metric) override {}
  void OnTrialEnded(TrialNumber, Metric, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  SearchSpace space_;
  Grid grid_;
  uint64_t seed_;
};

}  // namespace tune
