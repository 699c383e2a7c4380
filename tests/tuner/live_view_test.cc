// The texts of a running sweep and of its end, to the letter.
#include "tuner/cli/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tuner/cli/text_table.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Value SampleConfig() {
  Value optimizer = Value::MakeMap();
  optimizer.Set("lr", 0.015625);
  Value config = Value::MakeMap();
  config.Set("optimizer", optimizer);
  config.Set("batch_size", 32);
  return config;
}

SweepSnapshot Sample() {
  SweepSnapshot snapshot;
  snapshot.name = "food11";
  snapshot.metric = "val_accuracy";
  snapshot.samples = 16;
  snapshot.paused_count = 1;
  snapshot.stopped_count = 8;
  snapshot.failed_count = 1;
  snapshot.running = {{9, 3, 0.5, 0.625, "local", Seconds(12)},
                      {11, 0, {}, {}, "gpu-1", Seconds(0.5)}};
  snapshot.rungs = {{0, 1, 9, 0.375}, {0, 2, 1, std::nullopt}};
  snapshot.best = BestSoFar{4, 0.75, 12, SampleConfig(), "/a/4/checkpoint_12"};
  snapshot.worker_count = 2;
  snapshot.cpu_milli_used = 4000;
  snapshot.cpu_milli_total = 8000;
  snapshot.gpu_milli_used = 500;
  snapshot.gpu_milli_total = 1000;
  snapshot.iteration_count = 60;
  snapshot.iterations_per_second = 1.25;
  snapshot.elapsed = Seconds(125);
  snapshot.time_left = TimeLeft{Seconds(97), Seconds(200)};
  return snapshot;
}

EndedTrial Failed(int64_t number, const std::string& error, int64_t iterations) {
  return {number, true, error, iterations, std::nullopt, 0, std::nullopt};
}

TEST(LiveView, ShowsTheSweepAsATable) {
  EXPECT_THAT(
      RenderTable(Sample(), 120, 40),
      ElementsAre(
          "food11  9/16 trials ended, 2 running, 1 paused, 1 failed  2 min 05 s, 2 to 3 min "
          "left",
          "best    val_accuracy 0.75, trial 4 at iteration 12  optimizer/lr=0.015625 batch_size=32",
          "rungs   1: 9 (≥ 0.375)  2: 1",
          "using   4 of 8 CPUs, 0.5 of 1 GPUs of 2 workers, 60 iterations, 1.2 iterations/s",
          " trial iteration        last        best     running  worker",
          "     9         3         0.5       0.625      12.0 s  local",
          "    11         -           -           -      500 ms  gpu-1"));
}

TEST(LiveView, APausedSweepSaysPausedAndHowItGoesOn) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = 2;
  snapshot.paused_count = 2;
  snapshot.is_paused = true;
  EXPECT_EQ(RenderTable(snapshot, 80, 24).front(),
            "s  PAUSED (tune unpause goes on): 0/2 trials ended, 0 running, 2 paused  0 ms");
  EXPECT_EQ(RenderProgress(snapshot),
            "PAUSED (tune unpause goes on): 0/2 trials ended, 0 running, 2 paused");
}

TEST(LiveView, OneIsSaidInTheSingular) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = 1;
  snapshot.stopped_count = 1;
  snapshot.iteration_count = 1;
  snapshot.worker_count = 1;
  EXPECT_THAT(RenderTable(snapshot, 80, 24),
              ElementsAre("s  1/1 trial ended, 0 running  0 ms", "best    nothing reported yet",
                          "using   0 of 0 CPUs of 1 worker, 1 iteration"));
  snapshot.samples = -1;
  EXPECT_EQ(RenderProgress(snapshot), "1 trial ended, 0 running");
}

TEST(LiveView, BeforeTheFirstReportThereIsNoBest) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = -1;
  EXPECT_THAT(RenderTable(snapshot, 80, 24),
              ElementsAre("s  0 trials ended, 0 running  0 ms", "best    nothing reported yet",
                          "using   0 of 0 CPUs of 0 workers, 0 iterations"));
}

TEST(LiveView, CutoffsPointTheOtherWayWhereLessIsBetterAndBracketsAreNamed) {
  SweepSnapshot snapshot = Sample();
  snapshot.mode = Mode::kMin;
  snapshot.rungs = {{0, 1, 9, 0.375}, {1, 4, 2, 0.25}};
  EXPECT_EQ(RenderTable(snapshot, 120, 40)[2], "rungs   0/1: 9 (≤ 0.375)  1/4: 2 (≤ 0.25)");
}

TEST(LiveView, FitsEveryTerminal) {
  SweepSnapshot snapshot = Sample();
  for (int64_t number = 0; number < 200; ++number)
    snapshot.running.push_back({number, 1, 0.5, 0.5, "w", Seconds(1)});
  for (size_t height = 1; height < 40; ++height) {
    for (const size_t width : {size_t{1}, size_t{20}, size_t{79}}) {
      const std::vector<std::string> lines = RenderTable(snapshot, width, height);
      EXPECT_LE(lines.size(), std::max<size_t>(1, height - 1));
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
  EXPECT_EQ(RenderTable(snapshot, 80, 10).back(), "  and 199 more");
}

TEST(LiveView, NamesFromAFileCannotMoveTheCursor) {
  SweepSnapshot snapshot = Sample();
  snapshot.name = "evil\x1b[2J\n";
  for (const std::string& line : RenderTable(snapshot, 200, 40)) {
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
  }
}

TEST(TerminalPainter, DrawsOverWhatItDrewAndLeavesNoRest) {
  TerminalPainter painter;
  EXPECT_EQ(painter.Draw({"a", "b"}), "a\x1b[K\nb\x1b[K\n");
  EXPECT_EQ(painter.Draw({"c"}), "\x1b[2A\rc\x1b[K\n\x1b[J");
  EXPECT_EQ(painter.Erase(), "\x1b[1A\r\x1b[J");
  EXPECT_EQ(painter.Erase(), "");
  EXPECT_EQ(painter.Draw({"d"}), "d\x1b[K\n");
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
              HasSubstr("240 iterations (160 of them again, for want of a checkpoint) in place of "
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
  summary.iterations_full.reset();
  summary.failed_count = 2;
  summary.db_path = "tune.db";
  EXPECT_EQ(
      RenderSummary(summary),
      "food11 INTERRUPTED: 16 trials, 2 failed, 2 min 05 s\n"
      "best trial      none: nothing reported val_accuracy\n"
      "more            sqlite3 tune.db \"select number, status, stop_reason, iterations, "
      "best_value from trials"
      " where experiment = 3 and status <> 'ERROR' order by best_value ASC NULLS LAST, number\"\n"
      "go on with      tune resume food11\n");
}

}  // namespace
}  // namespace tune
