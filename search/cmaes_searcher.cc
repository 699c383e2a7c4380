#include "search/cmaes_searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"
#include "search/cmaes_run.h"
#include "search/grid.h"
#include "search/random_searcher.h"
#include "search/search_options.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

class CmaEsSearcher final : public Searcher {
 public:
  CmaEsSearcher(const SearchProblem& problem, const CmaEsOptions& options,
                std::unique_ptr<Searcher> random)
      : observations_(problem),
        layout_(observations_.space()),
        options_(options),
        seed_(problem.seed),
        rules_(problem.rules),
        random_(std::move(random)) {}

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
  struct Proposal {
    CmaRun::Sample sample;
    Configuration configuration;
  };
  struct Flight {
    int64_t run = 0;
    CmaRun::Sample sample;
  };

  // What the present run gives to this trial; nothing while the first trials are random, or where
  // too many draws could not be used.
  std::optional<Proposal> Propose(TrialNumber number);
  void Remember(TrialNumber number, Proposal proposal);
  void BeginFirstRun();
  void BeginNextRun();
  void BeginRun(std::vector<double> point, double sigma, int64_t population);
  int64_t FirstPopulation() const;

  TrialObservations observations_;
  CmaLayout layout_;
  CmaEsOptions options_;
  uint64_t seed_;
  SearchRules rules_;
  std::unique_ptr<Searcher> random_;  // Unique, so that it too knows of every trial.

  std::optional<CmaRun> run_;
  int64_t run_number_ = -1;
  std::map<int64_t, Flight> flights_;  // By trial: those of runs that have not ended.
  std::map<int64_t, Flight> failed_;   // And those that failed, which may get another chance.
  // BIPOP's books.
  int64_t large_runs_ = 0;
  bool is_small_ = false;
  int64_t spent_on_large_ = 0;
  int64_t spent_on_small_ = 0;
};

int64_t CmaEsSearcher::FirstPopulation() const {
  return options_.popsize.value_or(CovarianceAdaptation::DefaultPopulation(layout_.ordered.size()));
}

void CmaEsSearcher::BeginRun(std::vector<double> point, double sigma, int64_t population) {
  ++run_number_;
  run_.emplace(observations_.space(), layout_,
               CmaRun::Start{std::move(point), sigma, population, options_.with_margin});
}

void CmaEsSearcher::BeginFirstRun() {
  std::vector<double> point(observations_.space().size(), 0.5);
  const ObservedTrial* best = nullptr;
  for (const ObservedTrial& trial : observations_.trials()) {
    if (trial.state != ObservedTrial::State::kEnded || trial.losses.empty()) continue;
    if (best == nullptr || trial.ranked_loss() < best->ranked_loss()) best = &trial;
  }
  for (size_t d = 0; best != nullptr && d < point.size(); ++d) {
    if (best->cells[d]) point[d] = best->cells[d]->mid();
  }
  BeginRun(std::move(point), options_.sigma0, FirstPopulation());
}

void CmaEsSearcher::BeginNextRun() {
  (is_small_ ? spent_on_small_ : spent_on_large_) += run_->told_count();
  KeyedRandom random(seed_, "cmaes run", static_cast<uint64_t>(run_number_ + 1));
  std::vector<double> point(observations_.space().size());
  for (double& u : point) u = random.NextDouble();
  const auto first = static_cast<double>(FirstPopulation());
  const double factor = std::pow(static_cast<double>(options_.inc_popsize), large_runs_ + 1);
  const double large = std::min(first * factor, 1e6);
  is_small_ = options_.restart_strategy == CmaEsOptions::Restart::kBipop &&
              spent_on_small_ < spent_on_large_;
  if (!is_small_) {
    ++large_runs_;
    BeginRun(std::move(point), options_.sigma0, static_cast<int64_t>(large));
    return;
  }
  // A small population, and steps down to a hundredth: the local optima near a random point.
  const double u = random.NextDouble();
  const double v = random.NextDouble();
  const double small = first * std::pow(large / first / 2, v * v);
  BeginRun(std::move(point), options_.sigma0 * std::pow(10, -2 * u),
           std::max(int64_t{2}, static_cast<int64_t>(small)));
}

std::optional<CmaEsSearcher::Proposal> CmaEsSearcher::Propose(TrialNumber number) {
  if (static_cast<int64_t>(observations_.trials().size()) < options_.n_startup_trials) {
    return std::nullopt;
  }
  if (!run_) BeginFirstRun();
  constexpr uint64_t kAttempts = 100;
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    KeyedRandom random(seed_, "cmaes", static_cast<uint64_t>(number.value), attempt);
    CmaRun::Sample sample = run_->Draw(random);
    Configuration configuration = observations_.space().At(sample.point);
    if (!observations_.space().space().Allows(configuration)) continue;
    if (observations_.Has(configuration)) continue;
    return Proposal{std::move(sample), std::move(configuration)};
  }
  return std::nullopt;
}

void CmaEsSearcher::Remember(TrialNumber number, Proposal proposal) {
  observations_.Add(number, proposal.configuration);
  random_->Restore(number, proposal.configuration);
  flights_.emplace(number.value, Flight{run_number_, std::move(proposal.sample)});
}

std::optional<Configuration> CmaEsSearcher::Suggest(TrialNumber number) {
  if (auto proposal = Propose(number)) {
    Configuration configuration = proposal->configuration;
    Remember(number, *std::move(proposal));
    return configuration;
  }
  auto configuration = random_->Suggest(number);
  if (configuration) observations_.Add(number, *configuration);
  return configuration;
}

void CmaEsSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  // An earlier sweep's trial came of no run, though a draw may equal it: all of them say where the
  // first run begins.
  if (number.value < 0 && rules_ >= SearchRules::kFrom16) {
    observations_.Add(number, configuration);
    random_->Restore(number, configuration);
    return;
  }
  // The draw is a function of what was told so far, so the sample is found again. A configuration
  // from elsewhere belongs to no run.
  const bool had_begun = run_.has_value();
  auto proposal = Propose(number);
  if (proposal && proposal->configuration == configuration) {
    Remember(number, *std::move(proposal));
    return;
  }
  // What comes from elsewhere may yet say where to begin. Where there was no proposal, random
  // search was asked in the earlier life as well, and the run had begun.
  if (!had_begun && proposal) {
    run_.reset();
    run_number_ = -1;
  }
  observations_.Add(number, configuration);
  random_->Restore(number, configuration);
}

void CmaEsSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  observations_.OnTrialEnded(number, last, failed);
  const auto flight = flights_.find(number.value);
  if (flight == flights_.end()) return;
  Flight ended = std::move(flight->second);
  flights_.erase(flight);
  if (ended.run != run_number_) return;
  if (failed) failed_.insert_or_assign(number.value, ended);
  const ObservedTrial* const trial = observations_.Find(number);
  run_->Tell(std::move(ended.sample), trial->losses.empty()
                                          ? std::numeric_limits<double>::infinity()
                                          : trial->ranked_loss());
  if (options_.restart_strategy != CmaEsOptions::Restart::kNone && run_->IsOver()) BeginNextRun();
}

// That it failed was learned from; what it comes to now is learned, too.
void CmaEsSearcher::OnReopened(TrialNumber number) {
  observations_.OnReopened(number);
  if (auto flight = failed_.extract(number.value)) flights_.insert(std::move(flight));
}

std::string CmaEsSearcher::DebugString() const {
  return "cmaes, run " + std::to_string(run_number_ + 1) + ", population " +
         std::to_string(run_ ? run_->population() : FirstPopulation()) + ", " +
         std::to_string(layout_.ordered.size()) + " ordered parameters and " +
         std::to_string(layout_.choices.size()) + " choices";
}

}  // namespace

Result<std::unique_ptr<Searcher>> MakeCmaEsSearcher(const Value& options,
                                                    const SearchProblem& problem) {
  constexpr std::array<std::string_view, 7> kOptions = {
      "algorithm",        "sigma0",      "popsize",    "n_startup_trials",
      "restart_strategy", "inc_popsize", "with_margin"};
  constexpr std::array<std::string_view, 3> kRestarts = {"none", "ipop", "bipop"};
  const OptionMap map = SearchOptions("cmaes", options);
  CmaEsOptions read;
  int64_t popsize = 0;
  auto restart = static_cast<size_t>(read.restart_strategy);
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(map.Read("sigma0", 1e-6, 1.0, read.sigma0));
  TUNE_RETURN_IF_ERROR(map.Read("popsize", int64_t{2}, int64_t{100'000}, popsize));
  TUNE_RETURN_IF_ERROR(
      map.Read("n_startup_trials", int64_t{0}, int64_t{1'000'000}, read.n_startup_trials));
  TUNE_RETURN_IF_ERROR(map.Read("restart_strategy", kRestarts, restart));
  TUNE_RETURN_IF_ERROR(map.Read("inc_popsize", int64_t{1}, int64_t{100}, read.inc_popsize));
  TUNE_RETURN_IF_ERROR(map.Read("with_margin", read.with_margin));
  if (popsize > 0) read.popsize = popsize;
  read.restart_strategy = static_cast<CmaEsOptions::Restart>(restart);

  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, "cmaes"));
  if (problem.modes.size() > 1) {
    return InvalidAt(map.PlaceOf("algorithm"),
                     "search: cmaes follows one metric; for several use nsga2 or tpe");
  }
  if (CmaLayout(UnitSpace(problem.space)).ordered.empty()) {
    return InvalidAt(map.PlaceOf("algorithm"),
                     "search: cmaes needs a parameter that is a number or ordinal; the space has "
                     "none, use tpe or random");
  }
  // The draws of plain random search, without repeats.
  TUNE_ASSIGN_OR_RETURN(auto random, MakeUniqueRandomSearcher(problem));
  return std::unique_ptr<Searcher>(
      std::make_unique<CmaEsSearcher>(problem, read, std::move(random)));
}

}  // namespace tune
