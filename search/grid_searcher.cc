#include "search/grid_searcher.h"

#include <utility>

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

}  // namespace tune
