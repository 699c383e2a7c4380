// What an earlier sweep over other data is worth, and what one that has nothing to do with this one
// costs: gp on the functions of functions.h alone, with it as a prior (`from: {prior: NAME}`), and
// with its trials taken as this sweep's own (`from: NAME`). The earlier sweep's function is this
// one on another scale, and
//   near: shifted by a twentieth of each domain;
//   far: shifted by a fifth of it;
//   mirrored: with each domain turned round.
//
//   prior_quality [--function NAME]... [--seeds 10] [--trials 40] [--earlier 40]
//       prints CSV: function,earlier,seed,trial,regret (how far the best observation is from the
//       minimum, without noise)
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/search_quality/functions.h"
#include "bench/search_quality/quality_bench.h"
#include "search/unit_space.h"

namespace tune {
namespace {

constexpr uint64_t kSeedOfEarlier = 1000;  // More than that of the sweep.

enum class Relation { kNear, kFar, kMirrored };
enum class Use { kNone, kPrior, kHistory };
struct Case {
  const char* name;
  Use use;
  Relation relation = Relation::kNear;
};
constexpr Case kCases[] = {{"none", Use::kNone},
                           {"prior near", Use::kPrior, Relation::kNear},
                           {"prior far", Use::kPrior, Relation::kFar},
                           {"prior mirrored", Use::kPrior, Relation::kMirrored},
                           {"from near", Use::kHistory, Relation::kNear},
                           {"from far", Use::kHistory, Relation::kFar},
                           {"from mirrored", Use::kHistory, Relation::kMirrored}};

// Where the earlier sweep's function is what this one's is at `configuration`.
Configuration Moved(const UnitSpace& unit, const Configuration& configuration, Relation relation) {
  const UnitCells cells = *unit.CellsOf(configuration);
  std::vector<double> point(unit.size(), 0.5);
  for (size_t d = 0; d < point.size(); ++d) {
    if (!cells[d]) continue;
    const double at = cells[d]->mid();
    const double shifted = at + (relation == Relation::kNear ? 0.05 : 0.2);
    point[d] = relation == Relation::kMirrored ? 1 - at : std::min(shifted, 1.0);
  }
  return unit.At(point);
}

// Calls `each` with every trial's configuration; it gives what is observed.
template <typename Each>
void RunTrials(SearchProblem problem, int64_t trials, Each each) {
  problem.modes = {Mode::kMin};
  problem.samples = trials;
  const Contender gp = ContenderOf("gp");
  const auto searcher = OrRefuse(MakeSearcher(gp.search, problem), gp.name);
  for (int64_t trial = 0; trial < trials; ++trial) {
    const auto configuration = searcher->Suggest(TrialNumber{trial});
    if (!configuration) return;
    const Metric observed = each(trial, *configuration);
    searcher->OnTrialEnded(TrialNumber{trial}, Objectives(&observed, 1), false);
  }
}

std::vector<EarlierTrial> EarlierTrials(const TestFunction& function, Relation relation,
                                        uint64_t seed, int64_t trials) {
  const SearchSpace space = SpaceOf(function);
  const UnitSpace unit(space);
  std::vector<EarlierTrial> earlier;
  RunTrials({.space = space, .seed = seed + kSeedOfEarlier}, trials,
            [&](int64_t trial, const Configuration& configuration) {
              const double value = Observe(function, Moved(unit, configuration, relation),
                                           seed + kSeedOfEarlier, trial);
              earlier.push_back({configuration, {{1, {3 * value + 7}}}, false});
              return 3 * value + 7;
            });
  return earlier;
}

void RunCase(const Case& which, const TestFunction& function, uint64_t seed, int64_t trials,
             int64_t earlier_count) {
  SearchProblem problem{.space = SpaceOf(function), .seed = seed};
  if (which.use != Use::kNone) {
    auto earlier = EarlierTrials(function, which.relation, seed, earlier_count);
    (which.use == Use::kPrior ? problem.prior : problem.history) = std::move(earlier);
    (which.use == Use::kPrior ? problem.has_prior : problem.has_earlier) = true;
  }
  double least = std::numeric_limits<double>::infinity();
  double regret = least;
  RunTrials(problem, trials, [&](int64_t trial, const Configuration& configuration) {
    const double observed = Observe(function, configuration, seed, trial);
    if (observed < least) regret = function.value(configuration) - function.minimum;
    least = std::min(least, observed);
    PrintQuality(function.name, {which.name, {}}, seed, trial, regret);
    return observed;
  });
}

int PriorMain(int argc, char** argv) {
  CLI::App app("What an earlier sweep over other data is worth, and what a useless one costs");
  std::vector<std::string> functions;
  uint64_t seeds = 10;
  int64_t trials = 40;
  int64_t earlier = 40;
  app.add_option("--function", functions, "default: all");
  app.add_option("--seeds", seeds, "how many, from 0");
  app.add_option("--trials", trials, "");
  app.add_option("--earlier", earlier, "trials of the earlier sweep");
  CLI11_PARSE(app, argc, argv);
  std::printf("function,earlier,seed,trial,regret\n");
  for (const TestFunction* const function : FunctionsOf(TestFunctions(), functions)) {
    for (const Case& which : kCases) {
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        RunCase(which, *function, seed, trials, earlier);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::PriorMain(argc, argv); }
