#include "search/tpe_searcher.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"
#include "search/grid.h"
#include "search/random_searcher.h"
#include "search/search_options.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

enum class Split { kByLoss, kByFronts, kAtHighestLevel };

class TpeSearcher final : public Searcher {
 public:
  TpeSearcher(const SearchProblem& problem, Split split, const TpeOptions& options,
              std::unique_ptr<Searcher> random)
      : observations_(problem),
        model_(observations_.space(), options.model),
        options_(options),
        split_(split),
        seed_(problem.seed),
        max_t_(problem.max_t),
        random_(std::move(random)) {}

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override {
    observations_.OnReport(number, iteration, values);
  }
  void OnStopped(TrialNumber number) override { observations_.OnStopped(number); }
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override {
    observations_.OnTrialEnded(number, last, failed);
  }
  void OnReopened(TrialNumber number) override { observations_.OnReopened(number); }
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  // Nothing while there is too little to learn from.
  std::optional<TrialSplit> SplitTrials() const;
  // Nothing when too many draws could not be used.
  std::optional<Configuration> Propose(TrialNumber number, const TrialSplit& split);

  TrialObservations observations_;
  TpeModel model_;
  TpeOptions options_;
  Split split_;
  uint64_t seed_;
  std::optional<int64_t> max_t_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.
};

std::optional<TrialSplit> TpeSearcher::SplitTrials() const {
  const auto& trials = observations_.trials();
  SplitRule rule;
  rule.gamma = options_.gamma;
  if (!options_.constant_liar) rule.running_weight = 0;
  if (split_ == Split::kAtHighestLevel) {
    return SplitAtHighestLevel(trials, rule, observations_.space().size() + 1);
  }
  // Volumes of many points of many objectives take long.
  if (split_ == Split::kByFronts) rule.good_max = 25;
  TrialSplit split =
      split_ == Split::kByFronts ? SplitByFronts(trials, rule) : SplitByLoss(trials, rule, max_t_);
  if (static_cast<int64_t>(split.ranked_count) < options_.n_startup_trials) return std::nullopt;
  return split;
}

std::optional<Configuration> TpeSearcher::Propose(TrialNumber number, const TrialSplit& split) {
  model_.Learn(observations_.trials());
  const auto& space = observations_.space();
  constexpr uint64_t kAttempts = 40;
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    const KeyedRandom random(seed_, "tpe", static_cast<uint64_t>(number.value), attempt);
    for (const std::vector<double>& point : model_.Propose(split, random)) {
      Configuration configuration = space.At(point);
      if (!space.space().Allows(configuration) || observations_.Has(configuration)) continue;
      return configuration;
    }
  }
  return std::nullopt;
}

std::optional<Configuration> TpeSearcher::Suggest(TrialNumber number) {
  KeyedRandom dice(seed_, "tpe random", static_cast<uint64_t>(number.value));
  const bool is_random = dice.NextDouble() < options_.random_fraction;
  if (const auto split = is_random ? std::nullopt : SplitTrials()) {
    if (auto configuration = Propose(number, *split)) {
      Restore(number, *configuration);
      return configuration;
    }
  }
  auto configuration = random_->Suggest(number);
  if (configuration) observations_.Add(number, *configuration);
  return configuration;
}

void TpeSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  observations_.Add(number, configuration);
  random_->Restore(number, configuration);
}

std::string TpeSearcher::DebugString() const {
  const std::string name = split_ == Split::kAtHighestLevel ? "bohb" : "tpe";
  return name + " over " + std::to_string(observations_.space().size()) + " parameters, " +
         std::to_string(observations_.trials().size()) + " trials";
}

Status ReadModelOptions(const OptionMap& map, TpeOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TUNE_RETURN_IF_ERROR(map.Read("n_ei_candidates", 1, 100'000, options.model.n_ei_candidates));
  TUNE_RETURN_IF_ERROR(map.Read("gamma", 0.001, 0.999, options.gamma));
  TUNE_RETURN_IF_ERROR(map.Read("prior_weight", 1e-6, kInfinity, options.model.prior_weight));
  TUNE_RETURN_IF_ERROR(map.Read("multivariate", options.model.multivariate));
  TUNE_RETURN_IF_ERROR(map.Read("group", options.model.group));
  if (options.model.group && !options.model.multivariate) {
    return map.Expected("group", "multivariate: true beside it");
  }
  return map.Read("constant_liar", options.constant_liar);
}

Result<std::unique_ptr<Searcher>> MakeTpe(std::string_view name, const SearchProblem& problem,
                                          Split split, const TpeOptions& options) {
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, name));
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(
      std::make_unique<TpeSearcher>(problem, split, options, std::move(random)));
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeTpeSearcher(const Value& options,
                                                  const SearchProblem& problem) {
  constexpr std::array<std::string_view, 8> kOptions = {
      "algorithm",    "n_startup_trials", "n_ei_candidates", "gamma",
      "prior_weight", "multivariate",     "group",           "constant_liar"};
  const OptionMap map = SearchOptions("tpe", options);
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TpeOptions read;
  TUNE_RETURN_IF_ERROR(map.Read("n_startup_trials", 0, 1'000'000, read.n_startup_trials));
  TUNE_RETURN_IF_ERROR(ReadModelOptions(map, read));
  return MakeTpe("tpe", problem, problem.modes.size() > 1 ? Split::kByFronts : Split::kByLoss,
                 read);
}

Result<std::unique_ptr<Searcher>> MakeBohbSearcher(const Value& options,
                                                   const SearchProblem& problem) {
  constexpr std::array<std::string_view, 8> kOptions = {
      "algorithm",    "random_fraction", "n_ei_candidates", "gamma",
      "prior_weight", "multivariate",    "group",           "constant_liar"};
  const OptionMap map = SearchOptions("bohb", options);
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  if (problem.modes.size() > 1) {
    return InvalidAt(map.PlaceOf("algorithm"), "search: bohb has one metric, and there are " +
                                                   std::to_string(problem.modes.size()) +
                                                   "; tpe and nsga2 take several");
  }
  TpeOptions read;
  read.random_fraction = 1.0 / 3;
  TUNE_RETURN_IF_ERROR(map.Read("random_fraction", 0.0, 1.0, read.random_fraction));
  TUNE_RETURN_IF_ERROR(ReadModelOptions(map, read));
  return MakeTpe("bohb", problem, Split::kAtHighestLevel, read);
}

}  // namespace tune
