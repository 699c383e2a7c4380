// Which searcher covers the most of a front? As search_quality, on the functions of fronts.h, and
// with as many trials at a time as are asked for.
//
//   front_quality run --searcher gp [--function NAME]... [--first-seed 0] [--seeds 20]
//                     [--trials 60] [--workers 1]
//       prints CSV: function,searcher,seed,trial,regret. regret: minus the hypervolume of the
//       trials so far below the function's reference point; and to stderr the processor time of a
//       suggestion
//   front_quality describe            a line of JSON a function: name, space, objectives
//   front_quality answer NAME SEED    reads a configuration a line; answers
//                                     {"values": [...], "regret": the row's number}
#include <time.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/contender.h"
#include "bench/search_quality/fronts.h"
#include "core/json.h"
#include "search/pareto.h"
#include "search/searcher.h"

namespace tune {
namespace {

struct Plan {
  std::vector<Contender> contenders;
  std::vector<const FrontFunction*> functions;
  uint64_t first_seed = 0;
  uint64_t seeds = 20;
  int64_t trials = 60;
  size_t workers = 1;
};

double ProcessorMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

SearchSpace SpaceOf(const FrontFunction& function) {
  const std::string name(function.name);
  return OrRefuse(SearchSpace::Parse(OrRefuse(ParseJson(function.space), name)), name);
}

// Gives the processor time of its suggestions, in milliseconds.
double RunOne(const Contender& contender, const FrontFunction& function, uint64_t seed,
              const Plan& plan) {
  const SearchProblem problem{.space = SpaceOf(function),
                              .modes = std::vector<Mode>(function.reference.size(), Mode::kMin),
                              .samples = plan.trials,
                              .seed = seed};
  const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
  std::vector<LossPoint> points;
  std::deque<std::pair<int64_t, Configuration>> running;
  double suggest_ms = 0;
  const auto end_oldest = [&] {
    const auto [number, configuration] = running.front();
    running.pop_front();
    points.push_back(function.values(configuration));
    const std::vector<Metric> values(points.back().begin(), points.back().end());
    searcher->OnTrialEnded(TrialNumber{number}, values, false);
    std::printf("%s,%s,%llu,%zu,%.17g\n", std::string(function.name).c_str(),
                contender.name.c_str(), static_cast<unsigned long long>(seed), points.size() - 1,
                -Hypervolume(points, function.reference));
  };
  for (int64_t trial = 0; trial < plan.trials; ++trial) {
    const double asked_at = ProcessorMs();
    const auto configuration = searcher->Suggest(TrialNumber{trial});
    suggest_ms += ProcessorMs() - asked_at;
    if (!configuration) Refuse(std::string(function.name) + ": the space is exhausted");
    running.emplace_back(trial, *configuration);
    if (running.size() == plan.workers) end_oldest();
  }
  while (!running.empty()) end_oldest();
  return suggest_ms;
}

void Run(const Plan& plan) {
  std::printf("function,searcher,seed,trial,regret\n");
  for (const Contender& contender : plan.contenders) {
    for (const FrontFunction* const function : plan.functions) {
      double suggest_ms = 0;
      for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
        suggest_ms += RunOne(contender, *function, seed, plan);
      }
      const double suggestions = static_cast<double>(plan.seeds) * static_cast<double>(plan.trials);
      std::fprintf(stderr, "%s on %s: %.3f ms a suggestion\n", contender.name.c_str(),
                   std::string(function->name).c_str(), suggest_ms / suggestions);
    }
  }
}

void Describe() {
  for (const FrontFunction& function : FrontFunctions()) {
    Value line = Value::MakeMap();
    line.Set("name", Value(function.name));
    line.Set("space", OrRefuse(ParseJson(function.space), std::string(function.name)));
    line.Set("objectives", Value(static_cast<int64_t>(function.reference.size())));
    std::printf("%s\n", ToJson(line).c_str());
  }
}

void Answer(const FrontFunction& function) {
  std::vector<LossPoint> points;
  for (std::string line; std::getline(std::cin, line);) {
    const Value map = OrRefuse(ParseJson(line), "line " + std::to_string(points.size() + 1));
    Configuration configuration;
    for (const MapEntry& entry : map.AsMap()) configuration.Set(entry.key, entry.value);
    points.push_back(function.values(configuration));
    Value values = Value::MakeList();
    for (const double value : points.back()) values.AsList().push_back(Value(value));
    Value answer = Value::MakeMap();
    answer.Set("values", std::move(values));
    answer.Set("regret", Value(-Hypervolume(points, function.reference)));
    std::printf("%s\n", ToJson(answer).c_str());
    std::fflush(stdout);
  }
}

const FrontFunction& FunctionOf(const std::string& name) {
  const FrontFunction* const function = FindFrontFunction(name);
  if (function == nullptr) Refuse("no function '" + name + "'; `describe` lists them");
  return *function;
}

int Main(int argc, char** argv) {
  CLI::App app("Searchers on functions of several objectives");
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
  run->add_option("--workers", plan.workers, "trials at a time")->check(CLI::PositiveNumber);
  CLI::App* const describe = app.add_subcommand("describe", "lists the functions");
  std::string name;
  uint64_t seed = 0;
  CLI::App* const answer = app.add_subcommand("answer", "answers configurations over a pipe");
  answer->add_option("function", name, "")->required();
  answer->add_option("seed", seed, "")->required();
  CLI11_PARSE(app, argc, argv);

  if (describe->parsed()) Describe();
  if (answer->parsed()) Answer(FunctionOf(name));
  if (!run->parsed()) return 0;
  for (const std::string& text : searchers) plan.contenders.push_back(ContenderOf(text));
  for (const std::string& text : functions) plan.functions.push_back(&FunctionOf(text));
  if (functions.empty()) {
    for (const FrontFunction& function : FrontFunctions()) plan.functions.push_back(&function);
  }
  Run(plan);
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::Main(argc, argv); }
