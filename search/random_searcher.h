// Independent draws for each trial (random_draws.h).
//
// grid_search domains make a grid of all their combinations; trial n has combination n modulo their
// number, the last one in the space changing fastest, and the other parameters redrawn. A
// combination with which no draw of the trial is allowed gives way to the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/grid.h"
#include "search/random_draws.h"
#include "search/searcher.h"

namespace tune {

class RandomSearcher final : public Searcher {
 public:
  // `grid` is over the space's grid_search domains, and not empty.
  RandomSearcher(SearchSpace space, Grid grid, uint64_t seed, SearchRules rules);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  GivenValues GivenAt(int64_t point) const;

  RandomDraws draws_;
  Grid grid_;
  SearchRules rules_;
  std::vector<bool> is_hopeless_;  // Combinations of the grid that no draw can fit.
};

// {algorithm: random}; null for the defaults.
Result<std::unique_ptr<Searcher>> MakeRandomSearcher(const Value& options,
                                                     const SearchProblem& problem);

// The same draws without repeats (unique_searcher.h), for searchers that learn to fall back on.
Result<std::unique_ptr<Searcher>> MakeUniqueRandomSearcher(const SearchProblem& problem);

}  // namespace tune
