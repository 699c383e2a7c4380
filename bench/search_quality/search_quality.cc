// Which searcher finds good configurations? Ours on the functions of functions.h, one trial after
// the other; and the same functions for others to be run on, over a pipe, so that all see the same
// numbers. bench/search_quality/run does both and compares.
//
//   search_quality run --searcher tpe --searcher 'wide={"algorithm": "tpe", "n_ei_candidates": 99}'
//                      [--function NAME]... [--first-seed 0] [--seeds 20] [--trials 80]
//       prints CSV: function,searcher,seed,trial,regret. regret: how far the configuration with the
//       best observation so far is from the minimum, without noise
//   search_quality describe            a line of JSON a function: name, space, minimum, noise
//   search_quality answer NAME SEED    reads a configuration a line, the trials from 0; answers
//                                      {"value": what is observed, "regret": the row's number}
#include <limits>
#include <memory>
#include <optional>

#include "bench/search_quality/functions.h"
#include "bench/search_quality/quality_bench.h"

namespace tune {
namespace {

// What the best observation so far is really worth.
class Incumbent {
 public:
  explicit Incumbent(const TestFunction& function, uint64_t seed)
      : function_(function), seed_(seed) {}

  // Gives what is observed.
  double Try(const Configuration& configuration, int64_t trial) {
    const double observed = Observe(function_, configuration, seed_, trial);
    if (observed < best_observed_) {
      best_observed_ = observed;
      regret_ = function_.value(configuration) - function_.minimum;
    }
    return observed;
  }
  double regret() const { return regret_; }

 private:
  const TestFunction& function_;
  uint64_t seed_;
  double best_observed_ = std::numeric_limits<double>::infinity();
  double regret_ = std::numeric_limits<double>::infinity();
};

// One trial after the other; a space that is exhausted has no more of them.
void RunOne(const Contender& contender, const TestFunction& function, uint64_t seed,
            int64_t trials) {
  const SearchProblem problem{
      .space = SpaceOf(function), .modes = {Mode::kMin}, .samples = trials, .seed = seed};
  const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
  Incumbent incumbent(function, seed);
  bool is_exhausted = false;
  for (int64_t trial = 0; trial < trials; ++trial) {
    if (!is_exhausted) {
      const TrialNumber number{trial};
      const std::optional<Configuration> configuration = searcher->Suggest(number);
      is_exhausted = !configuration;
      if (configuration) {
        const Metric observed = incumbent.Try(*configuration, trial);
        searcher->OnTrialEnded(number, Objectives(&observed, 1), false);
      }
    }
    PrintQuality(function.name, contender, seed, trial, incumbent.regret());
  }
}

Value Answered(Incumbent& incumbent, const Configuration& configuration, int64_t trial) {
  Value answer = Value::MakeMap();
  answer.Set("value", Value(incumbent.Try(configuration, trial)));
  answer.Set("regret", Value(incumbent.regret()));
  return answer;
}

QualityBench<TestFunction> Bench() {
  return {.title = "Searchers on functions whose minimum is known",
          .functions = TestFunctions(),
          .run =
              [](const Contender& contender, const TestFunction& function,
                 const QualityPlan<TestFunction>& plan) {
                for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
                  RunOne(contender, function, seed, plan.trials);
                }
              },
          .describe =
              [](const TestFunction& function, Value& line) {
                line.Set("minimum", Value(function.minimum));
                line.Set("noise", Value(function.noise));
              },
          .answer =
              [](const TestFunction& function, uint64_t seed) {
                return [incumbent = std::make_shared<Incumbent>(function, seed),
                        trial = int64_t{0}](const Configuration& configuration) mutable {
                  return Answered(*incumbent, configuration, trial++);
                };
              },
          .trials = 80,
          .has_workers = false};
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::QualityMain(tune::Bench(), argc, argv); }
