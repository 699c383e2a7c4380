// The texts of a running sweep and of its end, to the letter.
#include "tuner/cli/look/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tuner/sample_snapshot.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

EndedTrial Failed(int64_t number, const std::string& error, int64_t iterations) {
  return {number, true, error, iterations, std::nullopt, 0, std::nullopt};
}

TEST(LiveView, APausedSweepSaysPausedAndHowItGoesOn) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = 2;
  snapshot.paused_count = 2;
  snapshot.is_paused = true;
  EXPECT_EQ(RenderProgress(snapshot),
            "PAUSED (tune unpause goes on): 0/2 trials ended, 0 running, 2 paused");
}

TEST(LiveView, OneIsSaidInTheSingular) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = 1;
  snapshot.stopped_count = 1;
  EXPECT_EQ(RenderProgress(snapshot), "1/1 trial ended, 0 running");
  snapshot.samples = -1;
  EXPECT_EQ(RenderProgress(snapshot), "1 trial ended, 0 running");
}

TEST(RateMeter, LooksAtTheLastHalfMinute) {
  RateMeter meter;
  EXPECT_EQ(meter.PerSecond(), std::nullopt);
  meter.Add(Instant{0}, 0);
  EXPECT_EQ(meter.PerSecond(), std::nullopt);
  for (int second = 1; second <= 62; ++second) {
    meter.Add(Instant{0} + Seconds(second), second < 30 ? 0 : (second - 30) * 2);
  }
  EXPECT_NEAR(*meter.PerSecond(), 2.0, 1e-9);
}

// A hundred steps once a minute.
TEST(RateMeter, CountsStepsThatAreReportedByTheHundredOverTheTimeTheyTook) {
  RateMeter meter;
  for (int second = 0; second <= 290; ++second) {
    meter.Add(Instant{0} + Seconds(second), second / 60 * 100);
    if (second < 60) continue;
    EXPECT_NEAR(*meter.PerSecond(), 100.0 / 60, 0.01) << second;
  }
  // The program has fallen silent.
  for (int second = 291; second <= 900; ++second) meter.Add(Instant{0} + Seconds(second), 400);
  EXPECT_LT(*meter.PerSecond(), 0.5);
}

TEST(ProgressLog, TellsEachEndAtOnceAndProgressEveryTenSeconds) {
  ProgressLog log;
  SweepSnapshot snapshot = Sample();
  const Instant start{1'000'000};
  EXPECT_THAT(log.Update(snapshot, {}, start), IsEmpty());
  EXPECT_THAT(
      log.Update(snapshot,
                 {{4, false, "scheduler", 8, 0.625, 3, 0.5}, Failed(5, "it fell over", 1)},
                 start + Seconds(1)),
      ElementsAre("trial 4 ended (scheduler) after 8 iterations, best val_accuracy 0.625 at "
                  "iteration 3, last 0.5"));
  EXPECT_THAT(log.Update(snapshot, {}, start + Seconds(9)), IsEmpty());
  const char* const progress =
      "9/16 trials ended, 2 running, 1 paused, 1 failed, best 0.75 (trial 4), 1.2 iterations/s, "
      "2 to 3 min left";
  EXPECT_THAT(log.Update(snapshot, {}, start + Seconds(10)), ElementsAre(progress));
  EXPECT_THAT(log.Update(snapshot, {}, start + Seconds(15)), IsEmpty());
  EXPECT_THAT(log.Update(snapshot, {}, start + Seconds(30)), IsEmpty());  // Nothing has moved.
  snapshot.iteration_count += 1;
  EXPECT_THAT(log.Update(snapshot, {}, start + Seconds(31)), ElementsAre(progress));
}

TEST(ProgressLog, AnEndTellsTheBestAndThenTheLastWhereTheyDiffer) {
  ProgressLog log;
  EXPECT_THAT(log.Update(Sample(),
                         {{1, false, "max_t", 40, 0.453, 12, 0.375},
                          {2, false, "completed", 1, 0.5, 1, 0.5},
                          {3, false, "completed", 2, {}, 0, {}},
                          {4, false, "scheduler", 3, 0.25, 1, {}}},
                         Instant{0}),
              ElementsAre("trial 1 ended (max_t) after 40 iterations, best val_accuracy 0.453 at "
                          "iteration 12, last 0.375",
                          "trial 2 ended (completed) after 1 iteration, best val_accuracy 0.5",
                          "trial 3 ended (completed) after 2 iterations",
                          "trial 4 ended (scheduler) after 3 iterations, best val_accuracy 0.25 at "
                          "iteration 1, last not a number"));
}

TEST(FailureLog, TellsAnErrorOnceWhateverItsNumbers) {
  FailureLog log;
  EXPECT_THAT(
      log.Lines({{4, false, "scheduler", 8, 0.5, 8, 0.5}, Failed(5, "lr 0.1 is too large", 1)}),
      ElementsAre("trial 5 failed after 1 iteration: lr 0.1 is too large"));
  EXPECT_THAT(log.Lines({Failed(6, "lr 3e-1 is too large", 2)}),
              ElementsAre("trial 6 failed as trial 5 did"));
  EXPECT_THAT(log.Lines({Failed(7, "lr 0.5 is too large", 2), Failed(8, "it fell over", 0),
                         Failed(9, "lr 12 is too large", 2)}),
              ElementsAre("trial 8 failed after 0 iterations: it fell over",
                          "2 more trials failed as trial 5 did"));
}

TEST(ProgressLog, ManyEndsAtOnceAreOneLine) {
  ProgressLog log;
  std::vector<EndedTrial> ended(50, EndedTrial{1, false, "max_t", 1, 0.5, 1, 0.5});
  EXPECT_THAT(log.Update(Sample(), ended, Instant{0}), ElementsAre("50 trials ended"));
  ended[3].failed = true;
  EXPECT_THAT(log.Update(Sample(), ended, Instant{0}),
              ElementsAre("50 trials ended, 1 of them failed"));
}

SweepSummary SampleSummary() {
  SweepSummary summary;
  summary.name = "food11";
  summary.metric = "val_accuracy";
  summary.status = "FINISHED";
  summary.experiment = 3;
  summary.trial_count = 16;
  summary.early_count = 12;
  summary.best = Sample().best;
  summary.iterations_trained = 80;
  summary.iterations_full = 320;
  summary.elapsed = Seconds(125);
  summary.db_path = "my sweeps/tune's.db";
  summary.resume_line = "tune resume food11";
  return summary;
}

TEST(Summary, TellsTheBestAndWhatEarlyStoppingSaved) {
  EXPECT_EQ(RenderSummary(SampleSummary()),
            "food11 FINISHED: 16 trials, 2 min 05 s\n"
            "best trial      4: val_accuracy 0.75 at iteration 12\n"
            "configuration   optimizer/lr=0.015625 batch_size=32\n"
            "checkpoint      /a/4/checkpoint_12\n"
            "early stopping  12 trials stopped early: 80 iterations in place of 320, 75 % saved\n"
            "more            sqlite3 'my sweeps/tune'\\''s.db' \"select number, status, "
            "stop_reason, iterations,"
            " best_value from trials where experiment = 3 and status <> 'ERROR' order by "
            "best_value DESC NULLS LAST, number\"\n");
}

TEST(Summary, CallsNothingSavedThatWasTrainedAgain) {
  SweepSummary summary = SampleSummary();
  summary.iterations_trained = 240;
  summary.iterations_again = 160;
  EXPECT_THAT(RenderSummary(summary),
              HasSubstr("240 iterations (160 of them more than once) in place of "
                        "320, 25 % saved\n"));
  summary.iterations_trained = 400;
  EXPECT_THAT(RenderSummary(summary), HasSubstr("in place of 320, 0 % saved\n"));
}

TEST(Summary, TellsAFailedTrialThatHadABetterValue) {
  SweepSummary summary = SampleSummary();
  summary.better_failed = FailedBest{7, 2, 1.816};
  EXPECT_THAT(RenderSummary(summary),
              HasSubstr("best trial      4: val_accuracy 0.75 at iteration 12\n"));
  EXPECT_THAT(
      RenderSummary(summary),
      HasSubstr("not counted     trial 7 failed after iteration 2 with a better value, 1.816\n"));
}

TEST(Summary, OfASweepThatWasInterruptedInAPauseSaysPaused) {
  SweepSummary summary = SampleSummary();
  summary.status = "INTERRUPTED";
  summary.was_paused = true;
  EXPECT_THAT(RenderSummary(summary),
              testing::StartsWith("food11 INTERRUPTED while it was PAUSED: 16 trials, 2 min 05 s"));
}

TEST(Summary, OneTrialOfOneIterationIsSaidInTheSingular) {
  SweepSummary summary = SampleSummary();
  summary.trial_count = summary.early_count = summary.iterations_trained = 1;
  summary.iterations_full = 2;
  EXPECT_THAT(RenderSummary(summary),
              AllOf(HasSubstr(": 1 trial, "),
                    HasSubstr("1 trial stopped early: 1 iteration in place of 2, 50 % saved")));
}

TEST(Summary, OfAnInterruptedSweepSaysHowToGoOn) {
  SweepSummary summary = SampleSummary();
  summary.status = "INTERRUPTED";
  summary.mode = Mode::kMin;
  summary.best.reset();
  summary.why_no_best = "no trial has reported val_accuracy";
  summary.iterations_full.reset();
  summary.failed_count = 2;
  summary.db_path = "tune.db";
  EXPECT_EQ(
      RenderSummary(summary),
      "food11 INTERRUPTED: 16 trials, 2 failed, 2 min 05 s\n"
      "best trial      none: no trial has reported val_accuracy\n"
      "more            sqlite3 tune.db \"select number, status, stop_reason, iterations, "
      "best_value from trials"
      " where experiment = 3 and status <> 'ERROR' order by best_value ASC NULLS LAST, number\"\n"
      "go on with      tune resume food11\n");
}

TEST(Summary, WhereEachTrialThatReportedFailedSaysSo) {
  SweepSummary summary = SampleSummary();
  summary.best.reset();
  summary.why_no_best = NoBest{.has_failed_best = true}.Why("val_accuracy");
  summary.better_failed = FailedBest{0, 1, 0.5};
  EXPECT_THAT(RenderSummary(summary),
              AllOf(HasSubstr("best trial      none: each trial that reported val_accuracy failed"),
                    HasSubstr("trial 0 failed after iteration 1 with a better value, 0.5")));
  NoBest none{.has_failed_best = true, .is_constrained = true};
  EXPECT_EQ(none.Why("area"),
            "each trial that reported area and kept to metric_constraints failed");
  none.has_failed_best = false;
  EXPECT_EQ(none.Why("area"), "no trial has reported area and kept to metric_constraints");
}

TEST(Summary, OfAResumedSweepSaysHowLongItTookInAll) {
  SweepSummary summary = SampleSummary();
  summary.elapsed = Seconds(6);
  summary.since_creation = Seconds(19);
  EXPECT_THAT(RenderSummary(summary), HasSubstr(", 6.0 s, 19.0 s since it began\n"));
}

TEST(Summary, WhereNoValueIsFiniteSaysSo) {
  EXPECT_EQ(NoBest{.has_iterations = true}.Why("loss"), "no trial has reported a finite loss");
  EXPECT_EQ(NoBest{}.Why("loss"), "no trial has reported loss");
}

}  // namespace
}  // namespace tune
