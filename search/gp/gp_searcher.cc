#include "search/gp/gp_searcher.h"

#include <algorithm>
#include <array>
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
#include "search/gp/gp_model.h"
#include "search/gp/level_table.h"
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

class GpSearcher final : public Searcher {
 public:
  GpSearcher(const SearchProblem& problem, const GpOptions& options,
             std::unique_ptr<Searcher> random)
      : observations_(UnitSpace(problem.space), problem.modes, problem.is_unique),
        acquisition_(observations_.space()),
        sobol_(std::min(observations_.space().size(), SobolSequence::kDimensionsMax)),
        options_(options),
        seed_(problem.seed),
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
    LevelTable table;
  };

  bool IsFresh(const Configuration& configuration) const;
  std::optional<Configuration> SuggestByStartup(TrialNumber number) const;
  std::optional<Configuration> SuggestByModel(TrialNumber number);
  Points PointsOf(size_t count) const;
  // A trial has brought its first result.
  void CountResult();

  TrialObservations observations_;
  AcquisitionSearch acquisition_;
  SobolSequence sobol_;
  GpOptions options_;
  uint64_t seed_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.

  size_t results_ = 0;  // Trials with a report, or ended.
  size_t next_occasion_ = kResultsMin;
  std::optional<Occasion> occasion_;
  std::optional<GpModel> model_;  // Of the occasion, once it was asked for.
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
  const auto& trials = observations_.trials();
  auto levels = options_.fidelity ? ChooseLevels(trials, kResultsMin) : std::vector<int64_t>{0};
  LevelTable table = TableOf(trials, levels);
  occasion_ = Occasion{std::move(levels), std::move(table)};
  model_.reset();
}

bool GpSearcher::IsFresh(const Configuration& configuration) const {
  return observations_.space().space().Allows(configuration) && !observations_.Has(configuration);
}

std::optional<Configuration> GpSearcher::SuggestByStartup(TrialNumber number) const {
  std::vector<double> point(observations_.space().size(), 0.5);
  for (size_t d = 0; d < sobol_.dimensions(); ++d) {
    point[d] = sobol_.ScrambledAt(d, static_cast<uint32_t>(number.value), seed_);
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

std::optional<Configuration> GpSearcher::SuggestByModel(TrialNumber number) {
  constexpr size_t kIncumbents = 4;
  const Points points = PointsOf(observations_.trials().size());
  if (!model_) {
    const size_t count = occasion_->table.losses[0].size();
    model_.emplace(acquisition_.is_category(), points.topRows(static_cast<Index>(count)),
                   occasion_->table, !options_.deterministic_objective);
  }
  const GpModel::View view =
      model_->Look(points, TableOf(observations_.trials(), occasion_->levels));
  std::vector<Eigen::VectorXd> incumbents;
  for (const size_t trial : view.leading) {
    if (incumbents.size() < kIncumbents) {
      incumbents.push_back(points.row(static_cast<Index>(trial)));
    }
  }
  AcquisitionSearch::Aim aim = {view.surrogate, view.best};
  // A trial that is stopped early is seen through the noise of early levels, and there are many:
  // else they come to the same place again and again.
  if (view.surrogate.level_count() > 1) aim.noise = view.surrogate.noise();
  for (const size_t trial : view.pending) {
    aim.pending.push_back(points.row(static_cast<Index>(trial)));
  }
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

}  // namespace

Result<std::unique_ptr<Searcher>> MakeGpSearcher(const Value& options,
                                                 const SearchProblem& problem) {
  constexpr std::array<std::string_view, 4> kOptions = {"algorithm", "n_startup_trials",
                                                        "deterministic_objective", "fidelity"};
  const OptionMap map = SearchOptions("gp", options);
  GpOptions read;
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(
      map.Read("n_startup_trials", int64_t{0}, int64_t{1'000'000}, read.n_startup_trials));
  TUNE_RETURN_IF_ERROR(map.Read("deterministic_objective", read.deterministic_objective));
  TUNE_RETURN_IF_ERROR(map.Read("fidelity", read.fidelity));
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, "gp"));
  if (problem.modes.size() > 1) {
    return InvalidAt(map.PlaceOf("algorithm"),
                     "search: gp models one metric; for several use nsga2 or tpe");
  }
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(std::make_unique<GpSearcher>(problem, read, std::move(random)));
}

}  // namespace tune
