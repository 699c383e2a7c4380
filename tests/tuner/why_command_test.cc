// tune why: what it tells of trials in every state, on real databases.
#include "tuner/cli/look/why_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/fusion.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class WhyTest : public testing::Test {
 protected:
  WhyTest() : path_(folder_ / "tune.db"), store_(OpenStore(path_)) {}

  Answer Why(const std::string& trial, OutputFormat format = OutputFormat::kTable) const {
    WhyOptions options;
    options.db_path = path_;
    options.trial = trial;
    options.format = format;
    return AnswerOf([&](auto& out, auto& err) { return WhyCommand(options, out, err); });
  }

  // The sentence after "why", on the sweep's one trial.
  std::string Sentence(const std::string& trial = "0") const {
    const std::string out = Why(trial).out;
    const std::string label = "\nwhy            ";
    const size_t begin = out.find(label);
    if (begin == std::string::npos) return out;
    return out.substr(begin + label.size(), out.find('\n', begin + 1) - begin - label.size());
  }

  // A sweep of one trial in the given state; `more` holds its reports and attempts.
  void WriteTrial(TrialStatus status, StopReason reason, Transition more = {},
                  const std::string& spec_rest = "") {
    NewExperiment experiment = SampleExperiment("one");
    experiment.spec = R"({"name":"one","metric":"val_accuracy","mode":"max",)"
                      R"("trainable":{"curve":{"value":"t"}},"space":{"x":1})" +
                      spec_rest + "}";
    const Result<StoredExperiment> stored = store_->CreateExperiment(experiment);
    ASSERT_TRUE(stored.ok());
    NewTrialRow row = SampleTrial(0);
    row.trial.status = status;
    row.trial.stop_reason = reason;
    row.trial.run_seconds = 15;
    for (const ReportRow& report : more.reports) row.trial.iterations = report.iteration;
    more.new_trials.push_back(row);
    for (AttemptRow& attempt : more.attempts) attempt.worker.reset();
    const Status status_of_commit = store_->Commit(stored->id, {1, SampleTime(1), "[]"}, more);
    ASSERT_TRUE(status_of_commit.ok()) << status_of_commit.message();
    store_.reset();  // No tuner lives.
  }

  TempFolder folder_;
  std::string path_;
  std::unique_ptr<SqliteStore> store_;
};

ReportRow Undecided(int64_t attempt, int64_t iteration, double value) {
  ReportRow row = SampleReport(0, attempt, iteration, value);
  row.decision = Decision();
  return row;
}

TEST_F(WhyTest, ATrialStoppedByItsSchedulerIsToldWithRungRankAndCutoff) {
  WriteSampleSweep(*store_, "first");
  const Answer answer = Why("first/1");
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "trial first/1: TERMINATED\n"
            "why            stopped by asha at rung 1: val_accuracy 0.25 was 2nd best of 2, the "
            "cutoff was 0.375 (the best of every 4 goes on)\n"
            "scheduler      asha on val_accuracy (max)\n"
            "configuration  lr=0.2 batch_size=64 optimizer/kind=sgd, \"plain\" augment=true\n"
            "best           val_accuracy = 0.25 at iteration 1\n"
            "\n"
            "iteration  attempt  val_accuracy  decision  why\n"
            "1                1  0.25          stop      rung 1: 2nd best of 2, the cutoff was "
            "0.375\n"
            "\n"
            "attempt  worker  started_at                ran     from       checkpoint  outcome  "
            "error\n"
            "      1  local   2026-11-21T09:30:05.125Z  15.0 s  the start              stopped\n");
}

TEST_F(WhyTest, TheLatestSweepIsMeantWithoutAName) {
  WriteSampleSweep(*store_, "first");
  WriteSampleSweep(*store_, "second");
  EXPECT_THAT(Why("0").out, StartsWith("trial second/0: TERMINATED\n"));
}

TEST_F(WhyTest, AnIterationReportedAgainAfterARetryIsShownAsSuch) {
  WriteSampleSweep(*store_, "first");
  const std::string out = Why("0").out;
  EXPECT_THAT(out, HasSubstr("why            reached max_t: iteration 2 is the last one"));
  EXPECT_THAT(
      out,
      HasSubstr("2  0.5                     repeated after a retry; the first report decided"));
  EXPECT_THAT(out, HasSubstr("crashed  it fell over"));
  EXPECT_THAT(out, HasSubstr("rung 2: the first to arrive, the cutoff was 0.7; reached max_t of "
                             "asha"));
}

TEST_F(WhyTest, WithoutLimitsAMetricNamedViolationExplainsNothing) {
  Transition more;
  ReportRow report = SampleReport(0, 1, 4, 0.9);
  report.metrics.emplace_back("violation", 0.25);
  report.decision = SampleDecision(Verdict::kStop, 4, 0.7, 1, 2);
  more.reports = {report};
  more.attempts = {SampleAttempt(0, 1, Outcome::kStopped)};
  WriteTrial(TrialStatus::kTerminated, StopReason::kMaxT, std::move(more),
             R"(,"scheduler":{"asha":{"max_t":4}})");
  EXPECT_THAT(Why("0").out, HasSubstr("the cutoff was 0.7; reached max_t of asha"));
}

// What stops may have been compared with something else than the cutoff, as by wilcoxon.
TEST_F(WhyTest, WhatASchedulerStoppedOnTheGoodSideOfItsCutoffIsNotSaidToHaveReachedMaxT) {
  Transition more;
  ReportRow report = SampleReport(0, 1, 3, 0.9);
  report.decision = SampleDecision(Verdict::kStop, 3, 0.7, 1, 2);
  more.reports = {report};
  more.attempts = {SampleAttempt(0, 1, Outcome::kStopped)};
  WriteTrial(TrialStatus::kTerminated, StopReason::kScheduler, std::move(more),
             R"(,"scheduler":{"asha":{"max_t":27}})");
  EXPECT_THAT(Why("0").out, AllOf(HasSubstr("the cutoff was 0.7\n"), Not(HasSubstr("max_t"))));
}

TEST_F(WhyTest, AFailedTrialIsToldWithItsLastError) {
  WriteSampleSweep(*store_, "first");
  const std::string out = Why("2").out;
  EXPECT_THAT(out, HasSubstr("failed: attempt 1 ended as out_of_memory; no retry is left"));
  EXPECT_THAT(out, HasSubstr("NaN"));
}

TEST_F(WhyTest, ARunningTrialIsToldWithItsWorkerAndOneWhoseTunerDiedWithTheWayOn) {
  WriteSampleSweep(*store_, "first");
  EXPECT_EQ(Sentence("3"),
            "runs: attempt 1 on worker local since 2026-11-21T09:30:05.125Z, at iteration 1");
  store_.reset();
  EXPECT_EQ(Sentence("3"),
            "was running when its tuner ended: attempt 1 on worker local since "
            "2026-11-21T09:30:05.125Z, at iteration 1; the sweep is interrupted, go on with: tune "
            "resume first --db " +
                path_);
}

struct LimitCase {
  const char* limits;
  const char* sentence;
};

class SweepLimits : public WhyTest, public testing::WithParamInterface<LimitCase> {};

TEST_P(SweepLimits, ThatEndedATrialAreNamedAsFarAsIsKnown) {
  WriteTrial(TrialStatus::kTerminated, StopReason::kSweepLimit, {}, GetParam().limits);
  EXPECT_EQ(Sentence(), GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SweepLimits,
    testing::Values(LimitCase{R"(,"limits":{"sweep_time":10})",
                              "ended with its sweep: limits.sweep_time was reached"},
                    LimitCase{R"(,"limits":{"failed_trials":2})",
                              "ended with its sweep: limits.failed_trials was reached"},
                    LimitCase{R"(,"limits":{"sweep_time":10,"failed_trials":2})",
                              "ended with its sweep: limits.sweep_time was reached, or "
                              "limits.failed_trials was reached"}));

// With a limit that was not reached, and with none.
TEST_F(WhyTest, AStoppedSweepWhoseFirstTrialsFailedAlikeIsToldSo) {
  for (const std::string rest : {R"(,"limits":{"failed_trials":2,"sweep_time":10})", ""}) {
    WriteTrial(TrialStatus::kTerminated, StopReason::kSweepLimit, {}, rest);
    store_ = OpenStore(path_, Access::kWrite);
    Transition over;
    over.experiment = ExperimentRow{ExperimentStatus::kStopped, 1, SampleTime(2)};
    const ExperimentId sweep{rest.empty() ? 2 : 1};
    ASSERT_TRUE(store_->Commit(sweep, {2, SampleTime(2), "[]"}, over).ok());
    EXPECT_EQ(Sentence(),
              "ended with its sweep: its first trials failed alike, before any report of "
              "val_accuracy");
  }
}

TEST_F(WhyTest, ATrialThatNeverReportedTheMetricIsToldSo) {
  Transition rows;
  rows.attempts = {SampleAttempt(0, 1, Outcome::kBadConfig)};
  rows.attempts[0].error = "no_metric: the program ended with status 0";
  WriteTrial(TrialStatus::kError, StopReason::kNone, rows);
  EXPECT_EQ(Sentence(), "failed: it ended without reporting val_accuracy");
}

// The second attempt goes on from an earlier iteration of another trial.
TEST_F(WhyTest, AnOrderStandsAfterTheReportThatItCameAfter) {
  Transition rows;
  rows.reports = {SampleReport(0, 1, 2, 0.1), SampleReport(0, 2, 2, 0.7), Undecided(2, 3, 0.8)};
  rows.reports[0].decision = SampleDecision(Verdict::kPause, 2, 0.5, 2, 2);
  rows.reports[1].reported_at = SampleTime(50);
  rows.reports[2].reported_at = SampleTime(60);
  rows.orders = {{{Order::Kind::kResume, TrialNumber{0}}, 2, SampleTime(40)}};
  rows.attempts = {SampleAttempt(0, 1, Outcome::kStopped), SampleAttempt(0, 2, Outcome::kRunning)};
  WriteTrial(TrialStatus::kRunning, StopReason::kNone, rows);
  const Result<Value> json = ParseJson(Why("0", OutputFormat::kJson).out);
  ASSERT_TRUE(json.ok());
  std::vector<std::string> lines;
  for (const Value& report : json->Find("reports")->AsList()) {
    lines.push_back(std::to_string(report.Find("attempt")->AsInt()) + " " +
                    ToJson(*report.Find("value")) + " " + ToJson(*report.Find("decision")));
  }
  EXPECT_THAT(lines, testing::ElementsAre("1 0.1 \"pause\"", "1 0.1 \"resume\"", "2 0.7 null",
                                          "2 0.8 \"continue\""));
}

TEST_F(WhyTest, ReportsBetweenRungsShareALine) {
  Transition rows;
  for (int64_t i = 1; i <= 5; ++i) rows.reports.push_back(Undecided(1, i, 0.1 * double(i)));
  rows.reports[1].decision = SampleDecision(Verdict::kContinue, 2, 0.1, 1, 3);
  rows.attempts = {SampleAttempt(0, 1, Outcome::kCompleted)};
  WriteTrial(TrialStatus::kTerminated, StopReason::kCompleted, rows,
             R"(,"scheduler":{"asha":{"max_t":9,"reduction_factor":2}})");
  const std::string out = Why("0").out;
  EXPECT_THAT(out, HasSubstr("completed by itself after iteration 5"));
  EXPECT_THAT(out, HasSubstr("\n1                1  0.1         "));
  EXPECT_THAT(out, HasSubstr("\n2                1  0.2         "));
  EXPECT_THAT(out, HasSubstr("\n3 to 5           1  0.3 to 0.5    continue  between rungs\n"));
}

TEST_F(WhyTest, ThePauseOfASchedulerAndThatOfAPersonAreToldApart) {
  Transition rows;
  rows.reports = {Undecided(1, 1, 0.5)};
  rows.attempts = {SampleAttempt(0, 1, Outcome::kStopped)};
  WriteTrial(TrialStatus::kPaused, StopReason::kNone, rows);
  EXPECT_THAT(Sentence(), StartsWith("paused by a person"));
}

TEST_F(WhyTest, APausedTrialIsToldWithWhatItsRungSaid) {
  Transition rows;
  rows.reports = {Undecided(1, 1, 0.5)};
  rows.reports[0].decision = SampleDecision(Verdict::kPause, 1, 0.6, 3, 4);
  rows.attempts = {SampleAttempt(0, 1, Outcome::kStopped)};
  WriteTrial(TrialStatus::kPaused, StopReason::kNone, rows,
             R"(,"scheduler":{"asha":{"reduction_factor":2}})");
  EXPECT_THAT(Sentence(),
              StartsWith("paused by asha at rung 1: val_accuracy 0.5 was 3rd best of 4, the cutoff "
                         "was 0.6 (the best of every 2 goes on); the sweep is interrupted"));
}

TEST_F(WhyTest, AWaitingTrialIsToldWithHowItsLastAttemptEnded) {
  Transition rows;
  rows.attempts = {SampleAttempt(0, 1, Outcome::kLost)};
  rows.attempts[0].error = "the connection to worker far broke";
  WriteTrial(TrialStatus::kPending, StopReason::kNone, rows);
  EXPECT_THAT(Sentence(), StartsWith("waits for its next attempt: attempt 1 ended as lost: the "
                                     "connection to worker far broke; the sweep is interrupted"));
}

TEST_F(WhyTest, ATrialThatWasNeverTriedWaitsForItsFirstAttempt) {
  WriteTrial(TrialStatus::kPending, StopReason::kNone);
  const std::string out = Why("0").out;
  EXPECT_THAT(out, AllOf(HasSubstr("waits for its first attempt"),
                         HasSubstr("nothing was reported yet"), Not(HasSubstr("worker"))));
}

TEST_F(WhyTest, AStopConditionIsNamedWithWhatReachedIt) {
  Transition rows;
  rows.reports = {Undecided(1, 1, 0.5), Undecided(1, 2, 0.91)};
  WriteTrial(TrialStatus::kTerminated, StopReason::kStopCondition, rows,
             R"(,"stop":{"training_iteration":10,"val_accuracy":0.9})");
  EXPECT_EQ(Sentence(),
            "stopped at iteration 2: val_accuracy = 0.91 reached 0.9 (`stop` in the space file: at "
            "or above)");
}

TEST_F(WhyTest, ATrialThatUsedUpItsTimeIsNotMistakenForACondition) {
  Transition rows;
  rows.attempts = {SampleAttempt(0, 1, Outcome::kStopped)};
  rows.attempts[0].error = "limits.trial_time reached";
  WriteTrial(TrialStatus::kTerminated, StopReason::kStopCondition, rows,
             R"(,"limits":{"trial_time":10})");
  EXPECT_EQ(Sentence(), "stopped: limits.trial_time was reached after 15 s");
}

TEST_F(WhyTest, TheCheckpointOfAnAttemptIsNamedWhereItLiesNow) {
  Transition rows;
  rows.attempts = {SampleAttempt(0, 1, Outcome::kCrashed), SampleAttempt(0, 2, Outcome::kRunning)};
  rows.attempts[1].from_iteration = 4;
  rows.checkpoints = {{TrialNumber{0},
                       4,
                       {"/elsewhere/old.artifacts/one/0/checkpoint_000004", 100, "00ff"},
                       CheckpointState::kRemoved}};
  WriteTrial(TrialStatus::kRunning, StopReason::kNone, rows);
  EXPECT_THAT(Why("0").out, HasSubstr("iteration 4  checkpoint_000004 (now removed)  running"));
  const Result<Value> json = ParseJson(Why("0", OutputFormat::kJson).out);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("attempts")->AsList()[1].Find("checkpoint")->AsString(),
            folder_ / "tune.artifacts/one/0/checkpoint_000004");
}

// The eleventh was killed before it told of what it had made, so the twelfth went on from the
// tenth's and made that iteration again.
TEST_F(WhyTest, AnAttemptBeganWithWhatTheLatestBeforeItHadMade) {
  Transition rows;
  for (const int64_t number : {9, 10, 12}) {
    rows.attempts.push_back(SampleAttempt(0, number, Outcome::kCrashed));
    rows.attempts.back().from_iteration = number == 9 ? 0 : 4;
    const std::string path = "/a.artifacts/one/0/checkpoint_000004." + std::to_string(number);
    rows.checkpoints.push_back({TrialNumber{0}, 4, {path, 100, "00ff"}, CheckpointState::kDurable});
  }
  WriteTrial(TrialStatus::kRunning, StopReason::kNone, rows);
  const Result<Value> json = ParseJson(Why("0", OutputFormat::kJson).out);
  ASSERT_TRUE(json.ok());
  const auto checkpoint_of = [&](size_t attempt) {
    const Value& value = *json->Find("attempts")->AsList()[attempt].Find("checkpoint");
    return value.is_string() ? value.AsString().substr(value.AsString().rfind('/') + 1) : "none";
  };
  EXPECT_EQ(checkpoint_of(0), "none");
  EXPECT_EQ(checkpoint_of(1), "checkpoint_000004.9");
  EXPECT_EQ(checkpoint_of(2), "checkpoint_000004.10");
}

// Of two shapes that were measured; the trial has the first one.
TEST_F(WhyTest, SaysHowManyTrainedAsOneAndWhatLimitsThat) {
  NewExperiment experiment = SampleExperiment("one");
  experiment.spec =
      R"({"name":"one","metric":"val_accuracy","mode":"max","trainable":"food11",)"
      R"("space":{"device":"cuda","batch_size":{"choice":[32,64]}},"resources":{"gpu":0.1}})";
  ASSERT_TRUE(store_->CreateExperiment(experiment).ok());
  Transition rows;
  for (const int64_t number : {0, 1}) {
    NewTrialRow row;
    row.trial.number = TrialNumber{number};
    row.trial.created_at = SampleTime(number);
    row.configuration.Set("device", "cuda");
    row.configuration.Set("batch_size", 32 + 32 * number);
    rows.new_trials.push_back(row);
  }
  ReportRow report = SampleReport(0, 1, 1, 0.5);
  report.metrics = {{"val_accuracy", 0.5}, {"lanes", 4}, {"images_per_second", 620}};
  rows.reports.push_back(report);
  const Value cuda = *ParseJson(R"({"device":"cuda","batch_size":32})");
  const std::string shape = FusionOf("food11", cuda, 100).shape;
  rows.lane_speeds = {{{shape, "NVIDIA H200"}, {4, 2480, 9}},
                      {{shape, "NVIDIA H200"}, {8, 2310, 9}},
                      {{"{}", "NVIDIA H200"}, {1, 2480, 9}},
                      {{"{}", "NVIDIA H200"}, {2, 2310, 9}}};
  const Status committed = store_->Commit(ExperimentId{1}, {1, SampleTime(1), "[]"}, rows);
  ASSERT_TRUE(committed.ok()) << committed.message();
  const std::string line =
      "4 at its last report; 4 train as one on NVIDIA H200: 8 were slower (2310 against 2480 "
      "images/s)";
  EXPECT_THAT(Why("0").out, HasSubstr("\nlanes          " + line + "\n"));
  const Result<Value> json = ParseJson(Why("0", OutputFormat::kJson).out);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("lanes")->AsString(), line);
  EXPECT_THAT(Why("1").out, Not(HasSubstr("lanes")));
  // One that trained alone, of a shape that nothing limits.
  ReportRow alone = SampleReport(1, 1, 1, 0.5);
  alone.metrics = {{"val_accuracy", 0.5}, {"lanes", 1}};
  Transition more;
  more.reports = {alone};
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {2, SampleTime(2), "[]"}, more).ok());
  EXPECT_THAT(Why("1").out, Not(HasSubstr("lanes")));
}

TEST_F(WhyTest, AsCsvEachAttemptStandsBeforeItsReports) {
  WriteSampleSweep(*store_, "first");
  std::istringstream out(Why("0", OutputFormat::kCsv).out);
  std::vector<std::string> begins;
  for (std::string line; std::getline(out, line);) begins.push_back(line.substr(0, 12));
  EXPECT_THAT(begins, testing::ElementsAre("kind,attempt", "attempt,1,0,", "report,1,1,0",
                                           "attempt,2,0,", "report,2,1,0", "report,2,2,0"));
}

TEST_F(WhyTest, AsJsonNumbersKeepTheirKind) {
  WriteSampleSweep(*store_, "first");
  const Result<Value> json = ParseJson(Why("1", OutputFormat::kJson).out);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->Find("stop_reason")->AsString(), "scheduler");
  const Value& report = json->Find("reports")->AsList().at(0);
  EXPECT_EQ(report.Find("rank")->AsInt(), 2);
  EXPECT_EQ(report.Find("count")->AsInt(), 2);
  EXPECT_EQ(report.Find("cutoff")->AsDouble(), 0.375);
  EXPECT_EQ(report.Find("decision")->AsString(), "stop");
}

TEST_F(WhyTest, AMistypedTrialIsToldWhatThereIs) {
  WriteSampleSweep(*store_, "first");
  EXPECT_EQ(Why("frist/1").err,
            "tune: " + path_ + ": no sweep is named 'frist'; did you mean 'first'?\n");
  EXPECT_EQ(Why("7").err, "tune: " + path_ + ": there is no trial 7; first has trials 0 to 3\n");
  for (const std::string text : {"first", "-1", "1x", "/1", "", "first/"}) {
    const Answer answer = Why(text);
    EXPECT_EQ(answer.status, 2) << text;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err, "tune: TRIAL: read '" + text +
                              "', expected a trial's number, as in 3, or a sweep and a "
                              "number, as in food11/3 or food11 3\n");
  }
}

}  // namespace
}  // namespace tune
