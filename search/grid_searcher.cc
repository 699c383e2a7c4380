#include "search/grid_searcher.h"

#include <utility>

namespace tune {

GridSearcher::GridSearcher(SearchSpace space, Grid grid)
    : space_(std::move(space)), grid_(std::move(grid)) {}

std::optional<Configuration> GridSearcher::Suggest(TrialNumber number) {
  if (number.value >= grid_.size()) return std::nullopt;
  Configuration configuration;
  const auto& parameters = space_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (const auto* const constant = std::get_if<Value>(&parameters[i].content)) {
      configuration.Set(parameters[i].name, *constant);
    } else {
      configuration.Set(parameters[i].name, *grid_.At(number.value, space_, i));
    }
  }
  return configuration;
}

std::string GridSearcher::DebugString() const {
  return "grid of " + std::to_string(grid_.size()) + " combinations";
}

}  // namespace tune
