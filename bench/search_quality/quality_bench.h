// What the benches of searchers share: `run`, `describe` and `answer`, their plan, and trials that
// run side by side.
//
// Thread rule: one thread.
#pragma once

#include <time.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/contender.h"
#include "core/json.h"
#include "search/searcher.h"

namespace tune {

template <typename Function>
struct QualityPlan {
  std::vector<Contender> contenders;
  std::vector<const Function*> functions;
  uint64_t first_seed = 0;
  uint64_t seeds = 20;
  int64_t trials = 60;
  size_t workers = 1;
};

// One kind of functions, each with a `name` and a `space` of its own.
template <typename Function>
struct QualityBench {
  const char* title;
  std::span<const Function> functions;
  // A row of CSV a trial (PrintQuality), and to stderr what there is to say of all seeds.
  std::function<void(const Contender&, const Function&, const QualityPlan<Function>&)> run;
  std::function<void(const Function&, Value& line)> describe;  // Adds what a peer has to know.
  // For each configuration, in order, the answer.
  std::function<std::function<Value(const Configuration&)>(const Function&, uint64_t seed)> answer;
  int64_t trials = 60;
  bool has_workers = true;
};

template <typename Function>
SearchSpace SpaceOf(const Function& function) {
  const std::string name(function.name);
  return OrRefuse(SearchSpace::Parse(OrRefuse(ParseJson(function.space), name)), name);
}

inline void PrintQuality(std::string_view function, const Contender& contender, uint64_t seed,
                         int64_t trial, double regret) {
  std::printf("%s,%s,%llu,%lld,%.17g\n", std::string(function).c_str(), contender.name.c_str(),
              static_cast<unsigned long long>(seed), static_cast<long long>(trial), regret);
}

inline double ProcessorMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// `plan.workers` at a time; the oldest ends first, with what `end` gives. Returns the processor
// time of the suggestions, in milliseconds.
template <typename Function>
double RunTrials(Searcher& searcher, const QualityPlan<Function>& plan,
                 const std::function<std::vector<double>(const Configuration&)>& end) {
  std::deque<std::pair<int64_t, Configuration>> running;
  double suggest_ms = 0;
  const auto end_oldest = [&] {
    const auto [number, configuration] = running.front();
    running.pop_front();
    const std::vector<double> told = end(configuration);
    searcher.OnTrialEnded(TrialNumber{number}, std::vector<Metric>(told.begin(), told.end()),
                          false);
  };
  for (int64_t trial = 0; trial < plan.trials; ++trial) {
    const double asked_at = ProcessorMs();
    const auto configuration = searcher.Suggest(TrialNumber{trial});
    suggest_ms += ProcessorMs() - asked_at;
    if (!configuration) Refuse("the space is exhausted");
    running.emplace_back(trial, *configuration);
    if (running.size() == plan.workers) end_oldest();
  }
  while (!running.empty()) end_oldest();
  return suggest_ms;
}

template <typename Function>
const Function& FunctionOf(std::span<const Function> functions, const std::string& name) {
  for (const Function& function : functions) {
    if (function.name == name) return function;
  }
  Refuse("no function '" + name + "'; `describe` lists them");
}

// Those of the names; all where none is given.
template <typename Function>
std::vector<const Function*> FunctionsOf(std::span<const Function> functions,
                                         const std::vector<std::string>& names) {
  std::vector<const Function*> chosen;
  for (const std::string& name : names) chosen.push_back(&FunctionOf(functions, name));
  for (const Function& function : functions) {
    if (names.empty()) chosen.push_back(&function);
  }
  return chosen;
}

template <typename Function>
void Describe(const QualityBench<Function>& bench) {
  for (const Function& function : bench.functions) {
    Value line = Value::MakeMap();
    line.Set("name", Value(function.name));
    line.Set("space", OrRefuse(ParseJson(function.space), std::string(function.name)));
    bench.describe(function, line);
    std::printf("%s\n", ToJson(line).c_str());
  }
}

// A configuration a line, and a line for each.
inline void AnswerLines(const std::function<Value(const Configuration&)>& answer) {
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const Value map = OrRefuse(ParseJson(line), "line " + std::to_string(++number));
    Configuration configuration;
    for (const MapEntry& entry : map.AsMap()) configuration.Set(entry.key, entry.value);
    std::printf("%s\n", ToJson(answer(configuration)).c_str());
    std::fflush(stdout);
  }
}

template <typename Function>
void Run(const QualityBench<Function>& bench, const QualityPlan<Function>& plan) {
  std::printf("function,searcher,seed,trial,regret\n");
  for (const Contender& contender : plan.contenders) {
    for (const Function* const function : plan.functions) bench.run(contender, *function, plan);
  }
}

template <typename Function>
int QualityMain(const QualityBench<Function>& bench, int argc, char** argv) {
  CLI::App app(bench.title);
  app.require_subcommand(1);
  std::vector<std::string> searchers, functions;
  QualityPlan<Function> plan;
  plan.trials = bench.trials;
  CLI::App* const run = app.add_subcommand("run", "runs searchers; prints CSV");
  run->add_option("--searcher", searchers, "an algorithm, or NAME={...}")->required();
  run->add_option("--function", functions, "default: all");
  run->add_option("--first-seed", plan.first_seed, "");
  run->add_option("--seeds", plan.seeds, "how many");
  run->add_option("--trials", plan.trials, "");
  if (bench.has_workers) {
    run->add_option("--workers", plan.workers, "trials at a time")->check(CLI::PositiveNumber);
  }
  CLI::App* const describe = app.add_subcommand("describe", "lists the functions");
  std::string name;
  uint64_t seed = 0;
  CLI::App* const answer = app.add_subcommand("answer", "answers configurations over a pipe");
  answer->add_option("function", name, "")->required();
  answer->add_option("seed", seed, "")->required();
  CLI11_PARSE(app, argc, argv);

  if (describe->parsed()) Describe(bench);
  if (answer->parsed()) AnswerLines(bench.answer(FunctionOf(bench.functions, name), seed));
  if (!run->parsed()) return 0;
  for (const std::string& text : searchers) plan.contenders.push_back(ContenderOf(text));
  plan.functions = FunctionsOf(bench.functions, functions);
  Run(bench, plan);
  return 0;
}

}  // namespace tune
