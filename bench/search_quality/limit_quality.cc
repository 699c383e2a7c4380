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
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/search_quality/limited.h"
#include "bench/search_quality/quality_bench.h"

namespace tune {
namespace {

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

void RunSeeds(const Contender& contender, const LimitedFunction& function,
              const QualityPlan<LimitedFunction>& plan) {
  double suggest_ms = 0;
  int64_t empty_handed = 0;
  for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
    const SearchProblem problem{.space = SpaceOf(function),
                                .modes = {Mode::kMin},
                                .limit_count = function.limits,
                                .samples = plan.trials,
                                .seed = seed};
    const auto searcher = OrRefuse(MakeSearcher(contender.search, problem), contender.name);
    Incumbent incumbent(function);
    int64_t ended = 0;
    suggest_ms += RunTrials(*searcher, plan, [&](const Configuration& configuration) {
      std::vector<double> told = incumbent.Try(configuration);
      PrintQuality(function.name, contender, seed, ended++, incumbent.regret());
      return told;
    });
    empty_handed += incumbent.has_found_any() ? 0 : 1;
  }
  const double suggestions = static_cast<double>(plan.seeds) * static_cast<double>(plan.trials);
  std::fprintf(stderr, "%s on %s: %.3f ms a suggestion, %lld seeds found nothing feasible\n",
               contender.name.c_str(), std::string(function.name).c_str(), suggest_ms / suggestions,
               static_cast<long long>(empty_handed));
}

Value Answered(Incumbent& incumbent, const Configuration& configuration) {
  const std::vector<double> told = incumbent.Try(configuration);
  Value margins = Value::MakeList();
  for (size_t i = 1; i < told.size(); ++i) margins.AsList().push_back(Value(told[i]));
  Value answer = Value::MakeMap();
  answer.Set("value", Value(told[0]));
  answer.Set("constraints", std::move(margins));
  answer.Set("regret", Value(incumbent.regret()));
  return answer;
}

QualityBench<LimitedFunction> Bench() {
  return {.title = "Searchers on functions whose results have to keep limits",
          .functions = LimitedFunctions(),
          .run = RunSeeds,
          .describe =
              [](const LimitedFunction& function, Value& line) {
                line.Set("limits", Value(static_cast<int64_t>(function.limits)));
              },
          .answer =
              [](const LimitedFunction& function, uint64_t) {
                return [incumbent = std::make_shared<Incumbent>(function)](
                           const Configuration& configuration) {
                  return Answered(*incumbent, configuration);
                };
              }};
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::QualityMain(tune::Bench(), argc, argv); }
