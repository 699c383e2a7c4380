// One regular expression and one line.
#include "trial_runner/output_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

OutputPattern Pattern(const std::string& pattern) {
  Result<OutputPattern> made = OutputPattern::Make("x", pattern);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}
std::optional<double> Found(const std::string& pattern, const std::string& line) {
  const auto number = Pattern(pattern).FindIn(line);
  EXPECT_TRUE(number.ok()) << pattern << ": " << number.status().message();
  return number.ok() && *number ? std::optional((*number)->number) : std::nullopt;
}
std::string Refusal(const std::string& pattern, const std::string& line) {
  const auto number = Pattern(pattern).FindIn(line);
  EXPECT_FALSE(number.ok()) << pattern << " in " << line;
  return number.status().message();
}

TEST(OutputPattern, TakesTheLastNumberOfALine) {
  EXPECT_EQ(Found("acc: {number}", "acc: 0.5"), 0.5);
  EXPECT_EQ(Found("acc: {number}", "step 3, acc: 0.25, acc: 0.75 (best)"), 0.75);
  EXPECT_EQ(Found("acc: {number}", "accuracy 0.5"), std::nullopt);
  EXPECT_EQ(Found("acc: {number}", ""), std::nullopt);
}

TEST(OutputPattern, KnowsAnEarlierMatchThatWasAsGood) {
  const auto passed_over = [](const std::string& line) {
    return (*Pattern("acc: {number}").FindIn(line))->passed_over;
  };
  EXPECT_EQ(passed_over("train acc: 0.9, val acc: 0.8"), 0.9);
  EXPECT_EQ(passed_over("acc: 0.8, acc: 0.8"), std::nullopt);
  EXPECT_EQ(passed_over("train_acc: 0.9, acc: 0.8"), std::nullopt) << "one is within a longer name";
  EXPECT_EQ(passed_over("acc: 0.8, val_acc: 0.9"), std::nullopt);
  EXPECT_EQ(passed_over("train_acc: 0.9, val_acc: 0.8"), 0.9);
  const auto match = **Pattern("acc: {number}").FindIn("val acc: 0.8");
  EXPECT_EQ(match.match_begin, 4u);
  EXPECT_EQ(match.number_begin, 9u);
}

TEST(OutputPattern, ADecimalCommaIsNotReadAsThousands) {
  for (const char* const line : {"acc: 0,934", "acc: 00,125", "acc: -0,125"}) {
    EXPECT_THAT(Refusal("acc: {number}", line), testing::HasSubstr("a comma is no decimal point"));
  }
  EXPECT_EQ(Found("acc: {number}", "acc: 10,934"), 10934);
}

TEST(OutputPattern, AMatchWithinALongerNameCountsWhereThereIsNoOther) {
  EXPECT_EQ(Found("loss: {number}", "epoch 0 loss: 0.426 val_loss: 0.213"), 0.426);
  EXPECT_EQ(Found("loss: {number}", "val_loss: 0.213 loss: 0.426"), 0.426);
  EXPECT_EQ(Found("loss: {number}", "loss: 0.426 eval/loss: 0.2 val-loss: 0.1"), 0.426);
  EXPECT_EQ(Found("loss: {number}", "epoch 0 val_loss: 0.213"), 0.213);
  EXPECT_EQ(Found("loss: {number}", "step 3 - loss: 0.5 - val_loss: 0.25"), 0.5);
}

TEST(OutputPattern, NumberStandsForAWholeNumber) {
  for (const auto& [text, number] : {std::pair("1.98e-05", 1.98e-05),
                                     {"-3.5", -3.5},
                                     {"+3", 3.0},
                                     {"7.032E-01", 0.7032},
                                     {"1,234,567.5", 1234567.5},
                                     {"1_000", 1000.0},
                                     {"0.93.", 0.93},
                                     {"93.4%", 93.4},
                                     {".5", 0.5},
                                     {"-inf", -HUGE_VAL},
                                     {"Infinity", HUGE_VAL},
                                     {"1.e-05", 1e-05},
                                     {"\xe2\x88\x92"
                                      "2",
                                      -2.0}}) {
    EXPECT_EQ(Found("x={number}", std::string("x=") + text), number) << text;
  }
  EXPECT_TRUE(std::isnan(*Found("x={number}", "x=NaN")));
  EXPECT_EQ(Found("x={number}", "x=nanometre"), std::nullopt);
}

TEST(OutputPattern, NumberMayStandBesideOtherGroupsAndBraces) {
  EXPECT_EQ(Found("(epoch) (\\d{1,3}) acc {number}( best)?", "epoch 12 acc 0.5"), 0.5);
  EXPECT_EQ(Found("x{2} ({number})", "xx 7"), 7);
  EXPECT_EQ(Found("\\{number} (\\d+)", "{number} 3"), 3) << "an escaped brace is a brace";
}

// "lr 1.98" of "lr 1.98e-05" is a wrong number that looks right.
TEST(OutputPattern, RefusesAPartOfANumber) {
  EXPECT_EQ(Refusal("lr: ([0-9.]+)", "lr: 1.98e-05"),
            "the regular expression of 'x' took '1.98' out of '1.98e-05'; write {number} for its "
            "group, which takes a number whole");
  EXPECT_THAT(Refusal("loss:.*?([0-9.]+)", "loss: -3.5"), HasSubstr("took '3.5' out of '-3.5'"));
  EXPECT_THAT(Refusal("acc: ([0-9.]+)", "acc: 1,234"), HasSubstr("out of '1,234'"));
  EXPECT_THAT(Refusal("acc: {number}", "acc: 0,93"),
              HasSubstr("took '0' out of '0,93'; a comma is no decimal point"));
  EXPECT_THAT(Refusal("([0-9.e]+)$", "1.98e-05"), HasSubstr("took '05' out of '1.98e-05'"));
  EXPECT_THAT(Refusal("lr ([0-9.e]+)", "lr 1.98e-05"), HasSubstr("took '1.98e' out of"));
}

TEST(OutputPattern, SaysHowANumberOfAnotherNotationIsPrinted) {
  for (const auto& [text, taken] : {std::pair("1.5D-03", "'1.5' out of '1.5D-03'"),
                                    {"12'345", "'12' out of '12'345'"},
                                    {"1.5x10^3", "'1.5' out of '1.5x10^3'"},
                                    {"1.5\xc3\x97"
                                     "10^3",
                                     "'1.5' out of '1.5\xc3\x97"
                                     "10^3'"}}) {
    EXPECT_THAT(Refusal("x={number}", std::string("x=") + text),
                AllOf(HasSubstr(std::string("took ") + taken),
                      HasSubstr("print the number as 12345.6 or 1.5e-03")));
  }
  EXPECT_THAT(Refusal("x={number}", "x=1.234,5"),
              AllOf(HasSubstr("out of '1.234,5'"), HasSubstr("a comma is no decimal point")));
  EXPECT_EQ(Found("^{number},", "1.234,5"), 1.234) << "a comma that is spelled parts columns";
}

TEST(OutputPattern, RefusesANumberThatGoesOnAsAName) {
  EXPECT_THAT(Refusal("acc: {number}", "acc: 3f2a9"), HasSubstr("took '3' out of '3f2a9'"));
  for (const char* const line : {"acc: 3 ms", "acc: 3ms", "acc: 3GB", "acc: 3it/s"}) {
    EXPECT_EQ(Found("acc: {number}", line), 3) << line;
  }
}

TEST(OutputPattern, SaysHowAGreedyExpressionIsMended) {
  EXPECT_THAT(Refusal("acc.*{number}", "acc: 0.98"),
              AllOf(HasSubstr("took '8' out of '0.98'"), HasSubstr("write .*? for .*")));
  EXPECT_EQ(Found("acc.*?{number}", "acc: 0.98"), 0.98);
}

TEST(OutputPattern, RefusesWhatBeginsAsANumberAndIsNone) {
  for (const char* const text : {"x=1.2.3", "x=0x10", "x=3/10", "x=12ms", "x=2abc"}) {
    EXPECT_THAT(Refusal("x=(\\S+)", text), HasSubstr("write {number}")) << text;
  }
  EXPECT_THAT(Refusal("x=(\\S+)", "x=1,5"), HasSubstr("a comma is no decimal point"));
}

TEST(OutputPattern, AGroupOfOnesOwnMayTakeThePunctuationToo) {
  EXPECT_EQ(Found("x=(\\S+)", "x=0.5, y"), 0.5);
  EXPECT_EQ(Found("x=(\\S+)", "(x=50%)"), 50);
  EXPECT_EQ(Found("x=(\\S+)", "it ends with x=-1e-3."), -0.001);
  for (const char* const text : {"x=abc", "x=-", "x=.", "x=++1", "x=n/a"}) {
    EXPECT_EQ(Found("x=(\\S+)", text), std::nullopt) << text;
  }
  EXPECT_EQ(Found("x=(\\S+)", "x=1 x=two"), 1) << "the number before it is kept";
}

TEST(OutputPattern, CommasThatAreSpelledPartColumns) {
  EXPECT_EQ(Found("^\\d+,{number}", "10,200,300"), 200);
  EXPECT_EQ(Found("^{number},", "10,200,300"), 10);
  EXPECT_EQ(Found("^\\d+,(\\d+)", "10,200"), 200);
  EXPECT_EQ(Found("{number}$", "10,0.5"), 0.5);
  EXPECT_EQ(Found("epoch-(\\d+)", "epoch-3"), 3);
  EXPECT_EQ(Found("0\\.(\\d+)", "0.93"), 93);
}

// The beginning of a line is where the line begins, not where the match before it ended.
TEST(OutputPattern, AnchorsMeanTheWholeLine) {
  EXPECT_EQ(Found("^([0-9]) ", "1 2 3"), 1);
  EXPECT_EQ(Found(" ([0-9])$", "1 2 3"), 3);
  EXPECT_EQ(Found("\\b([0-9])\\b", "1 3"), 3);
}

TEST(OutputPattern, EndsWhateverTheExpressionMatches) {
  EXPECT_EQ(Found("([0-9]*)", "a1b22"), 22);
  EXPECT_EQ(Found("()", "abc"), std::nullopt);
  EXPECT_EQ(Found("a|(b)", "aaa"), std::nullopt);
  EXPECT_EQ(Found("a|([0-9])", "a1a"), 1);
  EXPECT_EQ(Found("$(a?)", "a"), std::nullopt);
}

TEST(OutputPattern, ReadsBytesThatAreNoUtf8) {
  EXPECT_EQ(Found("acc: {number}", "\xff\xfe acc: 0.5 \xc3"), 0.5);
}

TEST(OutputPattern, RefusesWhatCannotBeUsed) {
  const auto error = [](const std::string& pattern) {
    return OutputPattern::Make("x", pattern).status().message();
  };
  EXPECT_THAT(error("([0-9]+"), HasSubstr("cannot be used: missing )"));
  EXPECT_THAT(error("acc"), HasSubstr("has no group; write {number}"));
  for (const char* const hidden :
       {"[{number}] (acc)", "[{number}", "[acc: {number}]", "\\Q{number}\\E (a)"}) {
    EXPECT_NE(error(hidden), "") << hidden;
  }
  EXPECT_THAT(error("[{number}]: acc ([0-9.]+)"),
              HasSubstr("has {number} within brackets or quotes, where it stands for single"));
  EXPECT_THAT(error("(?:acc)"), HasSubstr("has no group"));
  EXPECT_THAT(error("acc {num}"), HasSubstr("write {number}"));
  EXPECT_THAT(error("{number} of {number}"), HasSubstr("holds {number} twice"));
  EXPECT_THAT(error("(a){1000}{1000}"), HasSubstr("cannot be used"));
  EXPECT_THAT(error("(a)\\1"), HasSubstr("cannot be used"));
}

}  // namespace
}  // namespace tune
