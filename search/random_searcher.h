// Independent draws for each trial. Parameter p of trial n is drawn with the key (seed, "search",
// n, hash of p's name): adding, removing or reordering parameters leaves the draws of the others as
// they were.
//
// grid_search domains make a grid of all their combinations; trial n has combination n modulo their
// number, the last one in the space changing fastest, and the other parameters redrawn.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "search/grid.h"
#include "search/searcher.h"

namespace tune {

class RandomSearcher final : public Searcher {
 public:
  // `grid` is over the space's grid_search domains.
  RandomSearcher(SearchSpace space, Grid grid, uint64_t seed);
  // `unique`: no configuration twice. A trial whose draw was had before is drawn again; what trial
  // n gets then depends on the trials before it. The space is exhausted when every combination was
  // had (a continuous one never is).
  static std::unique_ptr<RandomSearcher> MakeUnique(SearchSpace space, Grid grid, uint64_t seed);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  Configuration Draw(TrialNumber number, uint64_t attempt) const;
  // Whether it was not there before.
  bool Remember(const Configuration& configuration);

  SearchSpace space_;
  Grid grid_;
  uint64_t seed_;

  // Of a unique search alone.
  bool is_unique_ = false;
  std::set<std::string> seen_;        // Flat JSON.
  std::optional<Grid> combinations_;  // All of them, where they can be counted.
  int64_t next_combination_ = 0;      // Those before it are all seen.
};

// {algorithm: random, unique: true}; null for the defaults.
Result<std::unique_ptr<Searcher>> MakeRandomSearcher(const Value& options,
                                                     const SearchProblem& problem);

}  // namespace tune
