// What counts as an iteration, and as a value: reports in parts, numbers that are not finite, the
// seeds of trials.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/json.h"
#include "search/trial_seed.h"
#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using ::testing::Contains;
using testing::ControllerWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr TrialNumber kFirst{0};

class ControllerReports : public ::testing::Test {
 protected:
  void Begin(ExperimentSpec spec) {
    spec.trainable = Value::MakeMap();
    spec.trainable.Set("command", Value(Value::List{Value("train")}));
    world_ = std::make_unique<ControllerWorld>(spec);
    worker_ = world_->Join(1);
  }
  // A report of trial 0's present attempt.
  ReportAnswer Report(int64_t iteration, Metrics metrics, bool final = false,
                      const std::string& note = "") {
    ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(kFirst);
    tune::Report report;
    report.iteration = iteration;
    report.metrics = std::move(metrics);
    report.final = final;
    report.note = note;
    ++attempt.sequence;
    world_->Apply({ReportArrived{worker_, {attempt.start.ref, attempt.sequence, report}}});
    return world_->answers.at({attempt.start.ref, attempt.sequence});
  }
  void End(Outcome outcome, const std::string& error = "") {
    world_->Apply({world_->End(worker_, kFirst, outcome, error)});
  }
  const TrialRow& Row() { return world_->trials.at(kFirst); }

  std::unique_ptr<ControllerWorld> world_;
  WorkerId worker_;
};

Value Asha(int64_t max_t) {
  Value options = Value::MakeMap();
  options.Set("max_t", max_t);
  options.Set("reduction_factor", 2);
  Value scheduler = Value::MakeMap();
  scheduler.Set("asha", options);
  return scheduler;
}

// Its steps are counted in hundreds: the next report is not that of the next step.
TEST_F(ControllerReports, ATrialThatReportsInStridesSavesWhereItMayBePaused) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.checkpoint.every = 7;
  spec.scheduler = *ParseJson(
      R"({"asha": {"variant": "promote", "max_t": 27000, "grace_period": 1000,
                   "reduction_factor": 3}})");
  Begin(spec);
  EXPECT_TRUE(world_->Running(worker_).at(kFirst).start.saves_first) << "its first may be any";
  EXPECT_EQ(Report(400, {{"value", 0.5}}), ReportAnswer::kContinue);
  EXPECT_EQ(Report(800, {{"value", 0.5}}), ReportAnswer::kSave);
  EXPECT_EQ(Report(1200, {{"value", 0.5}}), ReportAnswer::kStop);
  EXPECT_EQ(Row().status, TrialStatus::kPaused);
  End(Outcome::kStopped);
  EXPECT_FALSE(world_->Running(worker_).at(TrialNumber{1}).start.saves_first)
      << "reports are 400 apart";
}

TEST_F(ControllerReports, WithoutTheMetricAReportIsStoredAndIsNoIteration) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.scheduler = Asha(2);
  Begin(spec);
  // Five losses for each value: the trial ends after its second value, not after two losses.
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Report(1, {{"loss", 5.0 - i}}), ReportAnswer::kContinue);
    EXPECT_EQ(world_->reports.back().decision, std::nullopt);
  }
  EXPECT_EQ(Row().iterations, 0);
  EXPECT_EQ(Report(1, {{"value", 0.5}}), ReportAnswer::kContinue);
  EXPECT_EQ(Row().iterations, 1);
  const ReportRow first = world_->reports.back();
  EXPECT_THAT(first.metrics, UnorderedElementsAre(Pair("value", 0.5), Pair("loss", 1.0)));
  EXPECT_EQ(first.decision->rung, 1);
  Report(2, {{"loss", 0.5}});
  EXPECT_EQ(Report(2, {{"value", 0.6}}), ReportAnswer::kStop);
  EXPECT_EQ(Row().stop_reason, StopReason::kMaxT);
}

TEST_F(ControllerReports, WhatAlwaysComesBehindTheMetricIsToldAtTheEnd) {
  const auto notes = [this](const std::vector<const char*>& reports) {
    Begin(ControllerWorld::MakeSpec(1));
    int64_t iteration = 1;
    for (const std::string name : reports) {
      Report(iteration, {{name, 0.5}});
      if (name == "value") ++iteration;
    }
    End(Outcome::kCompleted);
    std::vector<std::string> texts;
    for (const NoteRow& note : world_->notes) texts.push_back(note.text);
    return texts;
  };
  EXPECT_THAT(notes({"value", "f1", "value", "f1"}),
              ElementsAre(HasSubstr("'f1' is reported behind 'value', which makes the iteration")));
  EXPECT_THAT(notes({"f1", "value", "f1", "value"}), IsEmpty());
  EXPECT_THAT(notes({"f1", "value", "f1", "value", "f1"}), IsEmpty()) << "steps that are left over";
  EXPECT_THAT(notes({"value", "value", "test_acc"}), IsEmpty()) << "a summary";
  EXPECT_THAT(notes({"value", "f1", "value"}), IsEmpty()) << "a first look, then whole epochs";
}

// Also behind something that was reported once before, as long as the best depends on it.
TEST_F(ControllerReports, WhatDecidesAndIsLeftOverIsToldAtTheEnd) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.scores = *MetricScores::Make({Value("value")}, Value("size <= 2"));
  Begin(spec);
  Report(1, {{"size", 100}});
  for (int64_t iteration = 1; iteration <= 3; ++iteration) {
    Report(iteration, {{"value", 0.5}});
    Report(iteration + 1, {{"size", 1}});
  }
  End(Outcome::kCompleted);
  ASSERT_EQ(world_->notes.size(), 1u);
  EXPECT_THAT(world_->notes.front().text,
              HasSubstr("the last 'size' is reported behind the last 'value' and counts for no "
                        "iteration"));
}

TEST_F(ControllerReports, AnIterationNamedByTheCallerIsItsOwnEvenWithoutTheMetric) {
  Begin(ControllerWorld::MakeSpec());
  Report(100, {{"loss", 2}});
  Report(200, {{"loss", 1}});
  Report(200, {{"value", 0.5}});
  ASSERT_EQ(world_->reports.size(), 3u);
  EXPECT_EQ(world_->reports[1].iteration, 200);
  EXPECT_THAT(world_->reports[2].metrics,
              UnorderedElementsAre(Pair("value", 0.5), Pair("loss", 1)));
  EXPECT_EQ(Row().iterations, 200);
  // It has a value: it is over.
  EXPECT_EQ(Report(200, {{"loss", 3}}), ReportAnswer::kRefused);
}

TEST_F(ControllerReports, AMetricThatIsNamedOtherwiseIsToldAtTheFirstReport) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.metric = "val_acc";
  spec.scores = *MetricScores::Make({Value("val_acc")}, Value());
  Begin(spec);
  Report(1, {{"val_accuracy", 0.5}, {"loss", 1}});
  ASSERT_FALSE(world_->said.empty());
  EXPECT_THAT(world_->said.front(),
              HasSubstr("trial 0 reports val_accuracy, loss; the sweep wants val_acc; did you mean "
                        "'val_accuracy'?"));
  Report(1, {{"val_accuracy", 0.6}, {"loss", 1}});
  EXPECT_EQ(world_->said.size(), 1u);
  // A trial that ends so is an error, under any scheduler.
  Report(1, {{"val_accuracy", 0.7}}, /*final=*/true);
  EXPECT_NE(Row().status, TrialStatus::kTerminated);
  End(Outcome::kBadConfig, "no_metric");
  EXPECT_EQ(Row().status, TrialStatus::kError);
}

TEST_F(ControllerReports, ATrialThatStopsWithoutTheMetricIsAnError) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.stop = {{"loss", 1, false}};
  Begin(spec);
  EXPECT_EQ(Report(1, {{"loss", 0.5}}), ReportAnswer::kRefused);
  End(Outcome::kStopped);
  EXPECT_EQ(Row().status, TrialStatus::kError);
  EXPECT_THAT(world_->attempts.at({kFirst, AttemptNumber{1}}).error, HasSubstr("no_metric"));
}

TEST_F(ControllerReports, ANoteOfATrialIsToldOnceASweep) {
  Begin(ControllerWorld::MakeSpec());
  Report(1, {{"value", 0.5}});
  Report(2, {{"value", 0.6}}, false, "two kinds: a 1 and b 2");
  Report(3, {{"value", 0.6}}, false, "two kinds: c 3 and d 4");
  Report(4, {{"value", 0.6}}, false, "two values: 5 and 6");
  EXPECT_THAT(world_->said,
              ElementsAre("trial 0: two kinds: a 1 and b 2", "trial 0: two values: 5 and 6"));
}

TEST_F(ControllerReports, ATrialThatNeverReportsTheMetricIsEnded) {
  Begin(ControllerWorld::MakeSpec());
  int64_t count = 1;
  while (count < 20'000 && Report(count, {{"loss", 1.0}}) == ReportAnswer::kContinue) ++count;
  EXPECT_EQ(count, 10'000);
  End(Outcome::kStopped);
  EXPECT_EQ(Row().status, TrialStatus::kError);
  EXPECT_THAT(world_->attempts.at({kFirst, AttemptNumber{1}}).error,
              HasSubstr("no_metric: it was ended, since none of its 10000 reports had value"));
}

TEST_F(ControllerReports, ATrialThatIsRetriedOnceTheMetricIsMendedReportsAnew) {
  Begin(ControllerWorld::MakeSpec(1));
  int64_t count = 1;
  while (count < 20'000 && Report(count, {{"loss", 1.0}}) == ReportAnswer::kContinue) ++count;
  End(Outcome::kStopped);
  ASSERT_EQ(Row().status, TrialStatus::kError);
  world_->Recover();
  world_->Apply({TunerRestarted{}, ErroredRetried{}});
  worker_ = world_->Join(1);
  EXPECT_EQ(Report(1, {{"loss", 1.0}}), ReportAnswer::kContinue);
  EXPECT_EQ(Report(1, {{"value", 0.5}}), ReportAnswer::kContinue);
  EXPECT_EQ(Row().best_value, 0.5);
}

TEST_F(ControllerReports, StepsBeforeTheFirstValueAreManyOnceTheMetricCame) {
  Begin(ControllerWorld::MakeSpec());
  Report(1, {{"value", 0.5}});
  for (int64_t i = 0; i < 10'001; ++i) {
    ASSERT_EQ(Report(2, {{"loss", 1.0}}), ReportAnswer::kContinue);
  }
}

TEST_F(ControllerReports, ANumberThatIsNotFiniteIsNeverTheBest) {
  Begin(ControllerWorld::MakeSpec());
  Report(1, {{"value", 0.5}});
  Report(2, {{"value", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(Row().best_value, 0.5);
  EXPECT_EQ(Row().last_value, std::nullopt);
  EXPECT_EQ(Row().iterations, 2);
  EXPECT_EQ(world_->reports.back().value, std::nullopt);
}

// The sweep asked for just that; a value that is none is another matter.
TEST_F(ControllerReports, ATrialAgainstTheConstraintsPutsNoSweepInDoubt) {
  for (const bool is_infeasible : {true, false}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    spec.scores = *MetricScores::Make({Value("value")}, Value("area <= 100"));
    Begin(spec);
    const double value = is_infeasible ? 0.9 : std::nan("");
    Report(1, {{"value", value}, {"area", is_infeasible ? 500.0 : 50.0}});
    End(Outcome::kCompleted);
    EXPECT_EQ(Row().best_value, std::nullopt);
    EXPECT_EQ(world_->notes.empty(), is_infeasible);
  }
}

// The area comes from a file at the end.
TEST_F(ControllerReports, WhatNobodyKnowsToBeFeasibleIsNeverTheBestUntilTheFinalReportTells) {
  for (const double area : {50.0, 500.0}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    spec.scores = *MetricScores::Make({Value("value")}, Value("area <= 100"));
    Begin(spec);
    EXPECT_EQ(Report(1, {{"value", 0.9}}), ReportAnswer::kContinue);
    EXPECT_EQ(Report(2, {{"value", 0.4}}), ReportAnswer::kContinue);
    EXPECT_EQ(Row().best_value, std::nullopt);
    EXPECT_THAT(world_->said, ElementsAre(HasSubstr("reports value and no number as area, which "
                                                    "metric_constraints name")));
    EXPECT_EQ(Report(3, {{"area", area}}, true), ReportAnswer::kStop);
    EXPECT_EQ(Row().best_value, area < 100 ? Metric(0.4) : std::nullopt);
    EXPECT_EQ(Row().stop_reason, StopReason::kCompleted);
  }
}

TEST_F(ControllerReports, AStopConditionSeesAnInfinity) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.stop = {{"loss", 100, true}};
  Begin(spec);
  EXPECT_EQ(Report(1, {{"value", 0.5}, {"loss", std::numeric_limits<double>::infinity()}}),
            ReportAnswer::kStop);
  EXPECT_EQ(Row().stop_reason, StopReason::kStopCondition);
}

TEST_F(ControllerReports, EachTrialIsGivenASeedOfItsOwnAndKeepsIt) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 1;
  Begin(spec);
  const uint64_t seed = world_->Running(worker_).at(kFirst).start.seed;
  EXPECT_EQ(seed, TrialSeed(7, kFirst, 1));
  End(Outcome::kCrashed);
  EXPECT_EQ(world_->Running(worker_).at(kFirst).start.seed, seed);
  Report(1, {{"value", 0.5}}, /*final=*/true);
  End(Outcome::kCompleted);
  EXPECT_EQ(world_->Running(worker_).at(TrialNumber{1}).start.seed,
            TrialSeed(7, TrialNumber{1}, 1));
}

TEST_F(ControllerReports, ATrialThatIsSilentForTenTimesTheUsualIsToldOnce) {
  Begin(ControllerWorld::MakeSpec());
  int64_t iteration = 0;
  for (int i = 0; i < 8; ++i) {
    world_->now = world_->now + Seconds(30);
    Report(++iteration, {{"value", 0.5}});
  }
  EXPECT_THAT(world_->said, IsEmpty());
  const std::optional<Instant> deadline = world_->controller().NextDeadline();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_LE(deadline->us, (world_->now + Seconds(300)).us);
  world_->now = world_->now + Seconds(299);
  world_->Apply({DeadlinePassed{}});
  EXPECT_THAT(world_->said, IsEmpty());
  for (int i = 0; i < 3; ++i) {
    world_->now = world_->now + Seconds(2);
    world_->Apply({DeadlinePassed{}});
  }
  EXPECT_THAT(world_->said,
              ElementsAre(HasSubstr("trial 0 has been silent for 5 min 01 s; trials of "
                                    "this sweep report every 30")));
}

// It would end at its next report, and the sweep with it.
TEST_F(ControllerReports, ASilentTrialThatWasToEndAtItsNextReportIsEnded) {
  for (const bool by_sweep_time : {true, false}) {
    SCOPED_TRACE(by_sweep_time ? "limits.sweep_time" : "tune stop");
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    if (by_sweep_time) spec.limits.sweep_time = Seconds(1000);
    Begin(spec);
    for (int64_t i = 0; i < 8; ++i) {
      world_->now = world_->now + Seconds(30);
      Report(i + 1, {{"value", 0.5}});
    }
    world_->now = world_->now + Seconds(301);
    world_->Apply({DeadlinePassed{}});
    ASSERT_THAT(world_->said, ElementsAre(HasSubstr("trial 0 has been silent for")));
    world_->said.clear();
    if (by_sweep_time) {
      EXPECT_EQ(world_->trials.at(TrialNumber{0}).status, TrialStatus::kRunning);
      const std::optional<Instant> deadline = world_->controller().NextDeadline();
      ASSERT_TRUE(deadline.has_value());
      world_->now = *deadline;
      world_->Apply({DeadlinePassed{}});
      EXPECT_THAT(world_->said.front(), HasSubstr("limits.sweep_time was reached"));
    } else {
      world_->Apply({StopRequested{}});
    }
    EXPECT_THAT(world_->said.back(), HasSubstr("trial 0 is ended: silent for"));
    EXPECT_TRUE(world_->Running(worker_).at(TrialNumber{0}).told_to_die);
    EXPECT_EQ(world_->trials.at(TrialNumber{0}).status, TrialStatus::kTerminated);
    world_->Apply({world_->End(worker_, TrialNumber{0}, Outcome::kStopped, "")});
    EXPECT_TRUE(world_->has_ended);
  }
}

TEST_F(ControllerReports, ATrialThatReportsInItsUsualTimeIsNotEndedAfterTheSweepsTime) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.sweep_time = Seconds(250);
  Begin(spec);
  for (int64_t i = 0; i < 8; ++i) {
    world_->now = world_->now + Seconds(30);
    Report(i + 1, {{"value", 0.5}});
  }
  world_->now = world_->now + Seconds(200);
  world_->Apply({DeadlinePassed{}});
  EXPECT_THAT(world_->said, ElementsAre(HasSubstr("limits.sweep_time was reached")));
  EXPECT_FALSE(world_->Running(worker_).at(TrialNumber{0}).told_to_die);
  Report(9, {{"value", 0.6}});
  EXPECT_EQ(world_->trials.at(TrialNumber{0}).best_value, 0.6);
}

TEST_F(ControllerReports, ATrialThatHangsBeforeItsFirstReportIsToldToo) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 9;
  Begin(spec);
  for (int i = 0; i < 5; ++i) {
    world_->now = world_->now + Seconds(40);
    const double value = 0.5 + 0.01 * i;
    world_->Apply({world_->NextReport(worker_, TrialNumber{i}, value, /*final=*/true)});
    world_->Apply({world_->End(worker_, TrialNumber{i}, Outcome::kCompleted, "")});
  }
  EXPECT_THAT(world_->said, IsEmpty());
  ASSERT_TRUE(world_->controller().NextDeadline().has_value());
  world_->now = world_->now + Seconds(401);
  world_->Apply({DeadlinePassed{}});
  EXPECT_THAT(world_->said,
              ElementsAre(AllOf(HasSubstr("trial 5 has been silent for 6 min 41 s; the first "
                                          "report of trials of this sweep came after 40"),
                                HasSubstr("--trial 5 --now ends it"))));
}

TEST(ControllerRepeats, RunsThatReportTheSameAreTold) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.trainable = Value::MakeMap();
  spec.trainable.Set("command", Value(Value::List{Value("train")}));
  spec.search = Value::MakeMap();
  spec.search.Set("algorithm", "random");
  spec.search.Set("repeat", 2);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(2);
  for (int64_t trial = 0; trial < 2; ++trial) {
    world.Apply({world.NextReport(worker, TrialNumber{trial}, 0.5, /*final=*/true)});
  }
  EXPECT_THAT(world.said, ElementsAre(HasSubstr("the program does not use its seed")));
}

// ---- doubts

TEST_F(ControllerReports, RunsOfOneTrialThatDifferAreInDoubt) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 2;
  Begin(spec);
  Report(1, {{"value", 0.5}});
  Report(2, {{"value", 0.6}});
  End(Outcome::kCrashed);
  Report(1, {{"value", 0.25}});
  constexpr char kDoubt[] =
      "trial 0: its curve is made of runs that differ: attempt 2 was given no checkpoint and "
      "reports 0.25 at iteration 1, where attempt 1 had reported 0.5, which stands; save "
      "checkpoints, with all that the program goes on from, or let it draw by TUNE_SEED alone; if "
      "it "
      "goes on by itself, let `iteration` (or step) say where it is";
  EXPECT_THAT(world_->said, Contains(kDoubt));
  ASSERT_EQ(world_->controller().doubts().size(), 1u);
  EXPECT_EQ(Describe(world_->controller().doubts()[0]), kDoubt);
  ASSERT_EQ(world_->notes.size(), 1u);
  EXPECT_EQ(world_->notes[0].text, kDoubt);
}

TEST_F(ControllerReports, ATrialThatIsStoppedForItsNaNIsToldWhatWouldLetItGoOn) {
  for (const char* const scheduler : {"asha", "fifo"}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    if (std::string(scheduler) == "asha") spec.scheduler = Asha(4);
    Begin(spec);
    const ReportAnswer answer = Report(1, {{"value", std::nan("")}});
    EXPECT_EQ(answer == ReportAnswer::kStop, std::string(scheduler) == "asha");
    End(answer == ReportAnswer::kStop ? Outcome::kStopped : Outcome::kCompleted);
    ASSERT_EQ(world_->controller().doubts().size(), 1u) << scheduler;
    const std::string doubt = world_->controller().doubts()[0].text;
    EXPECT_THAT(doubt, HasSubstr("is NaN or infinite"));
    EXPECT_EQ(doubt.find("nan: continue") != std::string::npos, std::string(scheduler) == "asha");
  }
}

TEST_F(ControllerReports, OneDoubtWithOtherNumbersInItIsToldOnce) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 4;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  const char* const notes[] = {"the expression of 'f1' reads 0.925 out of '0.925 / 0.6'",
                               "the expression of 'f1' reads 0.5 out of '0.5 / 0.625'",
                               "the expression of 'f2' reads 0.5 out of '0.5 / 0.625'",
                               "the expression of 'f1' reads 7 out of '7 / 0.625'"};
  for (int64_t trial = 0; trial < 4; ++trial) {
    ReportArrived report =
        std::get<ReportArrived>(world.NextReport(worker, TrialNumber{trial}, 0.5));
    report.message.report.note = notes[trial];
    world.Apply({report});
  }
  ASSERT_EQ(world.controller().doubts().size(), 2u);
  EXPECT_EQ(Describe(world.controller().doubts()[0]),
            "trial 0: " + std::string(notes[0]) + "; 2 more trials alike");
  EXPECT_EQ(world.controller().doubts()[1].text, "trial 2: " + std::string(notes[2]));
}

TEST_F(ControllerReports, RunsThatGoOnAlikeAreNot) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 2;
  Begin(spec);
  Report(1, {{"value", 0.5}});
  End(Outcome::kCrashed);
  Report(1, {{"value", 0.5 * (1 + 1e-9)}});
  Report(2, {{"value", 0.6}});
  EXPECT_THAT(world_->notes, IsEmpty());
}

TEST_F(ControllerReports, WhatIsReportedAgainBehindACheckpointIsCompared) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 2;
  Begin(spec);
  Report(1, {{"value", 0.5}});
  const auto save = [&](int64_t iteration, double value) {
    ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(kFirst);
    tune::Report report;
    report.iteration = iteration;
    report.metrics = {{"value", value}};
    report.has_checkpoint = true;
    ++attempt.sequence;
    world_->Apply({ReportArrived{worker_, {attempt.start.ref, attempt.sequence, report}}});
  };
  save(2, 0.6);
  Report(3, {{"value", 0.7}});
  End(Outcome::kCrashed);
  Report(3, {{"value", 0.9}});
  EXPECT_THAT(world_->said, Contains(HasSubstr("attempt 2 went on from the checkpoint of iteration "
                                               "2 and reports 0.9 at iteration 3, where attempt 1 "
                                               "had reported 0.7")));
}

TEST_F(ControllerReports, ATrialThatBeginsWhereAnotherOneEndedIsInDoubt) {
  Begin(ControllerWorld::MakeSpec());
  Report(1, {{"value", 0.5}});
  Report(5, {{"value", 0.5}}, /*final=*/true);
  End(Outcome::kCompleted);
  const auto report = [&](int64_t trial, int64_t iteration) {
    ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(TrialNumber{trial});
    tune::Report report;
    report.iteration = iteration;
    report.metrics = {{"value", 0.5}};
    report.final = true;
    ++attempt.sequence;
    world_->Apply({ReportArrived{worker_, {attempt.start.ref, attempt.sequence, report}}});
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  };
  report(1, 1);
  EXPECT_THAT(world_->notes, IsEmpty());
  report(2, 6);
  EXPECT_THAT(world_->said, Contains(HasSubstr(
                                "trial 2: it may have gone on from what another trial left: it was "
                                "given no checkpoint, and begins at iteration 6, where the first "
                                "trial began at 1")));
}

TEST_F(ControllerReports, StepsThatBeginElsewhereMayDifferByTrial) {
  Begin(ControllerWorld::MakeSpec());
  Report(100, {{"value", 0.5}}, /*final=*/true);
  End(Outcome::kCompleted);
  ControllerWorld::RunningAttempt& attempt = world_->Running(worker_).at(TrialNumber{1});
  attempt.iteration = 199;
  world_->Apply({world_->NextReport(worker_, TrialNumber{1}, 0.5)});
  EXPECT_THAT(world_->notes, IsEmpty());
}

TEST_F(ControllerReports, ANoteIsSaidOnceAndCountedByTrial) {
  Begin(ControllerWorld::MakeSpec());
  Report(1, {{"value", 0.5}}, /*final=*/true, "two kinds: a and b");
  End(Outcome::kCompleted);
  world_->Apply({world_->NextReport(worker_, TrialNumber{1}, 0.5, /*final=*/true)});
  EXPECT_THAT(world_->said, Contains("trial 0: two kinds: a and b"));
  Doubts doubts;
  for (const int64_t trial : {0, 1, 1, 2}) {
    const auto added =
        doubts.Add(TrialNumber{trial}, "two kinds", "trial " + std::to_string(trial));
    EXPECT_EQ(added.has_value() && added->is_first, trial == 0);
  }
  EXPECT_EQ(Describe(doubts.list().at(0)), "trial 0; 2 more trials alike");
}

}  // namespace
}  // namespace tune
