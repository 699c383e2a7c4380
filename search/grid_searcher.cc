#include "search/grid_searcher.h"

#include <array>
#include <string_view>
#include <utility>

#include "search/search_options.h"

namespace tune {

GridSearcher::GridSearcher(SearchSpace space, Grid grid)
    : space_(std::move(space)), grid_(std::move(grid)) {}

std::optional<Configuration> GridSearcher::Suggest(TrialNumber number) {
  if (number.value >= grid_.size()) return std::nullopt;
  return grid_.ConfigurationAt(number.value, space_);
}

std::string GridSearcher::DebugString() const {
  return "grid of " + std::to_string(grid_.size()) + " combinations";
}

Result<std::unique_ptr<Searcher>> MakeGridSearcher(const Value& options,
                                                   const SearchProblem& problem) {
  constexpr std::array<std::string_view, 1> kOptions = {"algorithm"};
  TUNE_RETURN_IF_ERROR(SearchOptions("grid", options).CheckNames(kOptions));
  TUNE_ASSIGN_OR_RETURN(Grid grid, Grid::OfAll(problem.space));
  return std::unique_ptr<Searcher>(std::make_unique<GridSearcher>(problem.space, std::move(grid)));
}

}  // namespace tune
