// Which searcher finds what is good and keeps the limits? As search_quality, on the functions of
// limited.h, and with as many trials at a time as are asked for.
//
//   limit_quality run --searcher gp [--function NAME]... [--first-seed 0] [--seeds 20]
//                     [--trials 60] [--workers 1]
//       prints CSV: function,searcher,seed,trial,regret. regret: the lowest value of the trials so
//       far that keep the limits, or what the function charges while none does; and to stderr the
//       processor time of a suggestion, and how many seeds found nothing that is feasible
//   limit_quality describe            a line of JSON a function: name, space, limits
//   limit_quality answer NAME SEED    reads a configuration a line; answers {"value": v,
//                                     "constraints": [...], "regret": the row's number}
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/contender.h"
#include "bench/search_quality/limited.h"
#include "core/json.h"
#include "search/searcher.h"

namespace tune {
namespace {

struct Plan {
  std::vector<Contender> contenders;
  std::vector<const LimitedFunction*> functions;
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

SearchSpace SpaceOf(const LimitedFunction& function) {
  const std::string name(function.name);
  return OrRefuse(SearchSpace::Parse(OrRefuse(ParseJson(function.space), name)), name);
}

// The best so far of what keeps the limits.
class Incumbent {
 public:
  explicit Incumbent(const LimitedFunction& function) : function_(function) {}

  // The value, then the margins.
  std::vector<double> Try(const Configuration& configuration) {
    std::vector<double> told = function_.values(configuration);
    const bool is_feasible =
        std::all_of(told.begin() + 1, told.end(), [](double margin) { return margin <= 0; });
    if (is_feasible) best_ = best_ ? std::min(*best_, told[0]) : told[0];
    return told;
  }
  double regret() const { return best_.value_or(function_.worst); }
  bool has_found_any() const { return best_.has_value(); }

 private:
  const LimitedFunction& function_;
  std::optional<double> best_;
};

struct Cost {
  double suggest_ms = 0;
  bool has_found_any = false;
};

Cost RunOne(const Contender& contender, const LimitedFunction& function, uint64_t seed,
            const Plan& plan) {
  const SearchProblem problem{.space = SpaceOf(function),
                              .modes = {Mode::kMin},
                              .limit_count = function.limits,
                              .samples = plan.trials,
                              .seed = seed};
  const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
  Incumbent incumbent(function);
  std::deque<std::pair<int64_t, Configuration>> running;
  Cost cost;
  int64_t ended = 0;
  const auto end_oldest = [&] {
    const auto [number, configuration] = running.front();
    running.pop_front();
    const std::vector<double> told = incumbent.Try(configuration);
    const std::vector<Metric> values(told.begin(), told.end());
    searcher->OnTrialEnded(TrialNumber{number}, values, false);
    std::printf("%s,%s,%llu,%lld,%.17g\n", std::string(function.name).c_str(),
                contender.name.c_str(), static_cast<unsigned long long>(seed),
                static_cast<long long>(ended++), incumbent.regret());
  };
  for (int64_t trial = 0; trial < plan.trials; ++trial) {
    const double asked_at = ProcessorMs();
    const auto configuration = searcher->Suggest(TrialNumber{trial});
    cost.suggest_ms += ProcessorMs() - asked_at;
    if (!configuration) Refuse(std::string(function.name) + ": the space is exhausted");
    running.emplace_back(trial, *configuration);
    if (running.size() == plan.workers) end_oldest();
  }
  while (!running.empty()) end_oldest();
  cost.has_found_any = incumbent.has_found_any();
  return cost;
}

void Run(const Plan& plan) {
  std::printf("function,searcher,seed,trial,regret\n");
  for (const Contender& contender : plan.contenders) {
    for (const LimitedFunction* const function : plan.functions) {
      double suggest_ms = 0;
      int64_t empty_handed = 0;
      for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
        const Cost cost = RunOne(contender, *function, seed, plan);
        suggest_ms += cost.suggest_ms;
        empty_handed += cost.has_found_any ? 0 : 1;
      }
      const double suggestions = static_cast<double>(plan.seeds) * static_cast<double>(plan.trials);
      std::fprintf(stderr, "%s on %s: %.3f ms a suggestion, %lld seeds found nothing feasible\n",
                   contender.name.c_str(), std::string(function->name).c_str(),
                   suggest_ms / suggestions, static_cast<long long>(empty_handed));
    }
  }
}

void Describe() {
  for (const LimitedFunction& function : LimitedFunctions()) {
    Value line = Value::MakeMap();
    line.Set("name", Value(function.name));
    line.Set("space", OrRefuse(ParseJson(function.space), std::string(function.name)));
    line.Set("limits", Value(static_cast<int64_t>(function.limits)));
    std::printf("%s\n", ToJson(line).c_str());
  }
}

void Answer(const LimitedFunction& function) {
  Incumbent incumbent(function);
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const Value map = OrRefuse(ParseJson(line), "line " + std::to_string(++number));
    Configuration configuration;
    for (const MapEntry& entry : map.AsMap()) configuration.Set(entry.key, entry.value);
    const std::vector<double> told = incumbent.Try(configuration);
    Value margins = Value::MakeList();
    for (size_t i = 1; i < told.size(); ++i) margins.AsList().push_back(Value(told[i]));
    Value answer = Value::MakeMap();
    answer.Set("value", Value(told[0]));
    answer.Set("constraints", std::move(margins));
    answer.Set("regret", Value(incumbent.regret()));
    std::printf("%s\n", ToJson(answer).c_str());
    std::fflush(stdout);
  }
}

const LimitedFunction& FunctionOf(const std::string& name) {
  const LimitedFunction* const function = FindLimitedFunction(name);
  if (function == nullptr) Refuse("no function '" + name + "'; `describe` lists them");
  return *function;
}

int Main(int argc, char** argv) {
  CLI::App app("Searchers on functions whose results have to keep limits");
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
    for (const LimitedFunction& function : LimitedFunctions()) plan.functions.push_back(&function);
  }
  Run(plan);
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::Main(argc, argv); }
