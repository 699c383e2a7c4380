// Sweeps with limits on results (`feasible`): which report is a trial's best, what schedulers
// compare, what is told of metrics that are missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "core/standing.h"
#include "tests/tuner/controller_world.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

using ::testing::Contains;
using testing::ControllerWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

ExperimentSpec Limited(const char* limits, int64_t samples = 1) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.trainable = Value::MakeMap();
  spec.trainable.Set("command", Value(Value::List{Value("train")}));
  spec.feasible = *ResultLimits::Parse(*ParseJson(limits), SpaceOf(spec)->parameters());
  return spec;
}

struct Told {
  double value = 0;
  double ms = 0;
};

class ControllerLimits : public ::testing::Test {
 protected:
  void Begin(const ExperimentSpec& spec, int64_t cpus = 1) {
    world_ = std::make_unique<ControllerWorld>(spec);
    worker_ = world_->Join(cpus);
  }
  ReportAnswer Report(int64_t trial, int64_t iteration, Metrics metrics, bool final = false) {
    ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(TrialNumber{trial});
    tune::Report report;
    report.iteration = iteration;
    report.metrics = std::move(metrics);
    report.final = final;
    ++attempt.sequence;
    world_->Apply({ReportArrived{worker_, {attempt.start.ref, attempt.sequence, report}}});
    return world_->answers.at({attempt.start.ref, attempt.sequence});
  }
  const TrialRow& Row(int64_t trial = 0) { return world_->trials.at(TrialNumber{trial}); }

  std::unique_ptr<ControllerWorld> world_;
  WorkerId worker_;
};

TEST_F(ControllerLimits, TheBestReportIsFeasibleOrTheOneThatViolatesLeast) {
  Begin(Limited(R"(["ms <= 20"])"));
  Report(0, 1, {{"value", 0.9}, {"ms", 30}});
  EXPECT_EQ(Row().best_value, 0.9);
  EXPECT_EQ(Row().best_violation, 0.5);
  Report(0, 2, {{"value", 0.3}, {"ms", 25}});
  EXPECT_EQ(Row().best_value, 0.3);
  EXPECT_EQ(Row().best_violation, 0.25);
  Report(0, 3, {{"value", 0.2}, {"ms", 20}});
  Report(0, 4, {{"value", 0.95}, {"ms", 21}});
  EXPECT_EQ(Row().best_value, 0.2);
  EXPECT_EQ(Row().best_iteration, 3);
  EXPECT_EQ(Row().best_violation, 0.0);
  EXPECT_EQ(Row().last_value, 0.95) << "the values stay what they are";
  EXPECT_EQ(FindViolation(world_->reports.back().metrics), 0.05);
}

TEST_F(ControllerLimits, WithoutLimitsAProgramsOwnViolationIsAMetricLikeOthers) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.scheduler = *ParseJson(R"({"asha": {"max_t": 9, "reduction_factor": 2}})");
  spec.trainable = *ParseJson(R"({"command": ["train"]})");
  Begin(spec, 2);
  Report(0, 1, {{"value", 0.1}, {"violation", 0}});
  EXPECT_EQ(Report(1, 1, {{"value", 0.9}, {"violation", 1}}), ReportAnswer::kContinue);
  EXPECT_EQ(world_->reports.back().decision->rank, 1);
}

TEST_F(ControllerLimits, TheBestCheckpointIsOfTheBestResultAlsoWhereLimitsAreKnownLate) {
  Begin(Limited(R"(["ms <= 20"])"));
  ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(TrialNumber{0});
  const auto report = [&](int64_t iteration, Metrics metrics) {
    tune::Report told;
    told.iteration = iteration;
    told.metrics = std::move(metrics);
    told.has_checkpoint = true;
    told.checkpoint.path = attempt.start.artifact_dir + "/checkpoint_" + std::to_string(iteration);
    ++attempt.sequence;
    world_->Apply({ReportArrived{worker_, {attempt.start.ref, attempt.sequence, told}}});
  };
  report(1, {{"value", 0.95}});  // Nobody can tell whether it keeps the limit.
  report(2, {{"value", 0.9}, {"ms", 12}});
  report(3, {{"value", 0.5}, {"ms", 12}});
  EXPECT_EQ(Row().best_iteration, 2);
  EXPECT_THAT(world_->removed, ElementsAre(attempt.start.artifact_dir + "/checkpoint_1"));
}

TEST_F(ControllerLimits, ALimitMayNameParameters) {
  Begin(Limited(R"(["ms * x <= 20"])"));
  const double x = world_->configurations.at(TrialNumber{0}).Find("x")->AsDouble();
  Report(0, 1, {{"value", 0.9}, {"ms", 30 / x}});
  EXPECT_NEAR(Row().best_violation.value_or(0), 0.5, 1e-9);
  Report(0, 2, {{"value", 0.1}, {"ms", 10 / x}});
  EXPECT_EQ(Row().best_violation, 0.0);
}

// An accuracy of 0.9 that takes too long is behind one of 0.1 that does not.
TEST_F(ControllerLimits, ASchedulerRanksAtARungByTheSameRule) {
  ExperimentSpec spec = Limited(R"(["ms <= 20"])", 4);
  spec.scheduler = *ParseJson(R"({"asha": {"max_t": 4, "reduction_factor": 2}})");
  Begin(spec, 4);
  EXPECT_EQ(Report(0, 1, {{"value", 0.1}, {"ms", 10}}), ReportAnswer::kContinue);
  EXPECT_EQ(Report(1, 1, {{"value", 0.9}, {"ms", 40}}), ReportAnswer::kStop);
  EXPECT_EQ(world_->reports.back().decision->rank, 2);
  Report(2, 1, {{"value", 0.8}, {"ms", 30}});
  EXPECT_EQ(world_->reports.back().decision->rank, 2) << "it violates less than trial 1";
  EXPECT_EQ(Report(3, 1, {{"value", 0.2}, {"ms", 20}}), ReportAnswer::kContinue);
  EXPECT_EQ(world_->reports.back().decision->rank, 1);
}

// What comes at the end alone is not held against a trial before.
TEST_F(ControllerLimits, WhileNobodyCanTellTheValueAloneCountsAtARung) {
  ExperimentSpec spec = Limited(R"(["ms <= 20"])", 2);
  spec.scheduler = *ParseJson(R"({"asha": {"max_t": 4, "reduction_factor": 2}})");
  Begin(spec, 2);
  EXPECT_EQ(Report(0, 1, {{"value", 0.1}, {"ms", 10}}), ReportAnswer::kContinue);
  EXPECT_EQ(Report(1, 1, {{"value", 0.9}}), ReportAnswer::kContinue);
  EXPECT_EQ(world_->reports.back().decision->rank, 1);
  EXPECT_EQ(Row(1).best_violation, kViolationUnknown);
  EXPECT_EQ(Report(1, 2, {{"ms", 12}}, true), ReportAnswer::kStop);
  EXPECT_EQ(Row(1).best_violation, 0.0) << "the last iteration is judged by the file at its end";
}

TEST_F(ControllerLimits, AMetricThatIsNeverReportedIsToldOnceAtTheFirstReport) {
  Begin(Limited(R"(["latency_ms <= 20"])"));
  Report(0, 1, {{"value", 0.9}, {"latencyms", 30}});
  Report(0, 2, {{"value", 0.9}, {"latencyms", 30}});
  EXPECT_THAT(world_->said,
              ElementsAre("trial 0 reports value and no number as latency_ms, which feasible names "
                          "and which is no parameter; such a report counts as infeasible until it "
                          "has one; did you mean 'latencyms'?"));
}

TEST_F(ControllerLimits, NaNInALimitsMetricIsInfeasibleAndToldOnce) {
  Begin(Limited(R"(["ms <= 20"])"));
  Report(0, 1, {{"value", 0.9}, {"ms", std::nan("")}});
  Report(0, 2, {{"value", 0.8}, {"ms", std::nan("")}});
  EXPECT_EQ(Row().best_violation, kViolationUnknown);
  EXPECT_THAT(world_->said,
              ElementsAre(HasSubstr("trial 0 reports NaN as ms, which feasible names: "
                                    "such a report counts as infeasible")));
  Report(0, 3, {{"value", 0.1}, {"ms", 100}});
  EXPECT_EQ(Row().best_value, 0.1) << "a violation that is known is less than one that is not";
}

TEST_F(ControllerLimits, ASweepWithoutLimitsKnowsNoViolation) {
  Begin(Limited("null"));
  Report(0, 1, {{"value", 0.9}, {"violation", 3}});
  EXPECT_EQ(Row().best_violation, std::nullopt);
  EXPECT_EQ(FindMetric(world_->reports.back().metrics, "violation"), 3);
  EXPECT_THAT(world_->said, IsEmpty());
}

// Trial 2 is the best; what the later ones come to is no better, or breaks the limit. Trials that
// were given out ahead run to their ends.
TEST_F(ControllerLimits, SoManyTrialsWithoutAGainEndTheSweep) {
  ExperimentSpec spec = Limited(R"(["ms <= 20"])", 500);
  spec.no_gain_max = 3;
  Begin(spec, 1);
  const std::vector<Told> first = {{0.5, 10}, {0.4, 10}, {0.6, 10}, {0.9, 30}, {0.6, 10}};
  size_t trial = 0;
  while (!world_->has_ended && trial < 400) {
    const Told told = trial < first.size() ? first[trial] : Told{0.1, 5};
    const TrialNumber number{static_cast<int64_t>(trial++)};
    Report(number.value, 1, {{"value", told.value}, {"ms", told.ms}}, true);
    world_->Apply({world_->End(worker_, number, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world_->has_ended);
  EXPECT_EQ(world_->experiment.status, ExperimentStatus::kFinished);
  EXPECT_EQ(world_->trials.size(), trial);
  EXPECT_LT(trial, 100u);
  EXPECT_THAT(world_->said,
              ElementsAre("until.no_gain: 3 trials in a row ended without a better result than "
                          "trial 2; no more begin. To go on: tune resume sweep --samples N, with N "
                          "above 500"));
  EXPECT_EQ(world_->experiment.ended_early,
            "until.no_gain: 3 trials in a row ended without a better result than trial 2");
  // In another life, which comes to the same by its journal.
  world_->Recover();
  EXPECT_FALSE(world_->controller().sweep().HasMoreToCreate());
  world_->Apply({SamplesExtended{600}});
  EXPECT_TRUE(world_->controller().sweep().HasMoreToCreate()) << "who asks for more gets it";
}

TEST_F(ControllerLimits, ASweepThatEndedWithoutAGainIsCalledSoAlsoWhereItsTimeIsUpMeanwhile) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(200);
  spec.search = *ParseJson(R"({"algorithm": "gp"})");  // Gives out no trials ahead of need.
  spec.no_gain_max = 2;
  spec.limits.sweep_time = Seconds(100);
  Begin(spec, 2);
  for (const int64_t trial : {0, 2, 3}) {
    Report(trial, 1, {{"value", trial == 0 ? 0.9 : 0.1}}, true);
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  }
  world_->now = world_->now + Seconds(100);
  world_->Apply({DeadlinePassed{}});
  Report(1, 1, {{"value", 0.1}});
  world_->Apply({world_->End(worker_, TrialNumber{1}, Outcome::kStopped)});
  ASSERT_TRUE(world_->has_ended);
  EXPECT_THAT(world_->experiment.ended_early, StartsWith("until.no_gain: "));

  // More time brings no more trials.
  world_->Recover();
  world_->said.clear();
  world_->Apply({TunerRestarted{}, SettingsChanged{R"({"name": "sweep", "metric": "value",
      "mode": "max", "samples": 200, "trainable": {"curve": {"value": "x"}},
      "search": {"algorithm": "gp"}, "until": {"no_gain": 2},
      "space": {"x": {"uniform": [0, 1]}}, "limits": {"sweep_time": "1h"}})"}});
  EXPECT_EQ(world_->trials.size(), 4u);
  EXPECT_THAT(world_->experiment.ended_early, StartsWith("until.no_gain: "));
  EXPECT_THAT(world_->said, Not(Contains(HasSubstr("the sweep goes on"))));
}

TEST_F(ControllerLimits, MoreTrialsOfASweepWhoseTimeIsUpDoNotBegin) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(200);
  spec.search = *ParseJson(R"({"algorithm": "gp"})");
  spec.no_gain_max = 1;
  spec.limits.sweep_time = Seconds(100);
  Begin(spec, 1);
  for (const int64_t trial : {0, 1}) {
    Report(trial, 1, {{"value", 0.5}}, true);
    world_->now = world_->now + Seconds(50);
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world_->has_ended);
  EXPECT_THAT(world_->experiment.ended_early, StartsWith("until.no_gain: "));
  world_->Recover();
  world_->Apply({TunerRestarted{}, SamplesExtended{300}});
  EXPECT_EQ(world_->experiment.ended_early, "limits.sweep_time was reached");
}

TEST_F(ControllerLimits, TooLittleToBeGainedEndsTheSweep) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(500);
  spec.search = *ParseJson(R"({"algorithm": "gp"})");
  spec.regret_max = 0.05;
  Begin(spec, 1);
  size_t trial = 0;
  while (!world_->has_ended && trial < 100) {
    const TrialNumber number{static_cast<int64_t>(trial++)};
    const double x = world_->configurations.at(number).Find("x")->AsDouble();
    Report(number.value, 1, {{"value", 1 - (x - 0.3) * (x - 0.3)}}, true);
    world_->Apply({world_->End(worker_, number, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world_->has_ended);
  EXPECT_EQ(world_->experiment.status, ExperimentStatus::kFinished);
  EXPECT_GE(trial, 10u) << "the first trials are spread";
  EXPECT_LT(trial, 40u);
  EXPECT_THAT(world_->said, ElementsAre(HasSubstr("until.regret: the best configuration of the "
                                                  "space is expected to be better than the best "
                                                  "trial by less than 0.05; no more begin")));
  EXPECT_THAT(world_->experiment.ended_early, StartsWith("until.regret: "));
  {
    SCOPED_TRACE("a build whose model expects more to be gained follows what was decided");
    ExperimentSpec other = spec;
    other.regret_max = 1e-12;
    const auto fresh = ControllerWorld::MakeController(other);
    fresh->RestoreSuggestions({world_->configurations.begin(), world_->configurations.end()});
    for (const auto& step : world_->log()) fresh->Follow(*DecodeStream(step.stream));
    EXPECT_EQ(fresh->trials().size(), trial);
    EXPECT_FALSE(fresh->sweep().HasMoreToCreate());
  }
  world_->has_ended = false;
  world_->Recover();
  EXPECT_FALSE(world_->controller().sweep().HasMoreToCreate());
  world_->Apply({TunerRestarted{}, SamplesExtended{600}});
  EXPECT_TRUE(world_->controller().sweep().HasMoreToCreate()) << "who asks for more gets it";
  worker_ = world_->Join(1);
  for (int more = 0; more < 3; ++more) {
    const TrialNumber number{static_cast<int64_t>(trial++)};
    Report(number.value, 1, {{"value", 0.5}}, true);
    world_->Apply({world_->End(worker_, number, Outcome::kCompleted)});
  }
  // The first of them has the number of the trial that was not made.
  const size_t count = world_->controller().trials().size();
  EXPECT_EQ(count, trial + 1) << "one more runs";
  world_->Recover();
  EXPECT_EQ(world_->controller().trials().size(), count);
  EXPECT_TRUE(world_->controller().sweep().HasMoreToCreate());
}

TEST_F(ControllerLimits, AnExhaustedSpaceIsCalledSoInALaterLifeToo) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(50);
  spec.search = *ParseJson(R"({"algorithm": "gp"})");
  spec.regret_max = 0.01;
  spec.space = *ParseJson(R"({"x": {"choice": [1, 2, 3]}})");
  Begin(spec);
  for (int64_t trial = 0; !world_->has_ended && trial < 4; ++trial) {
    Report(trial, 1, {{"value", 0.1 * static_cast<double>(trial)}}, true);
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world_->has_ended);
  EXPECT_EQ(world_->trials.size(), 3u) << "too few for until.regret to be asked";
  const std::string why = world_->experiment.ended_early;
  EXPECT_THAT(why, StartsWith("the search space is exhausted after 3 trials"));
  world_->Recover();
  EXPECT_EQ(world_->controller().sweep().ended_early(), why);
}

TEST_F(ControllerLimits, WhileNoTrialHasSucceededNothingIsKnownOfWhatMayBeGained) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(12);
  spec.search = *ParseJson(R"({"algorithm": "gp"})");
  spec.regret_max = 0.05;
  Begin(spec, 1);
  for (int64_t trial = 0; !world_->has_ended && trial < 12; ++trial) {
    Report(trial, 1, {{"value", 0.5}});
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCrashed)});
  }
  EXPECT_EQ(world_->trials.size(), 12u);
  EXPECT_EQ(world_->experiment.ended_early, "");
}

// It has tried few of a space that is not exhausted.
TEST_F(ControllerLimits, ASmallSpaceOfWhichTheRestIsNotTriedIsNotCalledExhausted) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(9);
  spec.search = *ParseJson(R"({"algorithm": "grid"})");
  spec.no_gain_max = 2;
  spec.space = *ParseJson(R"({"x": {"choice": [1, 2, 3, 4, 5, 6, 7, 8, 9]}})");
  Begin(spec);
  for (int64_t trial = 0; !world_->has_ended && trial < 9; ++trial) {
    Report(trial, 1, {{"value", 0.5}}, true);
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world_->has_ended);
  EXPECT_THAT(world_->said, ElementsAre(HasSubstr("until.no_gain: 2 trials in a row")));
  EXPECT_THAT(world_->experiment.ended_early, StartsWith("until.no_gain: "));
}

TEST_F(ControllerLimits, AReplayOfTheJournalLeadsToTheSameViolations) {
  ExperimentSpec spec = Limited(R"(["ms * x <= 20", "value >= 0.2"])", 3);
  Begin(spec, 2);
  Report(0, 1, {{"value", 0.9}, {"ms", 300}});
  Report(1, 1, {{"value", 0.1}, {"ms", std::nan("")}});
  Report(0, 2, {{"value", 0.4}, {"ms", 3}}, true);
  std::vector<std::optional<double>> before;
  for (const TrialRecord& trial : world_->controller().trials()) {
    before.push_back(trial.row.best_violation);
  }
  world_->Recover();
  std::vector<std::optional<double>> after;
  for (const TrialRecord& trial : world_->controller().trials()) {
    after.push_back(trial.row.best_violation);
  }
  EXPECT_EQ(before, after);
  EXPECT_EQ(after[0], 0.0);
}

}  // namespace
}  // namespace tune
