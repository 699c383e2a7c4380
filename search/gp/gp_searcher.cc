#include "search/gp/gp_searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"
#include "search/gp/acquisition_search.h"
#include "search/gp/cost_model.h"
#include "search/gp/gp_model.h"
#include "search/gp/level_table.h"
#include "search/gp/outlook.h"
#include "search/gp/prior.h"
#include "search/gp/remaining_regret.h"
#include "search/grid.h"
#include "search/random_searcher.h"
#include "search/search_options.h"
#include "search/sobol_sequence.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

using Eigen::Index;

// Fewer results than this make no model, and fewer whole trainings no level.
constexpr size_t kResultsMin = 4;
// There is a process for each level, and none of nothing: a trial that runs has no value where
// only ends count.
bool HaveValues(const std::vector<LevelTable>& tables) {
  const auto has_value = [](const std::vector<std::optional<double>>& losses) {
    return std::any_of(losses.begin(), losses.end(),
                       [](const auto& loss) { return loss && !std::isnan(*loss); });
  };
  return std::all_of(tables.begin(), tables.end(), [&](const LevelTable& table) {
    return std::all_of(table.losses.begin(), table.losses.end(), has_value);
  });
}

class GpSearcher final : public Searcher {
 public:
  GpSearcher(const SearchProblem& problem, const GpOptions& options,
             std::unique_ptr<Searcher> random)
      : observations_(problem),
        acquisition_(observations_.space(), problem.rules),
        sobol_(std::min(observations_.space().size(), SobolSequence::kDimensionsMax)),
        options_(options),
        seed_(problem.seed),
        limit_count_(problem.limit_count),
        max_t_(problem.max_t),
        rules_(problem.rules),
        random_(std::move(random)) {
    if (!problem.prior.empty()) prior_.emplace(problem, acquisition_);
  }

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  void OnStopped(TrialNumber number) override { observations_.OnStopped(number); }
  void OnReopened(TrialNumber number) override;
  void OnDuration(TrialNumber number, double seconds) override;
  std::optional<double> PredictiveSkill() override;
  std::optional<double> RemainingRegret() override;
  bool EstimatesRegret() const override { return objective_count() == 1 && limit_count_ == 0; }
  std::string TakeNews() override { return std::exchange(news_, std::string()); }
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  // What was known when a model became due. The model itself is made when it is asked for: not at
  // all for those of an earlier life.
  struct Occasion {
    std::vector<int64_t> levels;
    std::vector<LevelTable> tables;  // One for each objective, then one for each limit.
  };
  void Add(TrialNumber number, const Configuration& configuration);
  bool IsFresh(const Configuration& configuration) const;
  std::optional<Configuration> SuggestByStartup(TrialNumber number) const;
  const UnitCells* NextFavourite() const;
  std::optional<Configuration> SuggestByModel(TrialNumber number);
  void MakeModels(const Points& points);
  void TellOfPrior();
  size_t objective_count() const { return observations_.objective_count(); }
  Points PointsOf(size_t count) const;
  double WeightOfBeliefs() const;
  // Nothing while too few trials have ended.
  std::optional<CostModel> MakeCostModel(const Points& points) const;
  double WholeIterations() const;
  // A trial has brought its first result.
  void CountResult();

  TrialObservations observations_;
  AcquisitionSearch acquisition_;
  SobolSequence sobol_;
  GpOptions options_;
  uint64_t seed_;
  size_t limit_count_;
  std::optional<int64_t> max_t_;
  SearchRules rules_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.
  std::optional<Prior> prior_;

  size_t results_ = 0;  // Trials with a report, or ended.
  size_t next_occasion_ = kResultsMin;
  std::optional<Occasion> occasion_;
  // Of the occasion, once they were asked for, in the order of its tables.
  std::vector<GpModel> models_;
  std::optional<double> skill_;            // Likewise,
  std::optional<double> regret_;           // and this.
  std::map<TrialNumber, double> seconds_;  // Of trials that have ended, for `per: seconds`.
  std::optional<bool> said_prior_counts_;  // What a person was told last of the prior.
  std::optional<bool> prior_counts_;       // To the last model.
  int64_t restored_ = 0;                   // Trials that others suggested, or an earlier life.
  std::string news_;
};

std::optional<Configuration> GpSearcher::Suggest(TrialNumber number) {
  const size_t levels = occasion_ ? occasion_->levels.size() : 1;
  const bool is_starting = static_cast<int64_t>(observations_.trials().size()) <
                           options_.n_startup_trials * static_cast<int64_t>(levels);
  auto configuration =
      is_starting || !occasion_ ? SuggestByStartup(number) : SuggestByModel(number);
  if (!configuration) configuration = random_->Suggest(number);
  if (configuration) Add(number, *configuration);
  return configuration;
}

void GpSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  restored_ += number.value >= 0 ? 1 : 0;
  Add(number, configuration);
}

void GpSearcher::Add(TrialNumber number, const Configuration& configuration) {
  observations_.Add(number, configuration);
  random_->Restore(number, configuration);
}

void GpSearcher::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  observations_.OnReport(number, iteration, values);
  const ObservedTrial* const trial = observations_.Find(number);
  if (trial != nullptr && trial->reports.size() == 1) CountResult();
}

void GpSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  observations_.OnTrialEnded(number, last, failed);
  const ObservedTrial* const trial = observations_.Find(number);
  if (trial != nullptr && trial->reports.empty()) CountResult();
}

// Where nothing is left that is known, there is nothing to look at with a model.
void GpSearcher::OnReopened(TrialNumber number) {
  observations_.OnReopened(number);
  if (!occasion_ || HaveValues(TablesOf(observations_, limit_count_, occasion_->levels))) return;
  occasion_.reset();
  models_.clear();
  skill_.reset();
  regret_.reset();
}

void GpSearcher::CountResult() {
  if (++results_ < next_occasion_) return;
  next_occasion_ = results_ + std::max<size_t>(1, results_ / 16);
  // A report that is not the last says little of limits: trials then count as they ended.
  const bool has_levels = options_.fidelity && objective_count() == 1 && limit_count_ == 0;
  auto levels =
      has_levels ? ChooseLevels(observations_.trials(), kResultsMin) : std::vector<int64_t>{0};
  auto tables = TablesOf(observations_, limit_count_, levels);
  if (!HaveValues(tables)) return;
  occasion_ = Occasion{std::move(levels), std::move(tables)};
  models_.clear();
  skill_.reset();
  regret_.reset();
}

bool GpSearcher::IsFresh(const Configuration& configuration) const {
  return observations_.space().space().Allows(configuration) && !observations_.Has(configuration);
}

std::optional<Configuration> GpSearcher::SuggestByStartup(TrialNumber number) const {
  std::vector<double> point(observations_.space().size(), 0.5);
  // Every other one, so that there is something to compare those that are believed good with.
  const bool believes = number.value % 2 == 0;
  for (size_t d = 0; d < sobol_.dimensions(); ++d) {
    point[d] = sobol_.ScrambledAt(d, static_cast<uint32_t>(number.value), seed_);
    const Belief* const belief = acquisition_.beliefs().Of(d);
    if (belief != nullptr && believes) point[d] = belief->Quantile(point[d]);
  }
  const UnitCells* const favourite = believes ? NextFavourite() : nullptr;
  for (size_t d = 0; favourite != nullptr && d < point.size(); ++d) {
    if ((*favourite)[d]) point[d] = (*favourite)[d]->mid();
  }
  Configuration configuration = observations_.space().At(point);
  if (!IsFresh(configuration)) return std::nullopt;
  return configuration;
}

// The first of the prior's that no trial had, whoever suggested it; null: there is none.
const UnitCells* GpSearcher::NextFavourite() const {
  const auto had = [](const ObservedTrial& trial, const UnitCells& favourite) {
    for (size_t d = 0; d < favourite.size(); ++d) {
      const bool is_alike =
          !favourite[d] || (trial.cells[d] && trial.cells[d]->lo <= favourite[d]->mid() &&
                            favourite[d]->mid() <= trial.cells[d]->hi);
      if (!is_alike) return false;
    }
    return true;
  };
  for (size_t order = 0; prior_; ++order) {
    const UnitCells* const favourite = prior_->Favourite(order);
    if (favourite == nullptr) return nullptr;
    const auto& trials = observations_.trials();
    if (std::none_of(trials.begin(), trials.end(),
                     [&](const ObservedTrial& trial) { return had(trial, *favourite); })) {
      return favourite;
    }
  }
  return nullptr;
}

Points GpSearcher::PointsOf(size_t count) const {
  Points points(static_cast<Index>(count), static_cast<Index>(observations_.space().size()));
  for (size_t i = 0; i < count; ++i) {
    points.row(static_cast<Index>(i)) = acquisition_.PointOf(observations_.trials()[i].cells);
  }
  return points;
}

void GpSearcher::MakeModels(const Points& points) {
  for (const LevelTable& table : occasion_->tables) {
    const auto count = static_cast<Index>(table.losses[0].size());
    const bool is_limit = models_.size() >= objective_count();
    GpModelOptions options = {.is_noisy = !options_.deterministic_objective};
    if (is_limit) options.bound = {0.0, rules_ >= SearchRules::kFrom14};
    if (prior_ && !is_limit) options.prior = prior_->surrogate();
    models_.emplace_back(acquisition_.is_category(), points.topRows(count), table, options);
  }
  if (prior_) TellOfPrior();
}

// What two models in a row say. What was said in an earlier life is not said again.
void GpSearcher::TellOfPrior() {
  const bool counts = models_[0].prior_slope() > 0;
  if (std::exchange(prior_counts_, counts) != counts) return;
  const bool has_lived = restored_ > options_.n_startup_trials + 1;
  const bool was_said = said_prior_counts_ ? *said_prior_counts_ == counts : has_lived;
  said_prior_counts_ = counts;
  if (was_said) return;
  news_ = counts ? "search: so far the prior explains a part of the results, and counts by it"
                 : "search: so far the prior explains nothing of the results, and does not count";
}

void GpSearcher::OnDuration(TrialNumber number, double seconds) {
  if (options_.per_seconds && seconds > 0) seconds_[number] = seconds;
}

// Of the latest that ended: what is long ago tells little of machines, and a fit takes its time.
// One that was stopped counts as it would have gone on.
std::optional<CostModel> GpSearcher::MakeCostModel(const Points& points) const {
  constexpr size_t kTrialsMax = 100;
  std::vector<size_t> trials;
  std::vector<double> seconds;
  const double whole = WholeIterations();
  for (size_t i = observations_.trials().size(); i > 0 && trials.size() < kTrialsMax; --i) {
    const ObservedTrial& trial = observations_.trials()[i - 1];
    const auto found = seconds_.find(trial.number);
    if (found == seconds_.end() || trial.state != ObservedTrial::State::kEnded) continue;
    const auto iterations = static_cast<double>(std::max<int64_t>(1, trial.iterations()));
    trials.push_back(i - 1);
    seconds.push_back(trial.is_whole ? found->second
                                     : found->second * std::max(1.0, whole / iterations));
  }
  if (trials.size() < kResultsMin) return std::nullopt;
  const Eigen::Map<const Eigen::VectorXd> all(seconds.data(), static_cast<Index>(seconds.size()));
  return CostModel(acquisition_.is_category(), points(trials, Eigen::all), all);
}

// Of a trial that nobody stops: the median, or where none has ended so what the scheduler says.
double GpSearcher::WholeIterations() const {
  std::vector<int64_t> whole;
  for (const ObservedTrial& trial : observations_.trials()) {
    if (trial.is_whole) whole.push_back(trial.iterations());
  }
  if (whole.empty()) return static_cast<double>(max_t_.value_or(1));
  const auto middle = whole.begin() + static_cast<Index>(whole.size() / 2);
  std::nth_element(whole.begin(), middle, whole.end());
  return static_cast<double>(*middle);
}

// Of several objectives the mean of what each of them says.
double GpSearcher::WeightOfBeliefs() const {
  double sum = 0;
  for (size_t k = 0; k < objective_count(); ++k) {
    std::vector<double> log_densities;
    std::vector<double> losses;
    for (const ObservedTrial& trial : observations_.trials()) {
      const bool is_running = trial.state == ObservedTrial::State::kRunning;
      const bool has_loss = !trial.losses.empty() && !std::isnan(trial.losses[k]);
      if (!has_loss && is_running) continue;
      log_densities.push_back(acquisition_.beliefs().LogDensity(trial.cells));
      if (!has_loss) {
        losses.push_back(std::numeric_limits<double>::infinity());
        continue;
      }
      losses.push_back(objective_count() == 1 ? trial.ranked_loss() : trial.losses[k]);
    }
    sum += Beliefs::WeightOf(log_densities, losses);
  }
  return sum / static_cast<double>(objective_count());
}

std::optional<Configuration> GpSearcher::SuggestByModel(TrialNumber number) {
  const Points points = PointsOf(observations_.trials().size());
  if (models_.empty()) MakeModels(points);
  Outlook outlook;
  OutlookMaker(observations_, limit_count_, options_.reference, models_, occasion_->levels, points,
               rules_)
      .Make(outlook);
  const std::optional<CostModel> cost = options_.per_seconds ? MakeCostModel(points) : std::nullopt;
  if (cost)
    outlook.acquisition = std::make_unique<PerSecond>(std::move(outlook.acquisition), *cost);
  AcquisitionSearch::Aim aim = {*outlook.acquisition};
  const auto point_of = [&](size_t trial) -> Eigen::VectorXd {
    return points.row(static_cast<Index>(trial));
  };
  for (const size_t trial : outlook.pending) aim.pending.push_back(point_of(trial));
  if (!acquisition_.beliefs().is_empty()) aim.belief = WeightOfBeliefs();
  std::vector<Eigen::VectorXd> incumbents;
  for (const size_t trial : outlook.incumbents) incumbents.push_back(point_of(trial));
  const KeyedRandom random(seed_, "gp", static_cast<uint64_t>(number.value));
  for (Configuration& configuration : acquisition_.Promising(aim, incumbents, random)) {
    if (IsFresh(configuration)) return std::move(configuration);
  }
  return std::nullopt;
}

// Of the first objective.
std::optional<double> GpSearcher::PredictiveSkill() {
  if (!occasion_ || skill_) return skill_;
  const Points points = PointsOf(observations_.trials().size());
  if (models_.empty()) MakeModels(points);
  skill_ = models_[0].Skill(points, occasion_->tables[0]);
  return skill_;
}

// Of what was known at the occasion. Not while the first trials are spread: they would be too few,
// whatever an earlier sweep knew. Nor while too few have succeeded, or all alike: to a model of one
// value there is nothing to gain anywhere.
std::optional<double> GpSearcher::RemainingRegret() {
  if (!occasion_ || regret_ || !EstimatesRegret()) return regret_;
  const bool wants_results = rules_ >= SearchRules::kFrom15;
  const auto is_own = [wants_results](const ObservedTrial& trial) {
    const bool has_result = !trial.losses.empty() && std::isfinite(trial.losses[0]);
    return trial.number.value >= 0 && trial.state != ObservedTrial::State::kRunning &&
           (has_result || !wants_results);
  };
  const auto& trials = observations_.trials();
  if (std::count_if(trials.begin(), trials.end(), is_own) < options_.n_startup_trials) {
    return regret_;
  }
  const Points points = PointsOf(occasion_->tables[0].losses[0].size());
  if (models_.empty()) MakeModels(points);
  if (wants_results && !models_[0].HasSpread()) return regret_;
  const GpModel::View view = models_[0].Look(points, occasion_->tables[0]);
  if (view.leading.empty()) return regret_;
  std::vector<Eigen::VectorXd> incumbents;
  for (size_t i = 0; i < std::min<size_t>(4, view.leading.size()); ++i) {
    incumbents.emplace_back(points.row(static_cast<Index>(view.leading[i])));
  }
  const KeyedRandom random(seed_, "gp regret", static_cast<uint64_t>(points.rows()));
  const LossImprovement improvement(view.surrogate, view.best, 0);
  const auto looked_at = acquisition_.Looked({improvement}, incumbents, random);
  if (!looked_at) return regret_;
  regret_ = tune::RemainingRegret(models_[0], view.surrogate, incumbents[0], *looked_at, random);
  return regret_;
}

std::string GpSearcher::DebugString() const {
  return "gp, " + std::to_string(observations_.trials().size()) + " trials, " +
         std::to_string(results_) + " with results, " +
         std::to_string(occasion_ ? occasion_->levels.size() : 0) + " levels";
}

// A number for each metric, as it is reported; a loss for each.
Status ReadReference(const OptionMap& map, const std::vector<Mode>& modes, Losses& reference) {
  const Value* const list = map.Find("reference");
  if (list == nullptr) return OkStatus();
  if (modes.size() == 1) {
    return map.Expected("reference", "several metrics, whose front it bounds; there is one");
  }
  const std::string expected =
      "a list of " + std::to_string(modes.size()) + " numbers, one for each metric";
  if (!list->is_list() || list->AsList().size() != modes.size()) {
    return map.Expected("reference", expected);
  }
  for (size_t k = 0; k < modes.size(); ++k) {
    const Value& value = list->AsList()[k];
    if (!value.is_number() || !std::isfinite(value.AsDouble())) {
      return map.Expected("reference", expected);
    }
    reference.push_back(AsLoss(value.AsDouble(), modes[k]));
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeGpSearcher(const Value& options,
                                                 const SearchProblem& problem) {
  constexpr std::array<std::string_view, 6> kOptions = {
      "algorithm", "n_startup_trials", "deterministic_objective", "fidelity", "reference", "per"};
  const OptionMap map = SearchOptions("gp", options);
  GpOptions read;
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(
      map.Read("n_startup_trials", int64_t{0}, int64_t{1'000'000}, read.n_startup_trials));
  TUNE_RETURN_IF_ERROR(map.Read("deterministic_objective", read.deterministic_objective));
  TUNE_RETURN_IF_ERROR(map.Read("fidelity", read.fidelity));
  TUNE_RETURN_IF_ERROR(ReadReference(map, problem.modes, read.reference));
  if (const Value* const per = map.Find("per")) {
    if (*per != Value("seconds") && *per != Value("trial")) {
      return map.Expected("per", "seconds, or trial");
    }
    read.per_seconds = *per == Value("seconds");
  }
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, "gp"));
  if (problem.has_prior && problem.modes.size() > 1) {
    return InvalidAt(map.PlaceOf("algorithm"), "from: a prior is of one metric, and there are " +
                                                   std::to_string(problem.modes.size()) +
                                                   "; from: NAME takes several");
  }
  if (problem.modes.size() > OutlookMaker::kObjectivesMax) {
    return InvalidAt(map.PlaceOf("algorithm"),
                     "search: gp takes up to " + std::to_string(OutlookMaker::kObjectivesMax) +
                         " metrics, and there are " + std::to_string(problem.modes.size()) +
                         "; tpe and nsga2 take any number");
  }
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(std::make_unique<GpSearcher>(problem, read, std::move(random)));
}

}  // namespace tune
