#include "tuner/simulate/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/counted.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"
#include "search/auto_choice.h"
#include "search/grid.h"
#include "search/searcher.h"
#include "trial_runner/fusion.h"
#include "trial_runner/trainable_catalog.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/simulation.h"

namespace tune {
namespace {

constexpr double kPlayedEpochsMax = 2e5;  // Of one play.
constexpr double kPlaysMax = 20;
constexpr int64_t kLookedAtMax = 256;  // Configurations, for the longest of trials.
constexpr char kIterationName[] = "training_iteration";
constexpr double kNoEnd = 0x1p63;  // A stop that no count of iterations comes to.

enum class Order { kRandom, kEachBetter };

// Trials that take a second for each iteration and stay as good as they are.
class SteadyTrials final : public TrialCurves {
 public:
  SteadyTrials(const ExperimentSpec& spec, int64_t iterations, Order order, uint64_t play)
      : spec_(spec), iterations_(iterations), order_(order), play_(play) {}

  std::unique_ptr<AttemptCurve> Begin(const AttemptRef& attempt, const Configuration& configuration,
                                      int64_t from_iteration) override {
    const int64_t own = TrialIterations(spec_.trainable, configuration).value_or(iterations_);
    return std::make_unique<Steady>(*this, ValueOf(attempt.trial), from_iteration, own);
  }
  int64_t iterations_max() const override { return iterations_; }

 private:
  class Steady final : public AttemptCurve {
   public:
    Steady(const SteadyTrials& trials, double value, int64_t from_iteration, int64_t iterations)
        : trials_(trials), value_(value), iteration_(from_iteration), iterations_(iterations) {}

    std::optional<TrialStep> Next() override {
      if (iteration_ >= iterations_) return std::nullopt;
      TrialStep step;
      step.iteration = ++iteration_;
      step.seconds = 1;
      step.metrics.emplace_back(trials_.spec_.metric, value_);
      for (const Objective& objective : trials_.spec_.more_objectives) {
        step.metrics.emplace_back(objective.metric, value_);
      }
      step.final = iteration_ == iterations_;
      return step;
    }

   private:
    const SteadyTrials& trials_;
    double value_;
    int64_t iteration_;
    int64_t iterations_;
  };

  double ValueOf(TrialNumber trial) const {
    if (order_ == Order::kRandom) {
      KeyedRandom random(play_, "plan", static_cast<uint64_t>(trial.value));
      return random.NextDouble();
    }
    return -AsLoss(static_cast<double>(trial.value), spec_.mode);
  }

  const ExperimentSpec& spec_;
  int64_t iterations_;
  Order order_;
  uint64_t play_;
};

// What came of one or more plays.
struct Played {
  PlannedEpochs epochs;
  std::vector<RungView> rungs;  // As the scheduler has them.
  std::vector<double> counts;   // Of each.
};

// The most trials that had begun and were not over at one time.
int64_t LiveMax(const std::vector<TrialRecord>& trials) {
  std::map<Instant, int64_t> changes;
  for (const TrialRecord& trial : trials) {
    if (!trial.row.started_at) continue;
    ++changes[*trial.row.started_at];
    if (trial.row.finished_at) --changes[*trial.row.finished_at];
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, live += change);
  return most;
}

class Planner {
 public:
  Planner(const ExperimentSpec& spec, uint64_t seed, const WorkerCapacity& capacity)
      : spec_(spec), seed_(seed), capacity_(capacity) {}

  Result<SweepPlan> Plan();

 private:
  Result<std::unique_ptr<Searcher>> MakePlayedSearcher() const;
  Status LookAtConfigurations();
  void CountPlaces();
  Status PlayAll();
  Result<Played> Play(const ExperimentSpec& played, Order order, uint64_t play) const;
  ExperimentSpec PlayedSpec(double share) const;
  void Warn();
  void WarnOfRungs();

  const ExperimentSpec& spec_;
  uint64_t seed_;
  const WorkerCapacity& capacity_;
  SearchSpace space_;
  SweepPlan plan_;
};

// Searchers that learn would learn nothing from the values here: any configurations will do.
Result<std::unique_ptr<Searcher>> Planner::MakePlayedSearcher() const {
  SearchProblem problem = ProblemOf(spec_, space_, spec_.samples, seed_);
  problem.needs_regret = false;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher, MakeSearcher(spec_.search, problem));
  if (!searcher->LearnsFromResults()) return searcher;
  problem.has_prior = false;
  return MakeSearcher(Value(), problem);
}

Result<SweepPlan> Planner::Plan() {
  TUNE_ASSIGN_OR_RETURN(space_, SpaceOf(spec_));
  TUNE_RETURN_IF_ERROR(MakeScheduler(spec_.scheduler, spec_.mode, seed_).status());
  plan_.automatic = ChooseAlgorithm(ProblemOf(spec_, space_, spec_.samples, seed_)).why;
  TUNE_RETURN_IF_ERROR(LookAtConfigurations());
  const int64_t trials = TrialCountOf(spec_, space_, spec_.samples);
  if (trials >= 0) plan_.trials = trials;
  if (const Result<Grid> grid = Grid::OfAll(space_); grid.ok()) plan_.points = grid->size();
  CountPlaces();
  TUNE_RETURN_IF_ERROR(PlayAll());
  Warn();
  return std::move(plan_);
}

// The longest trial and the largest checkpoint of the first ones.
Status Planner::LookAtConfigurations() {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Searcher> searcher, MakePlayedSearcher());
  const auto raise = [](std::optional<int64_t>& most, std::optional<int64_t> own) {
    if (own && (!most || *own > *most)) most = own;
  };
  std::optional<int64_t>& longest = plan_.trial_iterations;
  for (int64_t i = 0; i < kLookedAtMax; ++i) {
    const auto configuration = searcher->Suggest(TrialNumber{i});
    if (!configuration) break;
    raise(longest, TrialIterations(spec_.trainable, *configuration));
    raise(plan_.checkpoint_bytes, CheckpointBytes(spec_.trainable, *configuration));
    if (!MayFuse(spec_.trainable)) continue;
    const Fusion fusion =
        FusionOf(spec_.trainable, configuration->ToNested(), spec_.resources.gpu_milli);
    if (fusion.lanes_max > 1) plan_.lanes[fusion.shape] = {fusion.lanes_max, fusion.is_asked};
  }
  const auto bound = [&longest](int64_t iterations) {
    if (!longest || iterations < *longest) longest = iterations;
  };
  if (const auto max_t = SchedulerMaxT(spec_.scheduler)) bound(*max_t);
  for (const StopCondition& condition : spec_.stop) {
    const bool is_iteration = condition.metric == kIterationName && condition.at_or_above;
    if (!is_iteration || condition.value >= kNoEnd) continue;
    bound(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(condition.value))));
  }
  return OkStatus();
}

void Planner::CountPlaces() {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, capacity_);
  while (
      plan_.at_once < spec_.limits.max_concurrent &&
      !table.Grant(spec_.resources, {TrialNumber{plan_.at_once}, AttemptNumber{1}, {}}).empty()) {
    ++plan_.at_once;
  }
  // Lanes of one array share a device.
  const int64_t gpu_milli = spec_.resources.gpu_milli;
  const int64_t on_device = gpu_milli > 0 ? kWholeMilli / gpu_milli : plan_.at_once;
  for (auto& [shape, lanes] : plan_.lanes) {
    lanes.count_max = std::min({lanes.count_max, plan_.at_once, std::max<int64_t>(on_device, 1)});
  }
}

// What only time or values would end is left out. Requires a number of trials.
ExperimentSpec Planner::PlayedSpec(double share) const {
  ExperimentSpec played = spec_;
  // A space that has an end of its own bounds the samples.
  const int64_t samples =
      spec_.samples < 0 ? *plan_.trials : std::min(spec_.samples, *plan_.trials);
  played.samples = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(samples) * share));
  played.limits.sweep_time.reset();
  played.limits.trial_time.reset();
  played.limits.no_progress.reset();
  played.no_gain_max.reset();
  played.regret_max.reset();
  std::erase_if(played.stop,
                [](const StopCondition& stop) { return stop.metric != kIterationName; });
  // One that runs alone where none fits: the epochs are the same.
  played.resources = ResourceRequest{};
  return played;
}

Status Planner::PlayAll() {
  if (!plan_.trials || !plan_.trial_iterations || *plan_.trials == 0) return OkStatus();
  const double iterations = static_cast<double>(*plan_.trial_iterations);
  const double all = static_cast<double>(*plan_.trials) * iterations;
  if (iterations > kPlayedEpochsMax) return OkStatus();
  const ExperimentSpec played = PlayedSpec(std::min(1.0, kPlayedEpochsMax / all));
  const double scale = static_cast<double>(*plan_.trials) /
                       static_cast<double>(TrialCountOf(played, space_, played.samples));
  const double plays = std::clamp(kPlayedEpochsMax / all, 1.0, kPlaysMax);
  plan_.expected = PlannedEpochs{};
  for (uint64_t play = 0; play < static_cast<uint64_t>(plays); ++play) {
    TUNE_ASSIGN_OR_RETURN(const Played one, Play(played, Order::kRandom, play));
    const double part = scale / static_cast<double>(static_cast<uint64_t>(plays));
    plan_.expected->total += one.epochs.total * part;
    plan_.expected->in_a_row += one.epochs.in_a_row * part;
    plan_.expected->live_max = std::max(plan_.expected->live_max, one.epochs.live_max);
    plan_.rungs.resize(one.rungs.size());
    for (size_t i = 0; i < one.rungs.size(); ++i) {
      plan_.rungs[i].bracket = one.rungs[i].bracket;
      plan_.rungs[i].milestone = one.rungs[i].milestone;
      plan_.rungs[i].expected_count += static_cast<double>(one.rungs[i].count) * part;
    }
  }
  TUNE_ASSIGN_OR_RETURN(const Played worst, Play(played, Order::kEachBetter, 0));
  plan_.worst = PlannedEpochs{worst.epochs.total * scale, worst.epochs.in_a_row * scale,
                              worst.epochs.live_max};
  for (size_t i = 0; i < std::min(worst.rungs.size(), plan_.rungs.size()); ++i) {
    plan_.rungs[i].worst_count = static_cast<double>(worst.rungs[i].count) * scale;
  }
  return OkStatus();
}

Result<Played> Planner::Play(const ExperimentSpec& played, Order order, uint64_t play) const {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher, MakePlayedSearcher());
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ExperimentController> controller,
                        MakeVirtualController(played, seed_ + play, std::move(searcher)));
  SteadyTrials trials(spec_, *plan_.trial_iterations, order, seed_ + play);
  VirtualWorkers workers;
  workers.capacity.cpu_milli = kWholeMilli * std::max<int64_t>(1, plan_.at_once);
  VirtualSweep sweep(*controller, trials, workers);
  TUNE_ASSIGN_OR_RETURN(const VirtualOutcome outcome, sweep.Run());
  Played result;
  result.epochs.total = static_cast<double>(outcome.epochs);
  result.epochs.in_a_row = outcome.duration.seconds();
  result.epochs.live_max = LiveMax(controller->trials());
  result.rungs = controller->scheduler().Rungs();
  return result;
}

void Planner::Warn() {
  auto& warnings = plan_.warnings;
  if (plan_.at_once == 0) {
    warnings.push_back("no trial fits: each needs " + DescribeRequest(spec_.resources) +
                       ", the worker has " + DescribeCapacity(capacity_));
  }
  if (!plan_.trials && !spec_.limits.sweep_time) {
    warnings.push_back("samples: -1 without limits.sweep_time: it goes on until it is stopped");
  }
  if (!plan_.trial_iterations) {
    warnings.push_back(
        "only the trainable knows how long a trial is; a max_t of the scheduler, or stop: "
        "{training_iteration: N}, would tell");
  }
  if (plan_.points && plan_.trials && *plan_.points < *plan_.trials) {
    warnings.push_back("the space has " + Counted(*plan_.points, "point") + " for " +
                       Counted(*plan_.trials, "trial") +
                       ": configurations are repeated, or the sweep ends sooner");
  }
  const size_t given = spec_.points.is_list() ? spec_.points.AsList().size() : 0;
  if (plan_.trials && static_cast<int64_t>(given) > *plan_.trials) {
    warnings.push_back("points: " + Counted(static_cast<int64_t>(given), "configuration") +
                       " for " + Counted(*plan_.trials, "trial") +
                       ": the last ones are never tried");
  }
  if (!spec_.from.empty() && !spec_.from.starts_with("optuna: ")) {
    warnings.push_back("from: " + spec_.from +
                       " is in a database, which a plan does not read; tune run tells whether it "
                       "is there and what is learned from it");
  }
  WarnOfRungs();
}

void Planner::WarnOfRungs() {
  const int64_t longest = plan_.trial_iterations.value_or(0);
  const auto max_t = SchedulerMaxT(spec_.scheduler);
  if (max_t && longest > 0 && longest < *max_t) {
    plan_.warnings.push_back("the scheduler's max_t is " + std::to_string(*max_t) +
                             ", but a trial ends by itself after " + Counted(longest, "iteration") +
                             "; the rungs above are never reached");
  }
  std::string empty;
  for (const PlannedRung& rung : plan_.rungs) {
    if (rung.milestone > longest || rung.expected_count >= 1) continue;
    empty += (empty.empty() ? "" : ", ") + std::to_string(rung.milestone);
    if (rung.bracket > 0) empty += " of bracket " + std::to_string(rung.bracket);
  }
  if (!empty.empty() && plan_.expected) {
    plan_.warnings.push_back("less than one trial is expected at the rung " + empty +
                             ": more samples, or a lower max_t, would fill it");
  }
}

}  // namespace

Result<SweepPlan> PlanSweep(const ExperimentSpec& spec, uint64_t seed,
                            const WorkerCapacity& capacity) {
  return Planner(spec, seed, capacity).Plan();
}

}  // namespace tune
