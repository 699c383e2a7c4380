// The factory: one switch over the names of `search.algorithm`.
#include "search/searcher.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/check.h"
#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "search/grid.h"
#include "search/grid_searcher.h"
#include "search/random_searcher.h"

namespace tune {
namespace {

enum class Algorithm { kRandom, kUniqueRandom, kGrid };

constexpr std::array<std::string_view, 6> kAlgorithms = {"random", "grid", "sobol",
                                                         "tpe",    "gp",   "cmaes"};
constexpr std::array<std::string_view, 2> kRandomOptions = {"algorithm", "unique"};
constexpr std::array<std::string_view, 1> kGridOptions = {"algorithm"};

Status UnknownOption(const MapEntry& entry, std::string_view algorithm,
                     std::span<const std::string_view> known) {
  return InvalidAt(entry.key_place, "search: '" + entry.key + "' is not an option of " +
                                        std::string(algorithm) + DidYouMean(entry.key, known));
}

Result<Algorithm> ReadGridOptions(const Value& search) {
  for (const MapEntry& entry : search.AsMap()) {
    if (entry.key != "algorithm") return UnknownOption(entry, "grid", kGridOptions);
  }
  return Algorithm::kGrid;
}

Result<Algorithm> ReadRandomOptions(const Value& search) {
  Algorithm algorithm = Algorithm::kRandom;
  for (const MapEntry& entry : search.AsMap()) {
    if (entry.key == "algorithm") continue;
    if (entry.key != "unique") return UnknownOption(entry, "random", kRandomOptions);
    if (!entry.value.is_bool()) {
      return InvalidAt(entry.value.place,
                       "search: unique: read " + Shown(entry.value) + ", expected true or false");
    }
    if (entry.value.AsBool()) algorithm = Algorithm::kUniqueRandom;
  }
  return algorithm;
}

Result<Algorithm> ReadAlgorithm(const Value& search) {
  if (search.is_null()) return Algorithm::kRandom;
  if (!search.is_map()) {
    return InvalidAt(search.place, "search: read " + Shown(search) +
                                       ", expected a map such as {algorithm: random}");
  }
  const Value* const name = search.Find("algorithm");
  if (name == nullptr) {
    return InvalidAt(search.place,
                     "search: 'algorithm' is missing; expected for example {algorithm: random}");
  }
  const std::string read = name->is_string() ? name->AsString() : "";
  if (read == "random") return ReadRandomOptions(search);
  if (read == "grid") return ReadGridOptions(search);
  for (const std::string_view known : kAlgorithms) {
    if (read == known) {
      return InvalidAt(name->place, "search: the algorithm '" + read +
                                        "' is not supported yet; there are random and grid");
    }
  }
  return InvalidAt(name->place, "search: read " + Shown(*name) + ", expected an algorithm" +
                                    DidYouMean(read, kAlgorithms));
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeSearcher(const Value& search, const SearchProblem& problem) {
  TUNE_ASSIGN_OR_RETURN(const Algorithm algorithm, ReadAlgorithm(search));
  const auto& [space, modes, samples, seed, max_t] = problem;
  if (algorithm == Algorithm::kGrid) {
    TUNE_ASSIGN_OR_RETURN(Grid grid, Grid::OfAll(space));
    return std::unique_ptr<Searcher>(std::make_unique<GridSearcher>(space, std::move(grid)));
  }
  TUNE_ASSIGN_OR_RETURN(Grid grid, Grid::OfGridSearch(space));
  if (samples > limits::kSamplesMax / grid.size()) {
    return InvalidArgument("samples: " + std::to_string(samples) + " times the grid of " +
                           std::to_string(grid.size()) + " makes more than " +
                           std::to_string(limits::kSamplesMax) + " trials");
  }
  if (algorithm == Algorithm::kUniqueRandom) {
    if (grid.size() > 1) {
      return InvalidAt(
          search.Find("unique")->place,
          "search: unique cannot be combined with grid_search, which repeats its grid");
    }
    return std::unique_ptr<Searcher>(RandomSearcher::MakeUnique(space, std::move(grid), seed));
  }
  return std::unique_ptr<Searcher>(std::make_unique<RandomSearcher>(space, std::move(grid), seed));
}

int64_t TrialCount(const Value& search, const SearchSpace& space, int64_t samples) {
  const Result<Algorithm> algorithm = ReadAlgorithm(search);
  TUNE_CHECK(algorithm.ok());
  const bool all = *algorithm == Algorithm::kGrid;
  const Result<Grid> grid = all ? Grid::OfAll(space) : Grid::OfGridSearch(space);
  TUNE_CHECK(grid.ok());
  if (all) return samples < 0 ? grid->size() : std::min(samples, grid->size());
  return samples < 0 ? -1 : samples * grid->size();
}

}  // namespace tune
