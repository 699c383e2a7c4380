// Every combination of the space's domains once: trial n has combination n, the last parameter
// changing fastest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "search/grid.h"
#include "search/searcher.h"

namespace tune {

class GridSearcher final : public Searcher {
 public:
  // `grid` is over all of the space's domains.
  GridSearcher(SearchSpace space, Grid grid);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  SearchSpace space_;
  Grid grid_;
};

Result<std::unique_ptr<Searcher>> MakeGridSearcher(const Value& options,
                                                   const SearchProblem& problem);

}  // namespace tune
