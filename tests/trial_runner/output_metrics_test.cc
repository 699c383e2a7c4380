// Numbers found in what a program prints, however its output comes in pieces.
#include "trial_runner/output_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

OutputPattern Pattern(const std::string& metric, const std::string& pattern) {
  Result<OutputPattern> made = OutputPattern::Make(metric, pattern);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}
OutputPattern Accuracy() { return Pattern("acc", "acc: ([0-9.eE+-]+)"); }
OutputPattern Loss() { return Pattern("loss", "loss: ([0-9.eE+-]+)"); }

// ---- one expression

TEST(OutputPattern, TakesTheLastNumberOfALine) {
  EXPECT_EQ(Accuracy().FindIn("acc: 0.5"), 0.5);
  EXPECT_EQ(Accuracy().FindIn("step 3, acc: 0.25, acc: 0.75 (best)"), 0.75);
  EXPECT_EQ(Accuracy().FindIn("accuracy 0.5"), std::nullopt);
  EXPECT_EQ(Accuracy().FindIn(""), std::nullopt);
}

TEST(OutputPattern, ReadsNumbersInAllTheirForms) {
  const OutputPattern any = Pattern("x", "x=(\\S+)");
  EXPECT_EQ(any.FindIn("x=-1e-3"), -0.001);
  EXPECT_EQ(any.FindIn("x=+2"), 2);
  EXPECT_EQ(any.FindIn("it ends with x=0.5."), 0.5);
  EXPECT_EQ(any.FindIn("x=.5"), 0.5);
  EXPECT_TRUE(std::isnan(*any.FindIn("x=nan")));
  EXPECT_EQ(any.FindIn("x=inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(any.FindIn("x=-inf"), -std::numeric_limits<double>::infinity());
  for (const char* const text : {"x=abc", "x=1.2.3", "x=1,5", "x=-", "x=.", "x=++1", "x=0x10"}) {
    EXPECT_EQ(any.FindIn(text), std::nullopt) << text;
  }
}

TEST(OutputPattern, KeepsTheNumberBeforeOneThatCannotBeRead) {
  EXPECT_EQ(Pattern("x", "x=(\\S+)").FindIn("x=1 x=two"), 1);
}

// The beginning of a line is where the line begins, not where the match before it ended.
TEST(OutputPattern, AnchorsMeanTheWholeLine) {
  EXPECT_EQ(Pattern("x", "^([0-9])").FindIn("123"), 1);
  EXPECT_EQ(Pattern("x", "([0-9])$").FindIn("123"), 3);
  EXPECT_EQ(Pattern("x", "\\b([0-9])").FindIn("12 34"), 3);
}

TEST(OutputPattern, EndsWhateverTheExpressionMatches) {
  EXPECT_EQ(Pattern("x", "([0-9]*)").FindIn("a1b22"), 22);
  EXPECT_EQ(Pattern("x", "()").FindIn("abc"), std::nullopt);
  EXPECT_EQ(Pattern("x", "a|(b)").FindIn("aaa"), std::nullopt);
  EXPECT_EQ(Pattern("x", "a|([0-9])").FindIn("a1a"), 1);
  EXPECT_EQ(Pattern("x", "$(a?)").FindIn("a"), std::nullopt);
}

TEST(OutputPattern, ReadsBytesThatAreNoUtf8) {
  EXPECT_EQ(Accuracy().FindIn("\xff\xfe acc: 0.5 \xc3"), 0.5);
}

TEST(OutputPattern, RefusesWhatCannotBeUsed) {
  const auto error = [](const std::string& pattern) {
    return OutputPattern::Make("x", pattern).status().message();
  };
  EXPECT_THAT(error("([0-9]+"), HasSubstr("cannot be used: missing )"));
  EXPECT_THAT(error("acc"), HasSubstr("has no group"));
  EXPECT_THAT(error("(?:acc)"), HasSubstr("has no group"));
  EXPECT_THAT(error("(a){1000}{1000}"), HasSubstr("cannot be used"));
  EXPECT_THAT(error("(a)\\1"), HasSubstr("cannot be used"));
}

// ---- reports

TEST(OutputMetrics, AReportIsWholeWhenEachNumberWasFound) {
  OutputMetrics metrics({Accuracy(), Loss()});
  EXPECT_THAT(metrics.Read("loss: 2\n"), IsEmpty());
  EXPECT_THAT(metrics.Read("acc: 0.5\n"),
              ElementsAre(ElementsAre(Pair("acc", 0.5), Pair("loss", 2))));
  EXPECT_THAT(metrics.Read("acc: 0.6 loss: 1\n"),
              ElementsAre(ElementsAre(Pair("acc", 0.6), Pair("loss", 1))));
  EXPECT_THAT(metrics.Finish(), IsEmpty());
}

TEST(OutputMetrics, OneThatFindsItsNextNumberEarlierLeavesTheOthersMissing) {
  OutputMetrics metrics({Accuracy(), Loss()});
  EXPECT_THAT(
      metrics.Read("acc: 1\nacc: 2\nloss: 3\n"),
      ElementsAre(ElementsAre(Pair("acc", 1)), ElementsAre(Pair("acc", 2), Pair("loss", 3))));
}

TEST(OutputMetrics, ReadsTheSameInWhateverPiecesTheOutputComes) {
  const std::string text = "a acc: 0.5\r\nacc: 0.6\rloss: 1\n\nloss: 2 acc: 7\nacc: 8";
  const auto read = [&](size_t size) {
    OutputMetrics metrics({Accuracy(), Loss()});
    std::vector<Metrics> all;
    for (size_t i = 0; i < text.size(); i += size) {
      for (Metrics& report : metrics.Read(text.substr(i, size))) all.push_back(std::move(report));
    }
    for (Metrics& report : metrics.Finish()) all.push_back(std::move(report));
    return all;
  };
  const std::vector<Metrics> whole = read(text.size());
  ASSERT_EQ(whole.size(), 4u);
  for (size_t size = 1; size < text.size(); ++size) EXPECT_EQ(read(size), whole) << size;
}

TEST(OutputMetrics, WhatWaitsAtTheEndIsTheLastReport) {
  OutputMetrics metrics({Accuracy(), Loss()});
  EXPECT_THAT(metrics.Read("acc: 0.5\n"), IsEmpty());
  EXPECT_THAT(metrics.Finish(), ElementsAre(ElementsAre(Pair("acc", 0.5))));
  EXPECT_THAT(metrics.Finish(), IsEmpty());
}

TEST(OutputMetrics, ALastLineWithoutItsEndIsReadToo) {
  OutputMetrics metrics({Accuracy()});
  EXPECT_THAT(metrics.Read("acc: 0.5\nacc: 0.7"), ElementsAre(ElementsAre(Pair("acc", 0.5))));
  EXPECT_THAT(metrics.Finish(), ElementsAre(ElementsAre(Pair("acc", 0.7))));
}

// The last line ends one report and makes another: neither is lost.
TEST(OutputMetrics, ALastLineMayEndTwoReports) {
  OutputMetrics whole({Accuracy(), Loss()});
  EXPECT_THAT(whole.Read("acc: 1\nacc: 2 loss: 3"), IsEmpty());
  EXPECT_THAT(whole.Finish(), ElementsAre(ElementsAre(Pair("acc", 1)),
                                          ElementsAre(Pair("acc", 2), Pair("loss", 3))));
  OutputMetrics part({Accuracy(), Loss()});
  EXPECT_THAT(part.Read("acc: 1\nacc: 2"), IsEmpty());
  EXPECT_THAT(part.Finish(), ElementsAre(ElementsAre(Pair("acc", 1)), ElementsAre(Pair("acc", 2))));
}

TEST(OutputMetrics, OfALineWithoutEndOnlyTheBeginningIsLookedAt) {
  OutputMetrics metrics({Accuracy()});
  EXPECT_THAT(metrics.Read("acc: 0.25 "), IsEmpty());
  for (int i = 0; i < 200; ++i) EXPECT_THAT(metrics.Read(std::string(1000, '.')), IsEmpty());
  EXPECT_THAT(metrics.Read("acc: 0.75\nacc: 0.5\n"),
              ElementsAre(ElementsAre(Pair("acc", 0.25)), ElementsAre(Pair("acc", 0.5))));
}

TEST(OutputMetrics, SaysWhichExpressionsNeverFoundANumber) {
  OutputMetrics metrics({Accuracy(), Loss()});
  (void)metrics.Read("loss: 1\nacc: many\n");
  EXPECT_THAT(metrics.NeverFound(), ElementsAre("acc"));
}

TEST(OutputMetrics, WithoutExpressionsNothingIsFound) {
  OutputMetrics metrics({});
  EXPECT_THAT(metrics.Read("acc: 0.5\n\n"), IsEmpty());
  EXPECT_THAT(metrics.Finish(), IsEmpty());
  EXPECT_THAT(metrics.NeverFound(), IsEmpty());
}

}  // namespace
}  // namespace tune
