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
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/search_quality/fronts.h"
#include "bench/search_quality/quality_bench.h"
#include "search/pareto.h"

namespace tune {
namespace {

void RunSeeds(const Contender& contender, const FrontFunction& function,
              const QualityPlan<FrontFunction>& plan) {
  double suggest_ms = 0;
  for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
    const SearchProblem problem{.space = SpaceOf(function),
                                .modes = std::vector<Mode>(function.reference.size(), Mode::kMin),
                                .samples = plan.trials,
                                .seed = seed};
    const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
    std::vector<LossPoint> points;
    suggest_ms += RunTrials(*searcher, plan, [&](const Configuration& configuration) {
      points.push_back(function.values(configuration));
      PrintQuality(function.name, contender, seed, static_cast<int64_t>(points.size()) - 1,
                   -Hypervolume(points, function.reference));
      return points.back();
    });
  }
  const double suggestions = static_cast<double>(plan.seeds) * static_cast<double>(plan.trials);
  std::fprintf(stderr, "%s on %s: %.3f ms a suggestion\n", contender.name.c_str(),
               std::string(function.name).c_str(), suggest_ms / suggestions);
}

Value Answered(const FrontFunction& function, std::vector<LossPoint>& points,
               const Configuration& configuration) {
  points.push_back(function.values(configuration));
  Value values = Value::MakeList();
  for (const double value : points.back()) values.AsList().push_back(Value(value));
  Value answer = Value::MakeMap();
  answer.Set("values", std::move(values));
  answer.Set("regret", Value(-Hypervolume(points, function.reference)));
  return answer;
}

QualityBench<FrontFunction> Bench() {
  return {.title = "Searchers on functions of several objectives",
          .functions = FrontFunctions(),
          .run = RunSeeds,
          .describe =
              [](const FrontFunction& function, Value& line) {
                line.Set("objectives", Value(static_cast<int64_t>(function.reference.size())));
              },
          .answer =
              [](const FrontFunction& function, uint64_t) {
                return [&function, points = std::make_shared<std::vector<LossPoint>>()](
                           const Configuration& configuration) {
                  return Answered(function, *points, configuration);
                };
              }};
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::QualityMain(tune::Bench(), argc, argv); }
