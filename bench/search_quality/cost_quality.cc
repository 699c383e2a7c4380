// What `per: seconds` is worth: a searcher with and without it on the functions of functions.h,
// whose trials take from one second to thirty, by the first parameter's place in its domain. Told
// is what was reached by how many seconds of trials, one after the other.
//
//   cost_quality [--searcher gp] [--function NAME]... [--seeds 10] [--seconds 600]
//       prints CSV: function,searcher,seed,trial,seconds,regret (seconds: of all trials so far;
//       regret: how far the best observation is from the minimum, without noise)
#include <CLI/CLI.hpp>
#include <algorithm>
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

constexpr double kLongest = 30;
constexpr int64_t kTrialsMax = 400;

double SecondsOf(const UnitSpace& space, const Configuration& configuration) {
  const Value* const first = configuration.Find(space.name(0));
  const double place = first == nullptr ? 0.5 : space.domain(0).ToUnit(*first)->mid();
  return std::pow(kLongest, place);
}

void RunOne(const Contender& contender, const TestFunction& function, uint64_t seed,
            double budget) {
  const UnitSpace space(SpaceOf(function));
  const SearchProblem problem{.space = space.space(), .modes = {Mode::kMin}, .seed = seed};
  const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
  double least = std::numeric_limits<double>::infinity();
  double regret = least;
  double seconds = 0;
  for (int64_t trial = 0; trial < kTrialsMax && seconds < budget; ++trial) {
    const auto configuration = searcher->Suggest(TrialNumber{trial});
    if (!configuration) return;
    const Metric observed = Observe(function, *configuration, seed, trial);
    const double took = SecondsOf(space, *configuration);
    seconds += took;
    if (*observed < least) regret = function.value(*configuration) - function.minimum;
    least = std::min(least, *observed);
    std::printf("%s,%s,%llu,%lld,%.6g,%.17g\n", std::string(function.name).c_str(),
                contender.name.c_str(), static_cast<unsigned long long>(seed),
                static_cast<long long>(trial), seconds, regret);
    searcher->OnDuration(TrialNumber{trial}, took);
    searcher->OnTrialEnded(TrialNumber{trial}, Objectives(&observed, 1), false);
  }
}

int CostMain(int argc, char** argv) {
  CLI::App app("What `per: seconds` is worth");
  std::string searcher = "gp";
  std::vector<std::string> functions;
  uint64_t seeds = 10;
  double seconds = 600;
  app.add_option("--searcher", searcher, "an algorithm that takes per");
  app.add_option("--function", functions, "default: all");
  app.add_option("--seeds", seeds, "how many, from 0");
  app.add_option("--seconds", seconds, "of trials, for each sweep");
  CLI11_PARSE(app, argc, argv);
  Contender plain = ContenderOf(searcher);
  Contender weighed = plain;
  weighed.name += "_per_second";
  weighed.search.Set("per", Value("seconds"));
  std::printf("function,searcher,seed,trial,seconds,regret\n");
  for (const TestFunction* const function : FunctionsOf(TestFunctions(), functions)) {
    for (const Contender* const contender : {&plain, &weighed}) {
      for (uint64_t seed = 0; seed < seeds; ++seed) RunOne(*contender, *function, seed, seconds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::CostMain(argc, argv); }
