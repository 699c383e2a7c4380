#include "search/nsga2_searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"
#include "search/grid.h"
#include "search/pareto.h"
#include "search/random_searcher.h"
#include "search/reference_niches.h"
#include "search/search_options.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

// How near to its old value a mutated number is: Deb's distribution index.
constexpr double kMutationIndex = 10;

class Nsga2Searcher final : public Searcher {
 public:
  Nsga2Searcher(const SearchProblem& problem, const Nsga2Options& options,
                std::unique_ptr<Searcher> random)
      : observations_(problem), options_(options), seed_(problem.seed), random_(std::move(random)) {
    if (!options_.has_niches) return;
    directions_ =
        SimplexDirections(problem.modes.size(), static_cast<size_t>(options_.population_size));
  }

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override {
    observations_.OnReport(number, iteration, values);
  }
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  void OnReopened(TrialNumber number) override;
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  struct Member {
    TrialNumber trial;
    LossPoint losses;
    double violation = 0;
    size_t rank = 0;
    double crowding = 0;  // Of NSGA-II: how lonely it is in its front.
    // Of NSGA-III.
    size_t niche_count = 0;  // How many share its niche.
    double niche_distance = 0;
  };

  // The lower front, then the lonelier or the one of the smaller niche, then the earlier trial.
  static bool IsFitter(const Member& a, const Member& b);
  void Rank();
  void FindCrowding(const std::vector<LossPoint>& points, const std::vector<size_t>& ranks);
  void FindNiches(const std::vector<LossPoint>& points, const std::vector<size_t>& ranks);
  const UnitCells& ChooseParent(KeyedRandom& random) const;
  std::vector<double> Child(KeyedRandom& random) const;

  TrialObservations observations_;
  Nsga2Options options_;
  uint64_t seed_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.
  std::vector<Member> population_;
  std::vector<LossPoint> directions_;  // Of NSGA-III.
};

bool Nsga2Searcher::IsFitter(const Member& a, const Member& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.crowding != b.crowding) return a.crowding > b.crowding;
  if (a.niche_count != b.niche_count) return a.niche_count < b.niche_count;
  if (a.niche_distance != b.niche_distance) return a.niche_distance < b.niche_distance;
  return a.trial < b.trial;
}

void Nsga2Searcher::Rank() {
  std::vector<LossPoint> points;
  std::vector<double> violations;
  for (const Member& member : population_) {
    points.push_back(member.losses);
    violations.push_back(member.violation);
  }
  const std::vector<size_t> ranks = ConstrainedRanks(points, violations);
  for (size_t i = 0; i < ranks.size(); ++i) population_[i].rank = ranks[i];
  if (options_.has_niches) {
    FindNiches(points, ranks);
  } else {
    FindCrowding(points, ranks);
  }
}

void Nsga2Searcher::FindNiches(const std::vector<LossPoint>& points,
                               const std::vector<size_t>& ranks) {
  const std::vector<Niche> niches = NichesOf(points, ranks, directions_);
  std::vector<size_t> counts(directions_.size());
  for (const Niche& niche : niches) ++counts[niche.direction];
  for (size_t i = 0; i < niches.size(); ++i) {
    population_[i].niche_count = counts[niches[i].direction];
    population_[i].niche_distance = niches[i].distance;
  }
}

void Nsga2Searcher::FindCrowding(const std::vector<LossPoint>& points,
                                 const std::vector<size_t>& ranks) {
  for (size_t front = 0;; ++front) {
    std::vector<size_t> members;
    std::vector<LossPoint> losses;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != front) continue;
      members.push_back(i);
      losses.push_back(points[i]);
    }
    if (members.empty()) return;
    const std::vector<double> crowding = CrowdingDistances(losses);
    for (size_t i = 0; i < members.size(); ++i) population_[members[i]].crowding = crowding[i];
  }
}

void Nsga2Searcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  observations_.OnTrialEnded(number, last, failed);
  const ObservedTrial* const trial = observations_.Find(number);
  if (trial == nullptr || trial->losses.empty()) return;
  population_.push_back({number, trial->losses, trial->violation});
  Rank();
  if (static_cast<int64_t>(population_.size()) <= options_.population_size) return;
  population_.erase(std::max_element(population_.begin(), population_.end(), IsFitter));
  Rank();
}

// With `repeat` it may be there by those of its runs that did not fail.
void Nsga2Searcher::OnReopened(TrialNumber number) {
  observations_.OnReopened(number);
  std::erase_if(population_, [&](const Member& member) { return member.trial == number; });
  if (!population_.empty()) Rank();
}

const UnitCells& Nsga2Searcher::ChooseParent(KeyedRandom& random) const {
  const Member& a = population_[random.NextBelow(population_.size())];
  const Member& b = population_[random.NextBelow(population_.size())];
  return observations_.Find((IsFitter(b, a) ? b : a).trial)->cells;
}

// Deb and Goyal's polynomial mutation, within the unit interval; `u` is uniform.
double Mutated(double x, double u) {
  const double power = kMutationIndex + 1;
  const double step = u < 0.5
                          ? std::pow(2 * u + (1 - 2 * u) * std::pow(1 - x, power), 1 / power) - 1
                          : 1 - std::pow(2 * (1 - u) + (2 * u - 1) * std::pow(x, power), 1 / power);
  return std::clamp(x + step, 0.0, 1.0);
}

std::vector<double> Nsga2Searcher::Child(KeyedRandom& random) const {
  const UnitCells& a = ChooseParent(random);
  const UnitCells& b = ChooseParent(random);
  const bool is_crossed = random.NextDouble() < options_.crossover_prob;
  const double mutation_prob =
      options_.mutation_prob.value_or(1 / static_cast<double>(std::max<size_t>(a.size(), 1)));
  std::vector<double> child(a.size());
  for (size_t d = 0; d < child.size(); ++d) {
    const bool is_swapped = is_crossed && random.NextDouble() < options_.swapping_prob;
    const bool is_mutated = random.NextDouble() < mutation_prob;
    const double redrawn = random.NextDouble();
    // A parameter that only one parent has comes from that one.
    const std::optional<UnitCell>& cell =
        (is_swapped ? b : a)[d] ? (is_swapped ? b : a)[d] : (is_swapped ? a : b)[d];
    if (!cell) {
      child[d] = redrawn;
    } else if (!is_mutated) {
      child[d] = cell->mid();
    } else if (observations_.space().domain(d).is_ordered()) {
      child[d] = Mutated(cell->mid(), redrawn);
    } else {
      child[d] = redrawn;
    }
  }
  return child;
}

std::optional<Configuration> Nsga2Searcher::Suggest(TrialNumber number) {
  constexpr uint64_t kAttempts = 100;
  const bool is_begun =
      static_cast<int64_t>(observations_.trials().size()) >= options_.population_size &&
      !population_.empty();
  for (uint64_t attempt = 0; is_begun && attempt < kAttempts; ++attempt) {
    KeyedRandom random(seed_, options_.has_niches ? "nsga3" : "nsga2",
                       static_cast<uint64_t>(number.value), attempt);
    Configuration configuration = observations_.space().At(Child(random));
    if (!observations_.space().space().Allows(configuration)) continue;
    if (observations_.Has(configuration)) continue;
    Restore(number, configuration);
    return configuration;
  }
  auto configuration = random_->Suggest(number);
  if (configuration) observations_.Add(number, *configuration);
  return configuration;
}

void Nsga2Searcher::Restore(TrialNumber number, const Configuration& configuration) {
  observations_.Add(number, configuration);
  random_->Restore(number, configuration);
}

std::string Nsga2Searcher::DebugString() const {
  return std::string(options_.has_niches ? "nsga3" : "nsga2") + ", population of " +
         std::to_string(population_.size()) + " of " + std::to_string(options_.population_size);
}

Result<std::unique_ptr<Searcher>> MakeNsga(std::string_view name, const Value& options,
                                           const SearchProblem& problem, Nsga2Options read) {
  constexpr std::array<std::string_view, 5> kOptions = {
      "algorithm", "population_size", "crossover_prob", "swapping_prob", "mutation_prob"};
  const OptionMap map = SearchOptions(name, options);
  double mutation_prob = 0;
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(
      map.Read("population_size", int64_t{2}, int64_t{10'000}, read.population_size));
  TUNE_RETURN_IF_ERROR(map.Read("crossover_prob", 0.0, 1.0, read.crossover_prob));
  TUNE_RETURN_IF_ERROR(map.Read("swapping_prob", 0.0, 1.0, read.swapping_prob));
  TUNE_RETURN_IF_ERROR(map.Read("mutation_prob", 0.0, 1.0, mutation_prob));
  if (map.Find("mutation_prob") != nullptr) read.mutation_prob = mutation_prob;
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, name));
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(
      std::make_unique<Nsga2Searcher>(problem, read, std::move(random)));
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeNsga2Searcher(const Value& options,
                                                    const SearchProblem& problem) {
  return MakeNsga("nsga2", options, problem, {});
}

Result<std::unique_ptr<Searcher>> MakeNsga3Searcher(const Value& options,
                                                    const SearchProblem& problem) {
  if (problem.modes.size() < 2) {
    return InvalidAt(SearchOptions("nsga3", options).PlaceOf("algorithm"),
                     "search: nsga3 spreads trials over several metrics, and there is one; use "
                     "nsga2, or gp");
  }
  return MakeNsga("nsga3", options, problem, {.has_niches = true});
}

}  // namespace tune
