#include "search/gp/gp_searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"
#include "search/gp/acquisition.h"
#include "search/gp/acquisition_search.h"
#include "search/gp/gp_model.h"
#include "search/gp/hypervolume_improvement.h"
#include "search/gp/level_table.h"
#include "search/grid.h"
#include "search/pareto.h"
#include "search/random_searcher.h"
#include "search/search_options.h"
#include "search/sobol_sequence.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

using Eigen::Index;

// Fewer results than this make no model, and fewer whole trainings no level.
constexpr size_t kResultsMin = 4;
// The boxes of a front grow with the power of the objectives.
constexpr size_t kObjectivesMax = 4;
constexpr std::array<size_t, kObjectivesMax + 1> kFrontMax = {0, 1, 100, 100, 40};

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

// Those that cover most, where there are too many to be cut into boxes for each suggestion.
std::vector<LossPoint> Thinned(const std::vector<LossPoint>& points, const LossPoint& reference) {
  const size_t count_max = kFrontMax[reference.size()];
  if (points.size() <= count_max) return points;
  std::vector<LossPoint> kept;
  for (const size_t i : ChooseByHypervolume(points, reference, count_max)) {
    kept.push_back(points[i]);
  }
  return kept;
}

class GpSearcher final : public Searcher {
 public:
  GpSearcher(const SearchProblem& problem, const GpOptions& options,
             std::unique_ptr<Searcher> random)
      : observations_(UnitSpace(problem.space), problem.modes, problem.is_unique),
        acquisition_(observations_.space()),
        sobol_(std::min(observations_.space().size(), SobolSequence::kDimensionsMax)),
        options_(options),
        seed_(problem.seed),
        limit_count_(problem.limit_count),
        random_(std::move(random)) {}

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  // What was known when a model became due. The model itself is made when it is asked for: not at
  // all for those of an earlier life.
  struct Occasion {
    std::vector<int64_t> levels;
    std::vector<LevelTable> tables;  // One for each objective, then one for each limit.
  };
  // Where to look, and what for.
  struct Outlook {
    std::vector<Surrogate> surrogates;  // One for each objective,
    std::vector<Surrogate> limits;      // and one for each limit.
    std::unique_ptr<Acquisition> acquisition;
    std::vector<size_t> incumbents;  // Trials.
    std::vector<size_t> pending;
  };

  bool IsFresh(const Configuration& configuration) const;
  std::optional<Configuration> SuggestByStartup(TrialNumber number) const;
  std::optional<Configuration> SuggestByModel(TrialNumber number);
  void MakeModels(const Points& points);
  void LookForBest(const Points& points, Outlook& outlook) const;
  void LookForFront(const Points& points, Outlook& outlook) const;
  // Limits on results.
  void LookForFeasible(const Points& points, Outlook& outlook) const;
  void LookForFeasibleBest(const Points& points, Outlook& outlook) const;
  void KeepLimits(Outlook& outlook) const;
  std::vector<size_t> LeastViolating(size_t count) const;
  // Those of `trials` that keep all limits: by what they came to, and by what is predicted of those
  // that still run.
  std::vector<size_t> FeasibleOf(std::vector<size_t> trials, const Points& points,
                                 const Outlook& outlook) const;
  size_t KeepFeasible(const Points& points, const Outlook& outlook, size_t ended,
                      std::vector<size_t>& trials, std::vector<LossPoint>& seen) const;
  size_t objective_count() const { return observations_.objective_count(); }
  double BoundOf(size_t limit) const { return models_[objective_count() + limit].Seen(0); }
  LossPoint ReferenceOf(LossPoints seen) const;
  std::vector<LevelTable> TablesOf(const std::vector<int64_t>& levels) const;
  Points PointsOf(size_t count) const;
  double WeightOfBeliefs() const;
  // A trial has brought its first result.
  void CountResult();

  TrialObservations observations_;
  AcquisitionSearch acquisition_;
  SobolSequence sobol_;
  GpOptions options_;
  uint64_t seed_;
  size_t limit_count_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.

  size_t results_ = 0;  // Trials with a report, or ended.
  size_t next_occasion_ = kResultsMin;
  std::optional<Occasion> occasion_;
  // Of the occasion, once they were asked for, in the order of its tables.
  std::vector<GpModel> models_;
};

std::optional<Configuration> GpSearcher::Suggest(TrialNumber number) {
  const size_t levels = occasion_ ? occasion_->levels.size() : 1;
  const bool is_starting = static_cast<int64_t>(observations_.trials().size()) <
                           options_.n_startup_trials * static_cast<int64_t>(levels);
  auto configuration =
      is_starting || !occasion_ ? SuggestByStartup(number) : SuggestByModel(number);
  if (!configuration) configuration = random_->Suggest(number);
  if (configuration) Restore(number, *configuration);
  return configuration;
}

void GpSearcher::Restore(TrialNumber number, const Configuration& configuration) {
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

void GpSearcher::CountResult() {
  if (++results_ < next_occasion_) return;
  next_occasion_ = results_ + std::max<size_t>(1, results_ / 16);
  // A report that is not the last says little of limits: trials then count as they ended.
  const bool has_levels = options_.fidelity && objective_count() == 1 && limit_count_ == 0;
  auto levels =
      has_levels ? ChooseLevels(observations_.trials(), kResultsMin) : std::vector<int64_t>{0};
  auto tables = TablesOf(levels);
  if (!HaveValues(tables)) return;
  occasion_ = Occasion{std::move(levels), std::move(tables)};
  models_.clear();
}

std::vector<LevelTable> GpSearcher::TablesOf(const std::vector<int64_t>& levels) const {
  std::vector<LevelTable> tables;
  for (size_t k = 0; k < objective_count(); ++k) {
    tables.push_back(TableOf(observations_.trials(), levels, k));
  }
  for (size_t k = 0; k < limit_count_; ++k) {
    tables.push_back(MarginTableOf(observations_.trials(), k));
  }
  return tables;
}

bool GpSearcher::IsFresh(const Configuration& configuration) const {
  return observations_.space().space().Allows(configuration) && !observations_.Has(configuration);
}

std::optional<Configuration> GpSearcher::SuggestByStartup(TrialNumber number) const {
  std::vector<double> point(observations_.space().size(), 0.5);
  for (size_t d = 0; d < sobol_.dimensions(); ++d) {
    point[d] = sobol_.ScrambledAt(d, static_cast<uint32_t>(number.value), seed_);
    // Every other one, so that there is something to compare those about the guesses with.
    const Belief* const belief = acquisition_.beliefs().Of(d);
    if (belief != nullptr && number.value % 2 == 0) point[d] = belief->Quantile(point[d]);
  }
  Configuration configuration = observations_.space().At(point);
  if (!IsFresh(configuration)) return std::nullopt;
  return configuration;
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
    models_.emplace_back(acquisition_.is_category(), points.topRows(count), table,
                         !options_.deterministic_objective,
                         is_limit ? std::optional<double>(0) : std::nullopt);
  }
}

void GpSearcher::LookForBest(const Points& points, Outlook& outlook) const {
  constexpr size_t kIncumbents = 4;
  GpModel::View view = models_[0].Look(points, TablesOf(occasion_->levels)[0]);
  view.leading.resize(std::min(view.leading.size(), kIncumbents));
  outlook.incumbents = std::move(view.leading);
  outlook.pending = std::move(view.pending);
  outlook.surrogates.push_back(std::move(view.surrogate));
  const Surrogate& surrogate = outlook.surrogates[0];
  // A trial that is stopped early is seen through the noise of early levels, and there are many:
  // else they come to the same place again and again.
  const double noise = surrogate.level_count() > 1 ? surrogate.noise() : 0;
  outlook.acquisition = std::make_unique<LossImprovement>(surrogate, view.best, noise);
}

void GpSearcher::LookForFeasible(const Points& points, Outlook& outlook) const {
  for (size_t k = 0; k < limit_count_; ++k) {
    const LevelTable table = MarginTableOf(observations_.trials(), k);
    outlook.limits.push_back(models_[objective_count() + k].Look(points, table).surrogate);
  }
}

std::vector<size_t> GpSearcher::FeasibleOf(std::vector<size_t> trials, const Points& points,
                                           const Outlook& outlook) const {
  const auto keeps = [&](size_t i) {
    const ObservedTrial& trial = observations_.trials()[i];
    if (trial.state == ObservedTrial::State::kEnded) {
      return !trial.losses.empty() && trial.is_feasible();
    }
    const Points at = points.row(static_cast<Index>(i));
    for (size_t k = 0; k < limit_count_; ++k) {
      if (outlook.limits[k].Means(at)[0] > BoundOf(k)) return false;
    }
    return trial.state == ObservedTrial::State::kRunning;
  };
  std::erase_if(trials, [&](size_t i) { return !keeps(i); });
  return trials;
}

// Where nothing is feasible yet, to look around.
std::vector<size_t> GpSearcher::LeastViolating(size_t count) const {
  std::vector<size_t> trials;
  const auto& all = observations_.trials();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].state == ObservedTrial::State::kEnded && !all[i].losses.empty()) trials.push_back(i);
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [&](size_t a, size_t b) { return all[a].violation < all[b].violation; });
  trials.resize(std::min(trials.size(), count));
  return trials;
}

// Takes the others out of both; how many of those that have ended stay.
size_t GpSearcher::KeepFeasible(const Points& points, const Outlook& outlook, size_t ended,
                                std::vector<size_t>& trials, std::vector<LossPoint>& seen) const {
  const std::vector<size_t> kept = FeasibleOf(trials, points, outlook);
  size_t next = 0;
  size_t still = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (next == kept.size() || trials[i] != kept[next]) continue;
    still += i < ended ? 1 : 0;
    if (next != i) seen[next] = std::move(seen[i]);
    ++next;
  }
  seen.resize(next);
  trials = kept;
  return still;
}

// What promises much is worth as much as it is likely to keep the limits.
void GpSearcher::KeepLimits(Outlook& outlook) const {
  std::vector<double> bounds;
  for (size_t k = 0; k < limit_count_; ++k) bounds.push_back(BoundOf(k));
  outlook.acquisition = std::make_unique<FeasibleAcquisition>(std::move(outlook.acquisition),
                                                              outlook.limits, std::move(bounds));
}

// Improved on is the best of those that keep the limits; while none does, one is looked for.
void GpSearcher::LookForFeasibleBest(const Points& points, Outlook& outlook) const {
  constexpr size_t kIncumbents = 4;
  LookForFeasible(points, outlook);
  GpModel::View view = models_[0].Look(points, TablesOf(occasion_->levels)[0]);
  outlook.surrogates.push_back(std::move(view.surrogate));
  const Surrogate& surrogate = outlook.surrogates[0];
  outlook.pending = view.pending;
  outlook.incumbents = FeasibleOf(std::move(view.leading), points, outlook);
  if (outlook.incumbents.empty()) {
    outlook.incumbents = LeastViolating(kIncumbents);
  } else {
    std::vector<size_t> promised = FeasibleOf(std::move(view.pending), points, outlook);
    promised.push_back(outlook.incumbents[0]);
    const double best = surrogate.Means(points(promised, Eigen::all)).minCoeff();
    outlook.incumbents.resize(std::min(outlook.incumbents.size(), kIncumbents));
    outlook.acquisition = std::make_unique<LossImprovement>(surrogate, best, 0);
  }
  KeepLimits(outlook);
}

// Running trials are part of the front that is to be improved on, by what they promise: else it
// would be promised again to the next one, at the same place.
void GpSearcher::LookForFront(const Points& points, Outlook& outlook) const {
  constexpr size_t kIncumbents = 8;
  const std::vector<LevelTable> tables = TablesOf(occasion_->levels);
  LookForFeasible(points, outlook);
  for (size_t k = 0; k < objective_count(); ++k) {
    GpModel::View view = models_[k].Look(points, tables[k]);
    outlook.surrogates.push_back(std::move(view.surrogate));
    outlook.pending = std::move(view.pending);
  }
  std::vector<size_t> known;
  const auto& trials = observations_.trials();
  for (size_t i = 0; i < trials.size(); ++i) {
    const Losses& losses = trials[i].losses;
    if (trials[i].state != ObservedTrial::State::kEnded || losses.empty()) continue;
    if (std::all_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) {
      known.push_back(i);
    }
  }
  size_t ended = known.size();
  known.insert(known.end(), outlook.pending.begin(), outlook.pending.end());
  std::vector<LossPoint> seen(known.size(), LossPoint(objective_count()));
  for (size_t k = 0; k < objective_count(); ++k) {
    const Eigen::ArrayXd means = outlook.surrogates[k].Means(points(known, Eigen::all));
    for (size_t i = 0; i < known.size(); ++i) seen[i][k] = means[static_cast<Index>(i)];
  }
  // Infeasible ones, too, show how bad losses can be; of a front they are no part.
  const LossPoint reference = ReferenceOf(LossPoints(seen).first(ended));
  if (limit_count_ > 0) ended = KeepFeasible(points, outlook, ended, known, seen);
  outlook.acquisition = std::make_unique<FrontImprovement>(
      outlook.surrogates, HypervolumeImprovement(Thinned(seen, reference), reference));
  if (limit_count_ > 0) {
    if (ended == 0) outlook.acquisition.reset();
    if (ended == 0) outlook.incumbents = LeastViolating(kIncumbents);
    KeepLimits(outlook);
  }
  seen.resize(ended);
  for (const size_t i : ChooseByHypervolume(seen, reference, std::min(ended, kIncumbents))) {
    outlook.incumbents.push_back(known[i]);
  }
}

LossPoint GpSearcher::ReferenceOf(LossPoints seen) const {
  constexpr double kLeastBeyond = 1e-3;  // Losses are standardised here.
  LossPoint reference(objective_count(), 1);
  if (options_.reference.empty()) {
    return seen.empty() ? reference : BeyondTheWorst(seen, kLeastBeyond);
  }
  for (size_t k = 0; k < reference.size(); ++k) {
    reference[k] = models_[k].Seen(options_.reference[k]);
  }
  return reference;
}

// Of several objectives the mean of what each of them says.
double GpSearcher::WeightOfBeliefs() const {
  double sum = 0;
  for (size_t k = 0; k < objective_count(); ++k) {
    std::vector<double> log_densities;
    std::vector<double> losses;
    for (const ObservedTrial& trial : observations_.trials()) {
      if (trial.losses.empty() || std::isnan(trial.losses[k])) continue;
      log_densities.push_back(acquisition_.beliefs().LogDensity(trial.cells));
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
  if (objective_count() == 1 && limit_count_ > 0) {
    LookForFeasibleBest(points, outlook);
  } else if (objective_count() == 1) {
    LookForBest(points, outlook);
  } else {
    LookForFront(points, outlook);
  }
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
  constexpr std::array<std::string_view, 5> kOptions = {
      "algorithm", "n_startup_trials", "deterministic_objective", "fidelity", "reference"};
  const OptionMap map = SearchOptions("gp", options);
  GpOptions read;
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(
      map.Read("n_startup_trials", int64_t{0}, int64_t{1'000'000}, read.n_startup_trials));
  TUNE_RETURN_IF_ERROR(map.Read("deterministic_objective", read.deterministic_objective));
  TUNE_RETURN_IF_ERROR(map.Read("fidelity", read.fidelity));
  TUNE_RETURN_IF_ERROR(ReadReference(map, problem.modes, read.reference));
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, "gp"));
  if (problem.modes.size() > kObjectivesMax) {
    return InvalidAt(map.PlaceOf("algorithm"),
                     "search: gp takes up to " + std::to_string(kObjectivesMax) +
                         " metrics, and there are " + std::to_string(problem.modes.size()) +
                         "; tpe and nsga2 take any number");
  }
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(std::make_unique<GpSearcher>(problem, read, std::move(random)));
}

}  // namespace tune
