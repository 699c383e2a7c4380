#include "tuner/simulate/simulation.h"

#include <memory>
#include <utility>

#include "core/check.h"
#include "schedulers/trial_scheduler.h"
#include "search/points_searcher.h"
#include "search/repeat_searcher.h"
#include "search/searcher.h"
#include "trial_runner/placement.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/formula_curves.h"

namespace tune {
namespace {

const Value* FormulaOf(const ExperimentSpec& spec) {
  return spec.trainable.is_map() ? spec.trainable.Find("curve") : nullptr;
}

// A search that does not learn draws from the record, if there is one; its points and its repeats
// are as ever.
Result<std::unique_ptr<Searcher>> SearcherOf(const Simulation& simulation,
                                             const SearchSpace& space) {
  const ExperimentSpec& spec = simulation.spec;
  SearchProblem problem = ProblemOf(spec, space, spec.samples, simulation.seed);
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher, MakeSearcher(spec.search, problem));
  if (!simulation.recorded || searcher->LearnsFromResults()) return searcher;
  const Value* const unique = spec.search.is_map() ? spec.search.Find("unique") : nullptr;
  const Value* const repeat = spec.search.is_map() ? spec.search.Find("repeat") : nullptr;
  searcher = std::make_unique<RecordedSearcher>(*simulation.recorded, simulation.seed,
                                                unique != nullptr && unique->AsBool());
  if (!problem.points.empty()) {
    searcher = std::make_unique<PointsSearcher>(std::move(searcher), std::move(problem.points),
                                                space, simulation.seed, /*is_unique=*/false);
  }
  if (repeat != nullptr && repeat->AsInt() > 1) {
    searcher =
        std::make_unique<RepeatSearcher>(std::move(searcher), repeat->AsInt(), problem.modes);
  }
  return searcher;
}

SimulatedSweep Summarise(VirtualOutcome outcome, const ExperimentController& controller) {
  SimulatedSweep sweep;
  sweep.trials = static_cast<int64_t>(controller.trials().size());
  for (const TrialRecord& trial : controller.trials()) {
    if (trial.row.status == TrialStatus::kError) ++sweep.failed;
    if (trial.row.stop_reason == StopReason::kScheduler) ++sweep.stopped_early;
  }
  if (!outcome.improvements.empty()) {
    const TrialNumber best = outcome.improvements.back().trial;
    sweep.best_configuration =
        controller.trials()[static_cast<size_t>(best.value)].ConfigurationOfBest();
  }
  sweep.outcome = std::move(outcome);
  return sweep;
}

}  // namespace

Result<std::unique_ptr<ExperimentController>> MakeVirtualController(
    const ExperimentSpec& spec, uint64_t seed, std::unique_ptr<Searcher> searcher) {
  TUNE_ASSIGN_OR_RETURN(SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<TrialScheduler> scheduler,
                        MakeScheduler(spec.scheduler, spec.mode, seed));
  ControllerOptions options{spec, seed, std::move(space), spec.name, "/virtual"};
  options.spec.resources.workers = 1;  // A curve has a time of its own, whatever ranks it took.
  return std::make_unique<ExperimentController>(std::move(options), std::move(searcher),
                                                std::move(scheduler));
}

Status CheckSimulation(const Simulation& simulation) {
  const ExperimentSpec& spec = simulation.spec;
  ResourceRequest place = spec.resources;
  place.workers = 1;
  if (!CouldEverFit(place, simulation.workers.capacity)) {
    return InvalidArgument("a worker has " + DescribeCapacity(simulation.workers.capacity) +
                           ", and a trial needs " + DescribeRequest(place) +
                           "; give the workers more with --cpus and --gpus");
  }
  if (spec.samples < 0 && !spec.limits.sweep_time) {
    return InvalidArgument(
        "samples: -1 never ends in virtual time; expected a number of samples, or "
        "limits.sweep_time");
  }
  if (simulation.recorded) {
    if (!simulation.recorded->curves.empty()) return OkStatus();
    return InvalidArgument("--curves: there is no curve in it");
  }
  const Value* const formula = FormulaOf(spec);
  if (formula == nullptr) {
    return InvalidArgument(
        "--curves: is needed, as the space's trainable is not a curve; expected a CSV file or the "
        "database of an earlier sweep");
  }
  return FormulaCurves::Make(*formula, spec.metric, simulation.seed).status();
}

Result<SimulatedSweep> Simulate(const Simulation& simulation) {
  const ExperimentSpec& spec = simulation.spec;
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher, SearcherOf(simulation, space));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ExperimentController> controller,
                        MakeVirtualController(spec, simulation.seed, std::move(searcher)));
  std::unique_ptr<TrialCurves> curves;
  const RecordedTrials* recorded = nullptr;
  if (simulation.recorded) {
    auto trials = std::make_unique<RecordedTrials>(*simulation.recorded, space, simulation.seed);
    recorded = trials.get();
    curves = std::move(trials);
  } else {
    TUNE_ASSIGN_OR_RETURN(curves,
                          FormulaCurves::Make(*FormulaOf(spec), spec.metric, simulation.seed));
  }
  VirtualSweep sweep(*controller, *curves, simulation.workers);
  TUNE_ASSIGN_OR_RETURN(VirtualOutcome outcome, sweep.Run());
  SimulatedSweep simulated = Summarise(std::move(outcome), *controller);
  if (recorded != nullptr) simulated.distance = recorded->distance();
  return simulated;
}

int64_t LongestCurve(const Simulation& simulation) {
  int64_t longest = 0;
  if (!simulation.recorded) {
    const auto curves =
        FormulaCurves::Make(*FormulaOf(simulation.spec), simulation.spec.metric, simulation.seed);
    TUNE_CHECK(curves.ok());
    return (*curves)->iterations_max();
  }
  for (const RecordedCurve& curve : simulation.recorded->curves) {
    if (!curve.iterations.empty()) longest = std::max(longest, curve.iterations.back());
  }
  return longest;
}

}  // namespace tune
