// What a guess is worth, and what a wrong one costs: a searcher on the functions of functions.h
// without guesses, with the best known configuration as the guess, with one that is a little off,
// and with one that is far away in every parameter.
//
//   guess_quality [--searcher gp] [--function NAME]... [--seeds 10] [--trials 60]
//       prints CSV: function,guess,seed,trial,regret (how far the best observation is from the
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

constexpr uint64_t kSeedOfBest = 4242;  // Of the long run that finds what is to be guessed.
constexpr int64_t kTrialsOfBest = 200;

struct Guess {
  const char* name;
  double shift;  // Of every parameter, in parts of its domain; NaN: no guess.
};
constexpr Guess kGuesses[] = {{"none", std::numeric_limits<double>::quiet_NaN()},
                              {"right", 0},
                              {"near", 0.1},
                              {"wrong", 0.5}};

double RegretOf(const TestFunction& function, const Configuration& configuration) {
  return function.value(configuration) - function.minimum;
}

// Calls `each` with every trial's configuration and its observation.
template <typename Each>
void RunTrials(const Contender& contender, const TestFunction& function, const SearchSpace& space,
               uint64_t seed, int64_t trials, Each each) {
  const SearchProblem problem{
      .space = space, .modes = {Mode::kMin}, .samples = trials, .seed = seed};
  const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
  for (int64_t trial = 0; trial < trials; ++trial) {
    const auto configuration = searcher->Suggest(TrialNumber{trial});
    if (!configuration) return;
    const Metric observed = Observe(function, *configuration, seed, trial);
    each(trial, *configuration, *observed);
    searcher->OnTrialEnded(TrialNumber{trial}, Objectives(&observed, 1), false);
  }
}

Configuration BestOf(const TestFunction& function) {
  Configuration best;
  double least = std::numeric_limits<double>::infinity();
  RunTrials(ContenderOf("gp"), function, SpaceOf(function), kSeedOfBest, kTrialsOfBest,
            [&](int64_t, const Configuration& configuration, double) {
              const double regret = RegretOf(function, configuration);
              if (regret >= least) return;
              least = regret;
              best = configuration;
            });
  return best;
}

// The space with a guess beside each domain of `best`. `path`: of a parameter in the JSON.
void AddGuesses(const UnitSpace& unit, const Configuration& best, double shift, Value& space,
                const std::string& path = "") {
  for (MapEntry& entry : space.AsMap()) {
    const std::string name = path + entry.key;
    for (size_t d = 0; d < unit.size(); ++d) {
      const Value* const value = best.Find(name);
      if (unit.name(d) != name || value == nullptr) continue;
      const double at = unit.domain(d).ToUnit(*value)->mid() + shift;
      entry.value.Set("guess", unit.domain(d).FromUnit(at - std::floor(at)));
    }
    if (entry.value.is_map() && entry.value.Find("guess") == nullptr) {
      AddGuesses(unit, best, shift, entry.value, name + "/");
    }
  }
}

void RunFunction(const Contender& contender, const TestFunction& function, uint64_t seeds,
                 int64_t trials) {
  const Configuration best = BestOf(function);
  for (const Guess& guess : kGuesses) {
    Value json = OrRefuse(ParseJson(function.space), std::string(function.name));
    if (!std::isnan(guess.shift)) {
      AddGuesses(UnitSpace(SpaceOf(function)), best, guess.shift, json);
    }
    const SearchSpace space = OrRefuse(SearchSpace::Parse(json), std::string(function.name));
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      double least = std::numeric_limits<double>::infinity();
      double regret = least;
      RunTrials(contender, function, space, seed, trials,
                [&](int64_t trial, const Configuration& configuration, double observed) {
                  if (observed < least) regret = RegretOf(function, configuration);
                  least = std::min(least, observed);
                  PrintQuality(function.name, {guess.name, {}}, seed, trial, regret);
                });
    }
  }
}

int GuessMain(int argc, char** argv) {
  CLI::App app("What a guess is worth, and what a wrong one costs");
  std::string searcher = "gp";
  std::vector<std::string> functions;
  uint64_t seeds = 10;
  int64_t trials = 60;
  app.add_option("--searcher", searcher, "an algorithm, or NAME={...}");
  app.add_option("--function", functions, "default: all");
  app.add_option("--seeds", seeds, "how many, from 0");
  app.add_option("--trials", trials, "");
  CLI11_PARSE(app, argc, argv);
  std::printf("function,guess,seed,trial,regret\n");
  for (const TestFunction* const function : FunctionsOf(TestFunctions(), functions)) {
    RunFunction(ContenderOf(searcher), *function, seeds, trials);
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::GuessMain(argc, argv); }
