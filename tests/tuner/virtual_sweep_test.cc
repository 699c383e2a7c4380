// A sweep in virtual time is the sweep that real workers would run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/json.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/compared_scheduler.h"
#include "tuner/simulate/simulation.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Simulation SimulationOf(const std::string& yaml, int64_t workers) {
  const auto document = ParseYaml(yaml);
  EXPECT_TRUE(document.ok()) << document.status().message();
  auto spec = InterpretSpec(*document, "space.yaml", "/", false);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  Simulation simulation;
  simulation.spec = *std::move(spec);
  simulation.seed = 7;
  simulation.workers.count = workers;
  simulation.workers.capacity.cpu_milli = kWholeMilli;
  return simulation;
}

// Curves without noise: x is the value from the first iteration on, lower is better.
std::string Formula(const std::string& rest) {
  return "name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\n"
         "trainable: {curve: {value: 'x', iterations: 9, seconds: 2}}\n" +
         rest;
}

SimulatedSweep Swept(const Simulation& simulation) {
  EXPECT_TRUE(CheckSimulation(simulation).ok()) << CheckSimulation(simulation).message();
  auto sweep = Simulate(simulation);
  EXPECT_TRUE(sweep.ok()) << sweep.status().message();
  return *std::move(sweep);
}

TEST(VirtualSweep, TakesTheTimeThatItsWorkersWouldTake) {
  // 10 trials of 9 iterations of 2 s on 4 workers: three rounds of 18 s.
  const SimulatedSweep sweep = Swept(SimulationOf(Formula("samples: 10\n"), 4));
  EXPECT_EQ(sweep.outcome.status, ExperimentStatus::kFinished);
  EXPECT_EQ(sweep.trials, 10);
  EXPECT_EQ(sweep.outcome.epochs, 90);
  EXPECT_EQ(sweep.outcome.attempts, 10);
  EXPECT_EQ(sweep.outcome.duration, Seconds(54));
  EXPECT_DOUBLE_EQ(sweep.outcome.busy_seconds, 180);
}

TEST(VirtualSweep, TellsWhenTheBestValueWasThere) {
  const SimulatedSweep sweep = Swept(SimulationOf(Formula("samples: 30\n"), 1));
  const auto& improvements = sweep.outcome.improvements;
  ASSERT_FALSE(improvements.empty());
  // The first report of all is the best by then.
  EXPECT_EQ(improvements.front().at, Seconds(2));
  EXPECT_EQ(improvements.front().epochs, 1);
  for (size_t i = 1; i < improvements.size(); ++i) {
    EXPECT_LT(improvements[i].value, improvements[i - 1].value);
    // One worker: trial n begins at 18 n and says its value 2 s later.
    EXPECT_EQ(improvements[i].at, Seconds(18.0 * improvements[i].trial.value + 2));
  }
  EXPECT_EQ(sweep.best_configuration.Find("x")->AsDouble(), improvements.back().value);
}

// Trials that report the same are a doubt about the program of a real sweep; here none runs.
TEST(VirtualSweep, HasNoDoubtsAboutAProgram) {
  const SimulatedSweep sweep =
      Swept(SimulationOf("name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\n"
                         "trainable: {curve: {value: '1 / t', iterations: 3}}\nsamples: 10\n",
                         1));
  EXPECT_TRUE(sweep.outcome.said.empty()) << sweep.outcome.said.front();
}

TEST(VirtualSweep, IsTheSameEachTime) {
  const Simulation simulation = SimulationOf(
      Formula("samples: 200\nscheduler: {asha: {max_t: 9, reduction_factor: 3}}\n"), 7);
  const SimulatedSweep once = Swept(simulation);
  const SimulatedSweep again = Swept(simulation);
  EXPECT_EQ(once.outcome.epochs, again.outcome.epochs);
  EXPECT_EQ(once.outcome.duration, again.outcome.duration);
  EXPECT_EQ(once.best_configuration, again.best_configuration);
}

TEST(VirtualSweep, TheSchedulerStopsTrials) {
  // Values do not change, so asha with reduction factor 3 keeps the best all the way.
  const SimulatedSweep fifo = Swept(SimulationOf(Formula("samples: 200\n"), 7));
  const SimulatedSweep asha = Swept(SimulationOf(
      Formula("samples: 200\nscheduler: {asha: {max_t: 9, reduction_factor: 3}}\n"), 7));
  EXPECT_LT(asha.outcome.epochs, fifo.outcome.epochs / 2);
  EXPECT_GT(asha.stopped_early, 100);
  EXPECT_EQ(fifo.stopped_early, 0);
  EXPECT_EQ(asha.outcome.improvements.back().value, fifo.outcome.improvements.back().value);
}

TEST(VirtualSweep, WorkersThatHoldSeveralTrialsAreFilled) {
  Simulation simulation = SimulationOf(Formula("samples: 12\nresources: {cpu: 2, gpu: 0.5}\n"), 2);
  simulation.workers.capacity = {6000, {{0, "virtual", 0}}};
  // CPUs for three, a device for two: two workers run four at a time.
  EXPECT_EQ(Swept(simulation).outcome.duration, Seconds(3 * 18));
}

TEST(VirtualSweep, TrialsThatCrashAreTriedAgainFromTheirCheckpoint) {
  Simulation simulation = SimulationOf(
      "name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\nsamples: 20\n"
      "trainable: {curve: {value: x, iterations: 9, seconds: 2, crash: 0.1}}\n"
      "failure: {max_failures: -1, backoff: 1s}\n",
      3);
  const SimulatedSweep sweep = Swept(simulation);
  EXPECT_EQ(sweep.failed, 0);
  EXPECT_GT(sweep.outcome.attempts, 20);
  // A checkpoint at each report: no iteration is reported twice.
  EXPECT_EQ(sweep.outcome.epochs, 180);
}

// Two iterations that report x each; a trial whose x is below 0.2 crashes before the second.
class CrashingCurve final : public AttemptCurve {
 public:
  CrashingCurve(double x, int64_t from) : x_(x), iteration_(from) {}

  std::optional<TrialStep> Next() override {
    TrialStep step;
    step.iteration = ++iteration_;
    step.seconds = 1;
    step.metrics = {{"loss", x_}};
    step.final = iteration_ == 2;
    if (step.final && x_ < 0.2) step.ends_as = Outcome::kCrashed;
    return step;
  }

 private:
  const double x_;
  int64_t iteration_;
};

class CrashingCurves final : public TrialCurves {
 public:
  std::unique_ptr<AttemptCurve> Begin(const AttemptRef&, const Configuration& configuration,
                                      int64_t from_iteration) override {
    return std::make_unique<CrashingCurve>(configuration.Find("x")->AsDouble(), from_iteration);
  }
  int64_t iterations_max() const override { return 2; }
};

TEST(VirtualSweep, ATrialThatFailedIsNotTheBest) {
  const Simulation simulation = SimulationOf(
      "name: s\nmetric: loss\nmode: min\nspace: {x: {grid_search: [0.5, 0.1, 0.4]}}\n"
      "failure: {max_failures: 0}\n",
      1);
  const auto space = SpaceOf(simulation.spec);
  ASSERT_TRUE(space.ok());
  auto searcher = MakeSearcher(simulation.spec.search,
                               ProblemOf(simulation.spec, *space, simulation.spec.samples, 7));
  ASSERT_TRUE(searcher.ok()) << searcher.status().message();
  const auto controller = MakeVirtualController(simulation.spec, 7, *std::move(searcher));
  ASSERT_TRUE(controller.ok());
  CrashingCurves curves;
  VirtualSweep sweep(**controller, curves, simulation.workers);
  const auto outcome = sweep.Run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ((*controller)->trials()[1].row.status, TrialStatus::kError);
  std::vector<double> values;
  for (const Improvement& improvement : outcome->improvements) values.push_back(improvement.value);
  EXPECT_THAT(values, ElementsAre(0.5, 0.4));
}

TEST(VirtualSweep, OfSeveralRunsTheBestIsAMean) {
  const SimulatedSweep sweep = Swept(
      SimulationOf("name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\nsamples: 20\n"
                   "search: {algorithm: random, repeat: 2}\n"
                   "trainable: {curve: {value: x, iterations: 3, seconds: 1, noise: 0.5}}\n",
                   4));
  ASSERT_TRUE(sweep.outcome.best_runs);
  EXPECT_EQ(sweep.outcome.best_runs->count(), 2);
  const Improvement& best = sweep.outcome.improvements.back();
  EXPECT_EQ(best.value, sweep.outcome.best_runs->mean);
  EXPECT_GT(best.value, sweep.outcome.best_runs->best);
  EXPECT_EQ(best.trial.value, sweep.outcome.best_runs->best_trial);
}

TEST(VirtualSweep, OneThatHangsForEverIsSaid) {
  const std::string space =
      "name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\nsamples: 3\n"
      "trainable: {curve: {value: x, iterations: 2, seconds: 2, hang: 1}}\n";
  EXPECT_EQ(Swept(SimulationOf(space, 3)).outcome.status, ExperimentStatus::kRunning);
  const SimulatedSweep killed = Swept(SimulationOf(space + "limits: {no_progress: 60s}\n", 3));
  EXPECT_EQ(killed.outcome.status, ExperimentStatus::kFinished);
  EXPECT_EQ(killed.failed, 3);
  EXPECT_EQ(killed.outcome.duration, Seconds(60));
}

TEST(VirtualSweep, EndsWithItsTime) {
  Simulation simulation = SimulationOf(Formula("samples: -1\nlimits: {sweep_time: 100s}\n"), 5);
  const SimulatedSweep sweep = Swept(simulation);
  // What runs then ends at its next report.
  EXPECT_EQ(sweep.outcome.duration, Seconds(102));
  simulation.spec.limits.sweep_time.reset();
  EXPECT_THAT(CheckSimulation(simulation).message(), HasSubstr("samples: -1 never ends"));
}

TEST(VirtualSweep, RefusesWorkersThatNoTrialFitsOn) {
  EXPECT_THAT(CheckSimulation(SimulationOf(Formula("resources: {cpu: 2}\n"), 5)).message(),
              HasSubstr("a worker has 1 CPU, 0 GPUs, and a trial needs cpu: 2"));
}

// ---- recorded curves

// Curve i: x = i / count, value x at each of three iterations.
RecordedCurves Recorded(int64_t count) {
  RecordedCurves recorded;
  recorded.metrics = {"loss"};
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(count);
    RecordedCurve& curve = recorded.curves.emplace_back();
    curve.configuration.Set("x", Value(x));
    curve.iterations = {1, 2, 3};
    curve.seconds = {1, 1, 1};
    curve.values = {x, x, x};
    curve.was_reported = {true, true, true};
  }
  return recorded;
}

constexpr char kNoTrainable[] = "name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\n";

TEST(RecordedTrials, EachCurveIsHadOnceBeforeAnyIsHadAgain) {
  RecordedOrder order(5, 7);
  for (int64_t pass = 0; pass < 3; ++pass) {
    std::set<size_t> had;
    for (int64_t i = 0; i < 5; ++i) had.insert(order.CurveOf(TrialNumber{5 * pass + i}));
    EXPECT_EQ(had.size(), 5u);
  }
  RecordedOrder same(5, 7);
  EXPECT_EQ(same.CurveOf(TrialNumber{12}), order.CurveOf(TrialNumber{12}));
}

TEST(RecordedTrials, ARandomSearchDrawsFromTheRecord) {
  Simulation simulation = SimulationOf(std::string(kNoTrainable) + "samples: 10\n", 2);
  simulation.recorded = Recorded(10);
  const SimulatedSweep sweep = Swept(simulation);
  EXPECT_EQ(sweep.outcome.epochs, 30);
  EXPECT_EQ(sweep.outcome.duration, Seconds(15));
  EXPECT_EQ(sweep.outcome.improvements.back().value, 0);
  EXPECT_EQ(sweep.distance.trials, 0);
}

TEST(RecordedTrials, AnUnrecordedConfigurationHasTheNearestCurve) {
  const auto space = ParseYaml("{x: {uniform: [0, 1]}}");
  const auto parsed = SearchSpace::Parse(*space);
  ASSERT_TRUE(parsed.ok());
  const RecordedCurves recorded = Recorded(10);
  RecordedTrials trials(recorded, *parsed, 7);
  Configuration configuration;
  configuration.Set("x", Value(0.57));
  const auto curve = trials.Begin({TrialNumber{0}, {}, {}}, configuration, 0);
  EXPECT_EQ(curve->Next()->metrics[0].second, 0.6);
  EXPECT_EQ(trials.distance().trials, 1);
  EXPECT_NEAR(trials.distance().max, 0.03, 1e-12);
}

TEST(RecordedTrials, AnAttemptGoesOnWhereTheOneBeforeWas) {
  const auto space = ParseYaml("{x: {uniform: [0, 1]}}");
  const RecordedCurves recorded = Recorded(2);
  RecordedTrials trials(recorded, *SearchSpace::Parse(*space), 7);
  const auto curve = trials.Begin({TrialNumber{0}, {}, {}}, recorded.curves[1].configuration, 2);
  const auto step = curve->Next();
  EXPECT_EQ(step->iteration, 3);
  EXPECT_TRUE(step->final);
  EXPECT_FALSE(curve->Next().has_value());
}

TEST(RecordedTrials, ACurveIsNeeded) {
  Simulation simulation = SimulationOf(kNoTrainable, 1);
  EXPECT_THAT(CheckSimulation(simulation).message(), HasSubstr("--curves: is needed"));
  simulation.recorded = RecordedCurves{{"loss"}, {}};
  EXPECT_THAT(CheckSimulation(simulation).message(), HasSubstr("no curve in it"));
}

// The trial saves at the iterations where it may be paused, whatever checkpoint.every is.
TEST(VirtualSweep, APausedTrialRepeatsNothing) {
  for (const char* scheduler :
       {"{asha: {variant: promote, max_t: 9, reduction_factor: 2}}",
        "{hyperband: {max_t: 9, reduction_factor: 3}}", "{pasha: {max_t: 9, reduction_factor: 2}}",
        "{pbt: {perturbation_interval: 2, synch: true}}",
        "{combine: [{hyperband: {max_t: 9}}, {threshold: {upper: 0.8}}]}"}) {
    const std::string rest = "samples: 40\nscheduler: " + std::string(scheduler) + "\n";
    const SimulatedSweep each = Swept(SimulationOf(Formula(rest), 4));
    const SimulatedSweep rare = Swept(SimulationOf(Formula(rest + "checkpoint: {every: 5}\n"), 4));
    EXPECT_GT(each.outcome.attempts, 40) << scheduler;
    EXPECT_EQ(rare.outcome.attempts, each.outcome.attempts) << scheduler;
    EXPECT_EQ(rare.outcome.epochs, each.outcome.epochs) << scheduler;
    EXPECT_EQ(rare.outcome.duration, each.outcome.duration) << scheduler;
  }
}

// ---- schedulers side by side

TEST(ComparedScheduler, TakesOverWhatBothKnow) {
  const ExperimentSpec spec =
      SimulationOf(Formula("scheduler: {asha: {max_t: 9, brackets: 2}}\n"), 1).spec;
  EXPECT_EQ(ToJson(SchedulerNamed("asha", spec, 27)->scheduler),
            R"({"asha":{"max_t":9,"brackets":2}})");
  EXPECT_EQ(ToJson(SchedulerNamed("fifo", spec, 27)->scheduler), R"("fifo")");
  const ExperimentSpec fifo = SimulationOf(Formula(""), 1).spec;
  EXPECT_EQ(ToJson(SchedulerNamed("asha", fifo, 27)->scheduler), R"({"asha":{"max_t":27}})");
  EXPECT_THAT(SchedulerNamed("ashaa", fifo, 27).status().message(),
              HasSubstr("did you mean 'asha'?"));
}

}  // namespace
}  // namespace tune
