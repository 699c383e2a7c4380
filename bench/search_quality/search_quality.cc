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
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/search_quality/functions.h"
#include "core/json.h"
#include "search/searcher.h"

namespace tune {
namespace {

struct Plan {
  std::vector<Contender> contenders;
  std::vector<const TestFunction*> functions;
  uint64_t first_seed = 0;
  uint64_t seeds = 20;
  int64_t trials = 80;
};

SearchSpace SpaceOf(const TestFunction& function) {
  const std::string name(function.name);
  return OrRefuse(SearchSpace::Parse(OrRefuse(ParseJson(function.space), name)), name);
}

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
    std::printf("%s,%s,%llu,%lld,%.17g\n", std::string(function.name).c_str(),
                contender.name.c_str(), static_cast<unsigned long long>(seed),
                static_cast<long long>(trial), incumbent.regret());
  }
}

void Run(const Plan& plan) {
  std::printf("function,searcher,seed,trial,regret\n");
  for (const Contender& contender : plan.contenders) {
    for (const TestFunction* const function : plan.functions) {
      for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
        RunOne(contender, *function, seed, plan.trials);
      }
    }
  }
}

void Describe() {
  for (const TestFunction& function : TestFunctions()) {
    Value line = Value::MakeMap();
    line.Set("name", Value(function.name));
    line.Set("space", OrRefuse(ParseJson(function.space), std::string(function.name)));
    line.Set("minimum", Value(function.minimum));
    line.Set("noise", Value(function.noise));
    std::printf("%s\n", ToJson(line).c_str());
  }
}

void Answer(const TestFunction& function, uint64_t seed) {
  Incumbent incumbent(function, seed);
  int64_t trial = 0;
  for (std::string line; std::getline(std::cin, line); ++trial) {
    const Value map = OrRefuse(ParseJson(line), "line " + std::to_string(trial + 1));
    Configuration configuration;
    for (const MapEntry& entry : map.AsMap()) configuration.Set(entry.key, entry.value);
    Value answer = Value::MakeMap();
    answer.Set("value", Value(incumbent.Try(configuration, trial)));
    answer.Set("regret", Value(incumbent.regret()));
    std::printf("%s\n", ToJson(answer).c_str());
    std::fflush(stdout);
  }
}

const TestFunction& FunctionOf(const std::string& name) {
  const TestFunction* const function = FindTestFunction(name);
  if (function == nullptr) Refuse("no function '" + name + "'; `describe` lists them");
  return *function;
}

int Main(int argc, char** argv) {
  CLI::App app("Searchers on functions whose minimum is known");
  app.require_subcommand(1);
  std::vector<std::string> searchers;
  std::vector<std::string> functions;
  Plan plan;
  CLI::App* const run = app.add_subcommand("run", "runs searchers; prints CSV");
  run->add_option("--searcher", searchers, "an algorithm, or NAME={...}")->required();
  run->add_option("--function", functions, "default: all");
  run->add_option("--first-seed", plan.first_seed, "");
  run->add_option("--seeds", plan.seeds, "how many");
  run->add_option("--trials", plan.trials, "");
  CLI::App* const describe = app.add_subcommand("describe", "lists the functions");
  std::string name;
  uint64_t seed = 0;
  CLI::App* const answer = app.add_subcommand("answer", "answers configurations over a pipe");
  answer->add_option("function", name, "")->required();
  answer->add_option("seed", seed, "")->required();
  CLI11_PARSE(app, argc, argv);

  if (describe->parsed()) Describe();
  if (answer->parsed()) Answer(FunctionOf(name), seed);
  if (!run->parsed()) return 0;
  for (const std::string& text : searchers) plan.contenders.push_back(ContenderOf(text));
  for (const std::string& text : functions) plan.functions.push_back(&FunctionOf(text));
  if (functions.empty()) {
    for (const TestFunction& function : TestFunctions()) plan.functions.push_back(&function);
  }
  Run(plan);
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::Main(argc, argv); }
