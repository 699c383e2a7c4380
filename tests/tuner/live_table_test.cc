// The table of a running sweep, to the letter and at every size.
#include "tuner/cli/look/live_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tuner/sample_snapshot.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> Plain(const SweepSnapshot& snapshot, size_t width, size_t height,
                               const SweepHistory& history = {}) {
  return RenderTable(snapshot, history, width, height, Palette::kPlain);
}

// Trial 9 rises from 0.25 to 0.625 in three iterations, and is the best of the sweep from the
// second on.
SweepHistory SampleHistory() {
  SweepHistory history;
  SweepSnapshot snapshot = Sample();
  snapshot.running.resize(1);
  for (int64_t iteration = 1; iteration <= 3; ++iteration) {
    snapshot.elapsed = Seconds(120 + iteration);
    snapshot.running[0].iteration = iteration;
    snapshot.running[0].last_value = 0.0625 + 0.1875 * static_cast<double>(iteration);
    snapshot.best->value = iteration == 1 ? 0.25 : 0.75;
    history.See(snapshot, {});
  }
  return history;
}

TEST(LiveTable, ShowsTheSweep) {
  EXPECT_THAT(
      Plain(Sample(), 120, 40, SampleHistory()),
      ElementsAre(
          "food11  9/16 trials ended, 2 running, 1 paused, 1 failed  2 min 05 s, 2 to 3 min left",
          "ended   ████████████████████████████▒▒▒▒▒▒▒░░░░░░░░░░░░░░░  56 %",
          "best    val_accuracy 0.75, trial 4 at iteration 12  optimizer/lr=0.015625 batch_size=32",
          "so far  " + std::string(48, ' ') + "██  0.25 to 0.75", "rungs   1: 9 (≥ 0.375)  2: 1",
          "using   4 of 8 CPUs, 0.5 of 1 GPUs of 2 workers, 60 iterations, 1.2 iterations/s",
          " trial iteration        last        best     running  worker  curve, 0.25 to 0.625",
          "     9         3         0.5       0.625      12.0 s  local   ▁▅█",
          "    11         -           -           -      500 ms  gpu-1"));
}

TEST(LiveTable, TellsWhatHappenedLatelyTheLatestFirstAndForgetsItAfterAMinute) {
  SweepHistory history = SampleHistory();
  SweepSnapshot snapshot = Sample();  // Trial 11 is new.
  snapshot.elapsed = Seconds(130);
  history.See(snapshot,
              {{7, false, "scheduler", 3, 0.5, 2, 0.25}, {8, true, "it fell", 1, {}, 0, {}}});
  snapshot.running = {};
  snapshot.best->number = 11;
  snapshot.best->value = 0.875;
  snapshot.elapsed = Seconds(135);
  history.See(snapshot, {{11, false, "max_t", 9, 0.875, 9, 0.875}});
  std::vector<std::string> texts;
  for (const SweepHistory::Event& event : history.events()) texts.push_back(event.text);
  EXPECT_THAT(texts, ElementsAre("trial 11 is the best: 0.875", "trial 9 waits after iteration 3",
                                 "trial 11 ended (max_t) after 9 iterations, best 0.875",
                                 "trial 11 began", "trial 8 failed after 1 iteration",
                                 "trial 7 stopped early after 3 iterations, best 0.5"));
  snapshot.elapsed = Seconds(138);
  EXPECT_THAT(Plain(snapshot, 120, 40, history),
              AllOf(Contains("lately     3 s  trial 11 is the best: 0.875"),
                    Contains("           8 s  trial 8 failed after 1 iteration")));
  snapshot.elapsed = Seconds(192);
  EXPECT_THAT(Plain(snapshot, 120, 40, history), Not(Contains(HasSubstr("trial 8 failed"))));
  EXPECT_THAT(Plain(snapshot, 120, 40, history), Contains(HasSubstr("trial 11 is the best")));
}

TEST(LiveTable, ATrialThatGoesBackToItsCheckpointHasItsLaterValuesTakenAway) {
  SweepHistory history;
  SweepSnapshot snapshot = Sample();
  snapshot.running.resize(1);
  for (const auto& [iteration, value] : {std::pair{1, 0.1}, {2, 0.2}, {3, 0.3}, {2, 0.25}}) {
    snapshot.running[0].iteration = iteration;
    snapshot.running[0].last_value = value;
    history.See(snapshot, {});
  }
  EXPECT_THAT(history.Curve(9), ElementsAre(0.1, 0.25));
  EXPECT_THAT(history.Curve(1), ElementsAre());
}

TEST(LiveTable, CurvesOfManyIterationsStayShort) {
  SweepHistory history;
  SweepSnapshot snapshot = Sample();
  snapshot.running.resize(1);
  for (int64_t iteration = 1; iteration <= 10'000; ++iteration) {
    snapshot.running[0].iteration = iteration;
    snapshot.running[0].last_value = static_cast<double>(iteration);
    history.See(snapshot, {});
  }
  EXPECT_LE(history.Curve(9).size(), 512u);
  EXPECT_EQ(history.Curve(9).back(), 10'000);
  EXPECT_EQ(history.Curve(9).front(), 1);
}

TEST(LiveTable, AValueFarFromAllOthersDoesNotPressThemFlat) {
  SweepHistory history;
  SweepSnapshot snapshot = Sample();
  snapshot.running.resize(1);
  const std::vector<double> values = {1e9, 8, 7, 6, 5, 4, 3, 2, 1};
  for (size_t i = 0; i < values.size(); ++i) {
    snapshot.elapsed = Seconds(static_cast<double>(10 * i));
    snapshot.running[0].iteration = static_cast<int64_t>(i + 1);
    snapshot.running[0].last_value = values[i];
    snapshot.best->value = values[i];
    history.See(snapshot, {});
  }
  const std::vector<std::string> lines = Plain(snapshot, 120, 40, history);
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("worker"), HasSubstr("curve, 1 to 8"))));
  EXPECT_THAT(lines, Contains(HasSubstr("██▇▆▅▄▃▂▁")));
  EXPECT_THAT(lines,
              Contains(AllOf(StartsWith("so far  █"), HasSubstr("▅"), HasSubstr("1e+09 to 1"))));
}

TEST(LiveTable, APausedSweepSaysHowItGoesOn) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.samples = 2;
  snapshot.paused_count = 2;
  snapshot.is_paused = true;
  EXPECT_EQ(Plain(snapshot, 80, 24).front(),
            "s  PAUSED (tune unpause goes on): 0/2 trials ended, 0 running, 2 paused  0 ms");
}

TEST(LiveTable, OneIsSaidInTheSingular) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.why_no_best = "no trial has reported acc";
  snapshot.samples = 1;
  snapshot.stopped_count = 1;
  snapshot.iteration_count = 1;
  snapshot.worker_count = 1;
  EXPECT_THAT(Plain(snapshot, 80, 8), ElementsAre("s  1/1 trial ended, 0 running  0 ms",
                                                  "best    none: no trial has reported acc",
                                                  "using   0 of 0 CPUs of 1 worker, 1 iteration"));
}

TEST(LiveTable, WithoutALimitOfTrialsThereIsNoBar) {
  SweepSnapshot snapshot;
  snapshot.name = "s";
  snapshot.why_no_best = "no trial has reported acc";
  snapshot.samples = -1;
  EXPECT_THAT(
      Plain(snapshot, 80, 24),
      ElementsAre("s  0 trials ended, 0 running  0 ms", "best    none: no trial has reported acc",
                  "using   0 of 0 CPUs of 0 workers, 0 iterations"));
}

TEST(LiveTable, CutoffsPointTheOtherWayWhereLessIsBetterAndBracketsAreNamed) {
  SweepSnapshot snapshot = Sample();
  snapshot.mode = Mode::kMin;
  snapshot.rungs = {{0, 1, 9, 0.375}, {1, 4, 2, 0.25}};
  EXPECT_THAT(Plain(snapshot, 120, 40), Contains("rungs   0/1: 9 (≤ 0.375)  1/4: 2 (≤ 0.25)"));
}

TEST(LiveTable, ANarrowTerminalKeepsWhatIsNeededMost) {
  const std::vector<std::string> lines = Plain(Sample(), 40, 10, SampleHistory());
  EXPECT_EQ(lines.front(), "food11  9/16 trials ended, 1 failed");
  EXPECT_EQ(Plain(Sample(), 50, 10).front(), "food11  9/16 trials ended, 2 running, 1 failed");
  EXPECT_THAT(lines, Contains(" trial iteration        last  curve"));
  EXPECT_THAT(lines, Contains("     9         3         0.5  ▁▅█"));
}

TEST(LiveTable, FitsEveryTerminal) {
  SweepHistory history = SampleHistory();
  SweepSnapshot snapshot = Sample();
  for (int64_t number = 0; number < 200; ++number)
    snapshot.running.push_back({number, 1, 0.5, 0.5, "w", Seconds(1)});
  history.See(snapshot, {});
  for (size_t height = 1; height < 60; ++height) {
    for (const size_t width : {1, 2, 7, 8, 9, 20, 40, 79, 80, 200}) {
      const std::vector<std::string> lines = Plain(snapshot, width, height, history);
      EXPECT_LE(lines.size(), std::max<size_t>(1, height - 1));
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
  EXPECT_EQ(Plain(snapshot, 80, 10).back(), "  and 200 more");
}

TEST(LiveTable, ColourAddsNothingThatThePlainTextDoesNotSay) {
  SweepHistory history = SampleHistory();
  SweepSnapshot snapshot = Sample();
  snapshot.elapsed = Seconds(124);
  history.See(snapshot, {{7, true, "it fell", 3, 0.5, 2, 0.25}});
  for (const size_t width : {20, 40, 80, 200}) {
    const std::vector<std::string> plain = Plain(snapshot, width, 40, history);
    const std::vector<std::string> coloured =
        RenderTable(snapshot, history, width, 40, Palette::kColour);
    ASSERT_EQ(coloured.size(), plain.size());
    EXPECT_THAT(coloured, Contains(HasSubstr("\x1b[31m")));
    for (size_t i = 0; i < plain.size(); ++i) {
      std::string bare = coloured[i];
      for (size_t at; (at = bare.find('\x1b')) != std::string::npos;)
        bare.erase(at, bare.find('m', at) - at + 1);
      EXPECT_EQ(bare, plain[i]);
      // Nothing of it stays for what is written next.
      const size_t last = coloured[i].rfind("\x1b[");
      if (last == std::string::npos) continue;
      EXPECT_THAT(coloured[i].substr(last), StartsWith("\x1b[0m"));
    }
  }
}

TEST(LiveTable, NamesFromAFileCannotMoveTheCursor) {
  SweepSnapshot snapshot = Sample();
  snapshot.name = "evil\x1b[2J\n";
  snapshot.running[0].worker = "\x1b[H";
  EXPECT_THAT(Plain(snapshot, 200, 40), Each(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")))));
}

TEST(StyledText, TheEnvironmentSaysWhatATerminalMayBeGiven) {
  EXPECT_EQ(PaletteFor("xterm", ""), Palette::kColour);
  EXPECT_EQ(PaletteFor("xterm", "1"), Palette::kPlain);
  EXPECT_EQ(PaletteFor("dumb", ""), Palette::kPlain);
  EXPECT_EQ(PaletteFor("", ""), Palette::kPlain);
  EXPECT_TRUE(CanMoveCursor("xterm"));
  EXPECT_FALSE(CanMoveCursor("dumb"));
  EXPECT_TRUE(CanMoveCursor(""));
}

TEST(StyledText, ALineIsCutWithinAndBetweenItsParts) {
  const StyledLine line = StyledLine("abc", Style::kGood).Add("def");
  EXPECT_EQ(line.Render(6, Palette::kPlain), "abcdef");
  EXPECT_EQ(line.Render(5, Palette::kPlain), "abcd…");
  EXPECT_EQ(line.Render(4, Palette::kPlain), "abc…");
  EXPECT_EQ(line.Render(3, Palette::kPlain), "ab…");
  EXPECT_EQ(line.Render(0, Palette::kPlain), "");
  EXPECT_EQ(line.Render(3, Palette::kColour), "\x1b[32mab…\x1b[0m");
}

TEST(StyledText, ASparklineHasEightHeightsAndAPlaceForEachValueOrTheLastOfSome) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, 0, 7), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline({0, 9, 3, 7}, 2, 0, 7), "██");
  EXPECT_EQ(Sparkline({1, NAN, 1}, 8, 1, 1), "▅ ▅");
  EXPECT_EQ(Sparkline({}, 8, 0, 1), "");
  EXPECT_EQ(Sparkline({1, 2}, 0, 0, 1), "");
}

TEST(TerminalPainter, DrawsOverWhatItDrewAndLeavesNoRest) {
  TerminalPainter painter;
  EXPECT_EQ(painter.Draw({"a", "b"}), "a\x1b[K\nb\x1b[K\n");
  EXPECT_EQ(painter.Draw({"c"}), "\x1b[2A\rc\x1b[K\n\x1b[J");
  EXPECT_EQ(painter.Erase(), "\x1b[1A\r\x1b[J");
  EXPECT_EQ(painter.Erase(), "");
  EXPECT_EQ(painter.Draw({"d"}), "d\x1b[K\n");
  EXPECT_EQ(painter.Restart(), "\x1b[H\x1b[2J");
  EXPECT_EQ(painter.Draw({"e"}), "e\x1b[K\n");
}

}  // namespace
}  // namespace tune
