// Charts as text and as SVG, and the ticks of their axes.
#include "tuner/page/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tuner/cli/words/text_table.h"
#include "tuner/page/chart_svg.h"
#include "tuner/page/chart_text.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Texts(const Axis& axis, size_t count_max) {
  std::vector<std::string> texts;
  for (const Tick& tick : TicksOf(axis, count_max)) texts.push_back(tick.text);
  return texts;
}

Axis Linear(double low, double high) { return {"x", Scale::kLinear, low, high}; }
Axis Log(double low, double high) { return {"x", Scale::kLog, low, high}; }

TEST(Axis, TicksAreRoundNumbersWithinIt) {
  EXPECT_THAT(Texts(Linear(0, 1), 6), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_THAT(Texts(Linear(-0.03, 1.03), 3), ElementsAre("0", "0.5", "1"));
  EXPECT_THAT(Texts(Linear(-35, 12), 6), ElementsAre("-30", "-20", "-10", "0", "10"));
  EXPECT_THAT(Texts(Linear(1, 27), 6), ElementsAre("5", "10", "15", "20", "25"));
}

TEST(Axis, TicksOfALogScaleArePowersOfTenWhereThereAreTwo) {
  EXPECT_THAT(Texts(Log(8e-5, 0.12), 6), ElementsAre("0.0001", "0.001", "0.01", "0.1"));
  EXPECT_THAT(Texts(Log(1e-9, 1), 5), ElementsAre("1e-09", "1e-07", "1e-05", "0.001", "0.1"));
  EXPECT_THAT(Texts(Log(3, 70), 6), ElementsAre("5", "10", "20", "50"));
  EXPECT_THAT(Texts(Log(3.1, 3.4), 4), ElementsAre("3.1", "3.2", "3.3", "3.4"));
}

TEST(Axis, TicksOfAListAreItsWords) {
  Axis axis{"kind", Scale::kLinear, -0.5, 2.5, {"adam", "sgd", "rms"}};
  EXPECT_THAT(Texts(axis, 5), ElementsAre("adam", "sgd", "rms"));
  EXPECT_THAT(Texts(axis, 2), ElementsAre("adam", "rms"));
  EXPECT_DOUBLE_EQ(axis.ShareOf(1), 0.5);
}

TEST(Axis, ValuesThatAreAllAlikeHaveRoomAroundThem) {
  for (const double value : {0.0, 5.0, -3.0, 1e-12, 1e12}) {
    const Axis axis = AxisFor("x", Scale::kLinear, value, value);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_NEAR(axis.ShareOf(value), 0.5, 1e-3);
  }
  EXPECT_NEAR(AxisFor("x", Scale::kLog, 0.1, 0.1).ShareOf(0.1), 0.5, 1e-9);
}

TEST(Axis, ValuesThatDifferInTheirLastBitsHaveAFewTicks) {
  for (const double value : {0.9333333333333332, 0.95, 0.1, 12.5, -0.3, 1e15}) {
    for (const double bits : {1, 3, 6, 40}) {
      const double high = value + bits * std::abs(value) * 0x1p-53;
      for (size_t count = 2; count <= 12; ++count) {
        for (const Axis& axis : {Linear(value, high), AxisFor("x", Scale::kLinear, value, high)}) {
          EXPECT_LE(TicksOf(axis, count).size(), 20u) << value << " " << bits << " " << count;
        }
      }
    }
  }
  const Axis axis = AxisFor("x", Scale::kLinear, 0.9333333333333332, 0.9333333333333333);
  EXPECT_THAT(Texts(axis, 6), ElementsAre("0.85", "0.9", "0.95", "1"));
  EXPECT_TRUE(AreAlike(0.9666666666666667, 0.9666666666666668));
  EXPECT_FALSE(AreAlike(0, 1e-300));
}

Chart Curves() {
  Chart chart;
  chart.title = "<digits> & \"co\": curves";
  chart.x = {"iteration", Scale::kLinear, 1, 9};
  chart.y = {"loss\x1b[2J", Scale::kLog, 0.01, 1};
  chart.series = {{"2 other trials", Mark::kLine, {{1, 1}, {9, 0.5}}, 0},
                  {"trial 4", Mark::kLine, {{1, 0.9}, {5, 0.1}, {9, 0.01}}, 1},
                  {"trial 7", Mark::kSteps, {{1, 0.8}, {9, 0.02}}, 2},
                  {"", Mark::kPoints, {{3, 0.3}}, 0}};
  chart.notes = {"2 values beyond the axis"};
  return chart;
}

Chart Parallel() {
  Chart chart;
  chart.title = "parallel";
  chart.columns = {{"lr", Scale::kLog, 1e-4, 0.1},
                   {"kind", Scale::kLinear, -0.5, 1.5, {"adam", "sgd"}},
                   {"loss", Scale::kLinear, 0, 1}};
  chart.series = {{"best", Mark::kLine, {{0, 0.5}, {1, 0.25}, {2, 1}}, 1},
                  {"others", Mark::kLine, {{0, 0}, {1, 0.75}, {2, 0}}, 0}};
  return chart;
}

Chart Bars() {
  Chart chart;
  chart.title = "bars";
  chart.bars = {{"lr", 0.75, 0.5, 0.9, true}, {"kind", 0.25, 0.1, 0.5, false}};
  return chart;
}

TEST(ChartText, DrawsAxesLinesAndALegendInPlainLetters) {
  Chart chart = Curves();
  chart.title = "curves";
  chart.y = {"loss", Scale::kLog, 0.01, 1};
  chart.series.resize(2);
  chart.notes.clear();
  EXPECT_THAT(RenderText(chart, {52, 13, true, Palette::kPlain}),
              ElementsAre("curves", "loss (log)",                                  //
                          "   1|aaaaaaa............................... ",          //
                          "    |       aaaaaa                         .",          //
                          "    |             aaaaaa                    ",          //
                          "    |                   aaaaaaa             ",          //
                          "    |                          aaaaaa       ",          //
                          "    |                                aaaaaa ",          //
                          "0.01|                                      a trial 4",  //
                          "    +-----+--------+---------+--------+-----",          //
                          "          2        4         6        8",               //
                          "                    iteration",                         //
                          "a trial 4   . 2 other trials"));
}

TEST(ChartText, BarsTellTheirSharesAndWhatIsUnclear) {
  EXPECT_THAT(RenderText(Bars(), {50, 20, true, Palette::kPlain}),
              ElementsAre("bars", "  lr  ################## 75 %  (50 to 90)",
                          "kind  ------ 25 %  (10 to 50)"));
  EXPECT_THAT(RenderText(Bars(), {50, 20, false, Palette::kPlain})[2],
              "kind  ░░░░░░ 25 %  (10 to 50)");
}

TEST(ChartText, FitsEveryWidthAndMovesNoCursor) {
  for (const Chart& chart : {Curves(), Parallel(), Bars()}) {
    for (const bool is_ascii : {false, true}) {
      for (const size_t width : {1, 3, 10, 40, 80, 200}) {
        for (const size_t height : {1, 5, 10, 24, 50}) {
          const std::vector<std::string> lines =
              RenderText(chart, {width, height, is_ascii, Palette::kPlain});
          for (const std::string& line : lines) {
            EXPECT_LE(DisplayWidth(line), width) << line;
            EXPECT_THAT(line, Not(HasSubstr("\x1b")));
          }
          if (height >= 10 && chart.bars.empty() && width >= 80) {
            EXPECT_LE(lines.size(), height + 1);
          }
        }
      }
    }
  }
}

TEST(ChartText, PlainLettersAreAsciiAlone) {
  for (const Chart& chart : {Curves(), Parallel(), Bars()}) {
    for (const std::string& line : RenderText(chart, {100, 24, true, Palette::kPlain})) {
      for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    }
  }
}

TEST(ChartSvg, WhatComesFromASweepIsTextAlone) {
  const std::string svg = RenderSvg(Curves());
  EXPECT_THAT(svg, HasSubstr("&lt;digits&gt; &amp; &quot;co&quot;: curves"));
  EXPECT_THAT(svg, Not(HasSubstr("<digits>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr(">loss\\x1b[2J (log)</text>"));
  EXPECT_THAT(svg, HasSubstr(">2 values beyond the axis</text>"));
}

TEST(ChartSvg, LinesThatAreToldApartDifferByDashesAsWell) {
  const std::string svg = RenderSvg(Curves());
  EXPECT_THAT(svg,
              HasSubstr("stroke=\"#0072b2\" stroke-width=\"2.5\" stroke-linejoin=\"round\"/>"));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#d55e00\" stroke-width=\"2.5\" stroke-linejoin=\"round\" "
                             "stroke-dasharray=\"8 3\"/>"));
}

}  // namespace
}  // namespace tune
