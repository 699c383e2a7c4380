#include "search/auto_choice.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "core/counted.h"
#include "search/auto_searcher.h"
#include "search/grid.h"
#include "search/search_options.h"

namespace tune {
namespace {

constexpr int64_t kTooFewToLearn = 10;
// Without a limit of trials. A grid goes along one parameter after the other: of more points the
// first hundreds would all be alike.
constexpr int64_t kGridWithoutLimitMax = 500;
constexpr int64_t kParametersOfGpMax = 50;
constexpr int64_t kParametersOfGpMaxBefore = 20;  // Where auto does not favour gp.
constexpr int64_t kTrialsOfGpMax = 500;
constexpr size_t kObjectivesOfGpMax = 4;
constexpr int64_t kTrialsOfCmaEsMin = 2000;
constexpr int64_t kTrialsOfNsga2Min = 1000;

// Where gp leads, others may join it later on (search/auto_searcher.h).
bool Learns(const SearchProblem& problem) { return problem.rules >= SearchRules::kFrom14; }
bool FavoursGp(const SearchProblem& problem) { return problem.rules >= SearchRules::kFrom13; }

// What of a space and a budget counts for the choice.
struct Features {
  int64_t parameters = 0;  // With a domain.
  int64_t choices = 0;     // Of them, those without an order.
  bool has_grid_search = false;
  bool has_conditions = false;
};

Features FeaturesOf(const SearchSpace& space) {
  Features features;
  features.has_conditions = space.has_conditions();
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain == nullptr) continue;
    ++features.parameters;
    features.choices += domain->is_ordered() ? 0 : 1;
    features.has_grid_search =
        features.has_grid_search || domain->kind() == Domain::Kind::kGridSearch;
  }
  return features;
}

AutoChoice Choice(std::string_view algorithm, const std::string& why) {
  AutoChoice choice;
  choice.search = Value::MakeMap();
  choice.search.Set("algorithm", Value(algorithm));
  choice.why = std::string(algorithm) + ": " + why;
  return choice;
}

AutoChoice ChoiceForFront(const SearchProblem& problem, const std::string& budget) {
  const std::string both = std::to_string(problem.modes.size()) + " objectives and " + budget;
  const bool takes_gp = FavoursGp(problem);
  if (problem.samples >= kTrialsOfNsga2Min || (problem.samples < 0 && !takes_gp)) {
    return Choice("nsga2", both + ", enough for generations");
  }
  if (!takes_gp || problem.samples > kTrialsOfGpMax || problem.modes.size() > kObjectivesOfGpMax) {
    return Choice("tpe", both);
  }
  return Choice("gp", both + ", each of which is worth the thought");
}

AutoChoice ChoiceForBest(const SearchProblem& problem, const Features& features,
                         const std::string& budget) {
  const int64_t samples = problem.samples;
  const bool is_endless = samples < 0;
  const std::string size = Counted(features.parameters, "parameter");
  if (features.has_conditions && !FavoursGp(problem)) {
    return Choice("tpe", size + ", some under conditions");
  }
  if (2 * features.choices > features.parameters && !FavoursGp(problem)) {
    return Choice("tpe", size + ", most of them choices without an order");
  }
  const bool has_order_alone = features.choices == 0 && !features.has_conditions;
  if (!is_endless && samples >= kTrialsOfCmaEsMin && has_order_alone) {
    return Choice("cmaes", size + " with an order and " + budget);
  }
  if (features.parameters > (FavoursGp(problem) ? kParametersOfGpMax : kParametersOfGpMaxBefore)) {
    return Choice("tpe", size + " are too many for a Gaussian process");
  }
  if (!is_endless && samples > kTrialsOfGpMax && !Learns(problem)) {
    return Choice("tpe", budget + " are too many for a Gaussian process");
  }
  return Choice("gp", size + " and " + budget + ", each of which is worth the thought");
}

}  // namespace

AutoChoice ChooseAlgorithm(const SearchProblem& problem) {
  const Features features = FeaturesOf(problem.space);
  const int64_t samples = problem.samples;
  const bool is_endless = samples < 0;
  const std::string budget = is_endless ? "no limit of trials" : Counted(samples, "trial");
  if (features.parameters == 0) return Choice("random", "there is nothing to choose from");
  if (features.has_grid_search) return Choice("random", "the space has a grid_search");
  if (problem.modes.size() > 1) return ChoiceForFront(problem, budget);
  if (problem.has_prior) return Choice("gp", "an earlier sweep is its prior");
  // Those that would not learn are no choice where there is an earlier sweep to learn from.
  const int64_t points =
      Learns(problem) ? static_cast<int64_t>(std::max(problem.points.size(), problem.point_count))
                      : 0;
  const int64_t grid_max = is_endless ? kGridWithoutLimitMax : samples - points;
  if (const Result<Grid> all = Grid::OfAll(problem.space);
      !problem.has_earlier && all.ok() && all->size() <= grid_max) {
    return Choice(
        "grid", "the space has " + Counted(all->size(), "point") + ", " + budget + " try them all");
  }
  if (!problem.has_earlier && !is_endless && samples < kTooFewToLearn) {
    return Choice("sobol", budget + (samples == 1 ? " is" : " are") +
                               " too few to learn from; spread evenly");
  }
  return ChoiceForBest(problem, features, budget);
}

Result<std::unique_ptr<Searcher>> MakeAutoSearcher(const Value& options,
                                                   const SearchProblem& problem) {
  constexpr std::array<std::string_view, 2> kOptions = {"algorithm", "per"};
  TUNE_RETURN_IF_ERROR(SearchOptions("auto", options).CheckNames(kOptions));
  AutoChoice choice = ChooseAlgorithm(problem);
  const bool leads = *choice.search.Find("algorithm") == Value("gp");
  const Value* const per = options.is_map() ? options.Find("per") : nullptr;
  if (per != nullptr && *per != Value("seconds") && *per != Value("trial")) {
    return SearchOptions("auto", options).Expected("per", "seconds, or trial");
  }
  if (leads && per != nullptr) choice.search.Set("per", *per);
  TUNE_ASSIGN_OR_RETURN(auto searcher, MakeSearcher(choice.search, problem));
  if (!leads || !Learns(problem)) return searcher;
  Value tpe = Value::MakeMap();
  tpe.Set("algorithm", Value("tpe"));
  SearchProblem others = problem;
  others.needs_regret = false;
  others.has_prior = false;
  TUNE_ASSIGN_OR_RETURN(auto other, MakeSearcher(tpe, others));
  const bool is_judged = problem.modes.size() == 1 && problem.limit_count == 0;
  return std::unique_ptr<Searcher>(std::make_unique<AutoSearcher>(
      std::move(searcher), std::move(other),
      is_judged ? std::optional(problem.modes[0]) : std::nullopt, problem.rules));
}

}  // namespace tune
