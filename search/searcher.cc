// The factory: one switch over the names of `search.algorithm`.
#include "search/searcher.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "core/option_map.h"
#include "search/algorithm_names.h"
#include "search/auto_choice.h"
#include "search/cmaes_searcher.h"
#include "search/gp/gp_searcher.h"
#include "search/grid.h"
#include "search/grid_searcher.h"
#include "search/nsga2_searcher.h"
#include "search/points.h"
#include "search/points_searcher.h"
#include "search/random_searcher.h"
#include "search/repeat_searcher.h"
#include "search/search_options.h"
#include "search/sobol_searcher.h"
#include "search/tpe_searcher.h"
#include "search/unique_searcher.h"

namespace tune {
namespace {

using Make = Result<std::unique_ptr<Searcher>> (*)(const Value& options,
                                                   const SearchProblem& problem);
struct Algorithm {
  std::string_view name;
  Make make;  // Null: promised, not there yet.
};

constexpr std::string_view kGrid = "grid";

constexpr std::array kAlgorithms = {
    Algorithm{"random", MakeRandomSearcher}, Algorithm{kGrid, MakeGridSearcher},
    Algorithm{"sobol", MakeSobolSearcher},   Algorithm{"tpe", MakeTpeSearcher},
    Algorithm{"bohb", MakeBohbSearcher},     Algorithm{"gp", MakeGpSearcher},
    Algorithm{"cmaes", MakeCmaEsSearcher},   Algorithm{"nsga2", MakeNsga2Searcher},
    Algorithm{"nsga3", MakeNsga3Searcher},   Algorithm{"auto", MakeAutoSearcher},
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

// What every algorithm takes beside its own options.
struct CommonOptions {
  bool is_unique = false;
  int64_t repeat = 1;
};

Result<CommonOptions> ReadCommonOptions(const Value& search) {
  const OptionMap map("search", "", search);
  CommonOptions common;
  TUNE_RETURN_IF_ERROR(map.Read("unique", common.is_unique));
  TUNE_RETURN_IF_ERROR(map.Read("repeat", int64_t{1}, limits::kRepeatMax, common.repeat));
  return common;
}

Value WithoutCommonOptions(Value search) {
  if (search.is_null()) return search;
  std::erase_if(search.AsMap(), [](const MapEntry& entry) {
    return std::find(kCommonSearchOptions.begin(), kCommonSearchOptions.end(), entry.key) !=
           kCommonSearchOptions.end();
  });
  return search;
}

// Of the grid_search domains.
bool HasGrid(const Grid& grid, SearchRules rules) {
  return rules >= SearchRules::kFrom16 ? !grid.is_trivial() : !grid.looks_at_nothing();
}

// A grid is gone through wholly, whatever a person believes.
bool TriesAll(const Algorithm& algorithm, const SearchProblem& problem) {
  const Result<Grid> grid = Grid::OfGridSearch(problem.space);
  if (algorithm.name == kGrid || !grid.ok() || HasGrid(*grid, problem.rules)) return true;
  if (algorithm.make != MakeAutoSearcher) return false;
  return ChooseAlgorithm(problem).search.Find("algorithm")->AsString() == kGrid;
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeSearcher(const Value& search, SearchProblem problem) {
  TUNE_ASSIGN_OR_RETURN(const Algorithm algorithm, FindAlgorithm(search));
  TUNE_ASSIGN_OR_RETURN(const CommonOptions common, ReadCommonOptions(search));
  problem.is_unique = problem.is_unique || common.is_unique;
  // The searcher itself does not know of them (and it may be made by way of another one).
  std::vector<Configuration> points = std::exchange(problem.points, {});
  const std::vector<EarlierTrial> history = std::exchange(problem.history, {});
  problem.point_count = std::max(problem.point_count, points.size());
  if (std::exchange(problem.begins_with_guesses, false) && !TriesAll(algorithm, problem)) {
    TUNE_ASSIGN_OR_RETURN(auto guesses, GuessesOf(problem.space));
    const bool is_new =
        guesses && std::find(points.begin(), points.end(), *guesses) == points.end();
    if (is_new) points.push_back(*std::move(guesses));
  }
  problem.point_count = std::max(problem.point_count, points.size());
  if (problem.has_prior && algorithm.make != MakeGpSearcher && algorithm.make != MakeAutoSearcher) {
    return InvalidAt(search.place,
                     "from: it is gp that learns from a prior, and here the search is " +
                         std::string(algorithm.name) + "; write {algorithm: gp}, or from: NAME");
  }
  const Value own_options = WithoutCommonOptions(search);
  TUNE_ASSIGN_OR_RETURN(auto searcher, algorithm.make(own_options, problem));
  if (problem.needs_regret && !searcher->EstimatesRegret()) {
    return InvalidAt(search.place,
                     "until.regret: it is gp that tells what more trials may gain, and here the "
                     "search is " +
                         std::string(algorithm.name) +
                         "; write {algorithm: gp}, or until: {no_gain: 40 trials}");
  }
  const SearchSpace& space = problem.space;
  if (!points.empty()) {
    const bool is_unique =
        common.is_unique && searcher->LearnsFromResults() && problem.rules >= SearchRules::kFrom16;
    searcher = std::make_unique<PointsSearcher>(std::move(searcher), std::move(points), space,
                                                problem.seed, is_unique);
  }
  // Those that learn never repeat a configuration anyway.
  if (common.is_unique && !searcher->LearnsFromResults()) {
    TUNE_ASSIGN_OR_RETURN(const Grid grid, Grid::OfGridSearch(space));
    if (algorithm.name != kGrid && grid.size() > 1) {
      return InvalidAt(
          search.Find("unique")->place,
          "search: unique cannot be combined with grid_search, which repeats its grid");
    }
    searcher = std::make_unique<UniqueSearcher>(std::move(searcher), space, problem.seed,
                                                /*counts_history=*/true);
  }
  TellEarlier(history, problem.modes.size(), *searcher);
  if (common.repeat > 1) {
    const int64_t trials = TrialCount(search, space, problem.samples,
                                      static_cast<int64_t>(problem.point_count), problem.rules);
    if (trials > limits::kSamplesMax) {
      return InvalidAt(search.Find("repeat")->place,
                       "search: repeat: " + std::to_string(trials / common.repeat) +
                           " configurations times " + std::to_string(common.repeat) +
                           " make more than " + std::to_string(limits::kSamplesMax) + " trials");
    }
    searcher = std::make_unique<RepeatSearcher>(std::move(searcher), common.repeat, problem.modes,
                                                problem.rules);
  }
  return searcher;
}

int64_t RepeatCount(const Value& search) {
  const Result<CommonOptions> common = ReadCommonOptions(search);
  TUNE_CHECK(common.ok());
  return common->repeat;
}

int64_t TrialCount(const Value& search, const SearchSpace& space, int64_t samples, int64_t points,
                   SearchRules rules) {
  const Result<Algorithm> algorithm = FindAlgorithm(search);
  const Result<CommonOptions> common = ReadCommonOptions(search);
  TUNE_CHECK(algorithm.ok() && common.ok());
  const bool is_grid = algorithm->name == kGrid;
  int64_t configurations = samples;
  if (is_grid || common->is_unique) {
    const Result<Grid> all = Grid::OfAll(space);
    TUNE_CHECK(all.ok() || !is_grid);
    if (all.ok()) {
      const int64_t most = all->size() + (common->is_unique ? 0 : points);
      configurations = samples < 0 ? most : std::min(samples, most);
    }
  } else if (samples >= 0) {
    const Result<Grid> grid = Grid::OfGridSearch(space);
    TUNE_CHECK(grid.ok());
    configurations = samples * grid->size() + (HasGrid(*grid, rules) ? points : 0);
  }
  return configurations < 0 ? -1 : configurations * common->repeat;
}

std::vector<std::string_view> SearchAlgorithmNames() {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : kAlgorithms) names.push_back(algorithm.name);
  return names;
}

}  // namespace tune
