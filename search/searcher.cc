// The factory: one switch over the names of `search.algorithm`.
#include "search/searcher.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/input_error.h"
#include "core/nearest_name.h"
#include "search/cmaes_searcher.h"
#include "search/grid.h"
#include "search/grid_searcher.h"
#include "search/nsga2_searcher.h"
#include "search/random_searcher.h"
#include "search/sobol_searcher.h"

namespace tune {
namespace {

using Make = Result<std::unique_ptr<Searcher>> (*)(const Value& options,
                                                   const SearchProblem& problem);
struct Algorithm {
  std::string_view name;
  Make make;  // Null: promised, not there yet.
};

constexpr std::array kAlgorithms = {
    Algorithm{"random", MakeRandomSearcher},
    Algorithm{"grid", MakeGridSearcher},
    Algorithm{"sobol", MakeSobolSearcher},
    Algorithm{"tpe", nullptr},
    Algorithm{"gp", nullptr},
    Algorithm{"cmaes", MakeCmaEsSearcher},
    Algorithm{"nsga2", MakeNsga2Searcher},
};

// The entry of `search`'s algorithm; the first one for null.
Result<Algorithm> FindAlgorithm(const Value& search) {
  if (search.is_null()) return kAlgorithms.front();
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
  std::vector<std::string_view> known;
  for (const Algorithm& algorithm : kAlgorithms) {
    known.push_back(algorithm.name);
    if (algorithm.name != read) continue;
    if (algorithm.make != nullptr) return algorithm;
    return InvalidAt(name->place, "search: the algorithm '" + read + "' is not supported yet");
  }
  return InvalidAt(name->place, "search: read " + Shown(*name) + ", expected an algorithm" +
                                    DidYouMean(read, known));
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeSearcher(const Value& search, const SearchProblem& problem) {
  TUNE_ASSIGN_OR_RETURN(const Algorithm algorithm, FindAlgorithm(search));
  return algorithm.make(search, problem);
}

int64_t TrialCount(const Value& search, const SearchSpace& space, int64_t samples) {
  const Result<Algorithm> algorithm = FindAlgorithm(search);
  TUNE_CHECK(algorithm.ok());
  const bool all = algorithm->name == "grid";
  const Result<Grid> grid = all ? Grid::OfAll(space) : Grid::OfGridSearch(space);
  TUNE_CHECK(grid.ok());
  if (all) return samples < 0 ? grid->size() : std::min(samples, grid->size());
  return samples < 0 ? -1 : samples * grid->size();
}

}  // namespace tune
