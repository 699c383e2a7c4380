#include "search/random_searcher.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/limits.h"
#include "search/search_options.h"
#include "search/unique_searcher.h"

namespace tune {

RandomSearcher::RandomSearcher(SearchSpace space, Grid grid, uint64_t seed, SearchRules rules)
    : draws_(std::move(space), seed),
      grid_(std::move(grid)),
      rules_(rules),
      is_hopeless_(static_cast<size_t>(grid_.size())) {
  TUNE_CHECK(grid_.size() > 0);
}

GivenValues RandomSearcher::GivenAt(int64_t point) const {
  if (grid_.is_trivial()) return {};
  const auto& parameters = draws_.space().parameters();
  GivenValues given(parameters.size());
  const std::vector<int64_t> indices = grid_.IndicesAt(point, draws_.space());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (indices[i] < 0) continue;
    given[i] = std::get<Domain>(parameters[i].content).At(static_cast<uint64_t>(indices[i]));
  }
  return given;
}

// That one trial found nothing says nothing of others: what they get must not depend on it.
std::optional<Configuration> RandomSearcher::Suggest(TrialNumber number) {
  for (int64_t shift = 0; shift < grid_.size(); ++shift) {
    const int64_t point = (number.value + shift) % grid_.size();
    if (is_hopeless_[static_cast<size_t>(point)]) continue;
    bool is_hopeless = rules_ < SearchRules::kFrom16;
    auto configuration = draws_.Allowed(number, GivenAt(point), &is_hopeless);
    if (configuration) return configuration;
    is_hopeless_[static_cast<size_t>(point)] = is_hopeless;
  }
  return std::nullopt;
}

std::string RandomSearcher::DebugString() const {
  return "random over " + std::to_string(draws_.space().parameters().size()) +
         " parameters, grid of " + std::to_string(grid_.size());
}

Result<std::unique_ptr<Searcher>> MakeRandomSearcher(const Value& options,
                                                     const SearchProblem& problem) {
  constexpr std::array<std::string_view, 1> kOptions = {"algorithm"};
  TUNE_RETURN_IF_ERROR(SearchOptions("random", options).CheckNames(kOptions));
  TUNE_ASSIGN_OR_RETURN(Grid grid, Grid::OfGridSearch(problem.space));
  if (grid.size() == 0) {
    return InvalidAt(problem.space.constraints().front().place(),
                     "constraints: no combination of the grid_search values keeps to them");
  }
  if (problem.samples > limits::kSamplesMax / grid.size()) {
    return InvalidArgument("samples: " + std::to_string(problem.samples) + " times the grid of " +
                           std::to_string(grid.size()) + " makes more than " +
                           std::to_string(limits::kSamplesMax) + " trials");
  }
  return std::unique_ptr<Searcher>(std::make_unique<RandomSearcher>(problem.space, std::move(grid),
                                                                    problem.seed, problem.rules));
}

Result<std::unique_ptr<Searcher>> MakeUniqueRandomSearcher(const SearchProblem& problem) {
  TUNE_ASSIGN_OR_RETURN(auto random, MakeRandomSearcher(Value(), problem));
  return std::unique_ptr<Searcher>(std::make_unique<UniqueSearcher>(
      std::move(random), problem.space, problem.seed, problem.is_unique));
}

}  // namespace tune
