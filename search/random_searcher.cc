#include "search/random_searcher.h"

#include <array>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/option_map.h"
#include "core/random.h"

namespace tune {

RandomSearcher::RandomSearcher(SearchSpace space, Grid grid, uint64_t seed)
    : space_(std::move(space)), grid_(std::move(grid)), seed_(seed) {}

std::unique_ptr<RandomSearcher> RandomSearcher::MakeUnique(SearchSpace space, Grid grid,
                                                           uint64_t seed) {
  Result<Grid> combinations = Grid::OfAll(space);
  auto searcher = std::make_unique<RandomSearcher>(std::move(space), std::move(grid), seed);
  searcher->is_unique_ = true;
  if (combinations.ok()) searcher->combinations_ = *std::move(combinations);
  return searcher;
}

Configuration RandomSearcher::Draw(TrialNumber number, uint64_t attempt) const {
  const auto& parameters = space_.parameters();
  const std::vector<int64_t> indices = grid_.IndicesAt(number.value % grid_.size(), space_);
  return space_.Assemble([&](size_t i) {
    const Domain& domain = std::get<Domain>(parameters[i].content);
    if (indices[i] >= 0) return domain.At(static_cast<uint64_t>(indices[i]));
    KeyedRandom random(seed_, "search", static_cast<uint64_t>(number.value),
                       StableHash(parameters[i].name) + attempt);
    return domain.Draw(random);
  });
}

bool RandomSearcher::Remember(const Configuration& configuration) {
  return seen_.insert(ToJson(configuration.ToFlat())).second;
}

void RandomSearcher::Restore(TrialNumber, const Configuration& configuration) {
  if (is_unique_) Remember(configuration);
}

std::optional<Configuration> RandomSearcher::Suggest(TrialNumber number) {
  if (!is_unique_) return Draw(number, 0);
  if (combinations_ && next_combination_ == combinations_->size()) return std::nullopt;
  constexpr uint64_t kAttempts = 1000;
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Configuration configuration = Draw(number, attempt);
    if (Remember(configuration)) return configuration;
  }
  // Hardly anything is left: take it in order.
  if (!combinations_) return std::nullopt;
  while (next_combination_ < combinations_->size()) {
    Configuration configuration = combinations_->ConfigurationAt(next_combination_++, space_);
    if (Remember(configuration)) return configuration;
  }
  return std::nullopt;
}

std::string RandomSearcher::DebugString() const {
  return std::string(is_unique_ ? "unique " : "") + "random over " +
         std::to_string(space_.parameters().size()) + " parameters, grid of " +
         std::to_string(grid_.size());
}

Result<std::unique_ptr<Searcher>> MakeRandomSearcher(const Value& options,
                                                     const SearchProblem& problem) {
  constexpr std::array<std::string_view, 2> kOptions = {"algorithm", "unique"};
  const OptionMap map("search", "random", options);
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  bool is_unique = false;
  TUNE_RETURN_IF_ERROR(map.Read("unique", is_unique));
  TUNE_ASSIGN_OR_RETURN(Grid grid, Grid::OfGridSearch(problem.space));
  if (problem.samples > limits::kSamplesMax / grid.size()) {
    return InvalidArgument("samples: " + std::to_string(problem.samples) + " times the grid of " +
                           std::to_string(grid.size()) + " makes more than " +
                           std::to_string(limits::kSamplesMax) + " trials");
  }
  if (!is_unique) {
    return std::unique_ptr<Searcher>(
        std::make_unique<RandomSearcher>(problem.space, std::move(grid), problem.seed));
  }
  if (grid.size() > 1) {
    return InvalidAt(map.PlaceOf("unique"),
                     "search: unique cannot be combined with grid_search, which repeats its grid");
  }
  return std::unique_ptr<Searcher>(
      RandomSearcher::MakeUnique(problem.space, std::move(grid), problem.seed));
}

}  // namespace tune
