#include "search/random_searcher.h"

#include <utility>

#include "core/random.h"

namespace tune {

RandomSearcher::RandomSearcher(SearchSpace space, Grid grid, uint64_t seed)
    : space_(std::move(space)), grid_(std::move(grid)), seed_(seed) {}

std::optional<Configuration> RandomSearcher::Suggest(TrialNumber number) {
  Configuration configuration;
  const auto& parameters = space_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    if (const auto* const constant = std::get_if<Value>(&parameters[i].content)) {
      configuration.Set(name, *constant);
    } else if (auto value = grid_.At(number.value % grid_.size(), space_, i)) {
      configuration.Set(name, *std::move(value));
    } else {
      KeyedRandom random(seed_, "search", static_cast<uint64_t>(number.value), StableHash(name));
      configuration.Set(name, std::get<Domain>(parameters[i].content).Draw(random));
    }
  }
  return configuration;
}

std::string RandomSearcher::DebugString() const {
  return "random over " + std::to_string(space_.parameters().size()) + " parameters, grid of " +
         std::to_string(grid_.size());
}

}  // namespace tune
