// By how much expressions hold or do not (core/expression_margin.cc), and the order of results that
// follows (core/standing.h).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/expression.h"
#include "core/standing.h"

namespace tune {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expression Parse(std::string_view text) {
  Result<Expression> expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  return *std::move(expression);
}

double MarginOf(std::string_view text, const std::vector<double>& numbers) {
  std::vector<ExpressionInput> inputs;
  for (const double number : numbers) inputs.push_back({number});
  return Parse(text).Margin(inputs);
}

TEST(ExpressionMargin, OfAComparisonIsTheDifferenceInPartsOfTheBound) {
  EXPECT_DOUBLE_EQ(MarginOf("latency <= 20", {25}), 0.25);
  EXPECT_DOUBLE_EQ(MarginOf("latency <= 20", {15}), -0.25);
  EXPECT_DOUBLE_EQ(MarginOf("accuracy >= 0.8", {0.6}), 0.25);
  EXPECT_DOUBLE_EQ(MarginOf("20 >= latency", {25}), 0.25)
      << "the number is the bound on either side";
  EXPECT_DOUBLE_EQ(MarginOf("slack >= 0", {-3}), 3) << "a bound of 0 counts as 1";
  EXPECT_DOUBLE_EQ(MarginOf("used <= budget", {30, 20}), 0.5) << "of two names the right one";
  EXPECT_DOUBLE_EQ(MarginOf("x == 4", {3}), 0.25);
}

TEST(ExpressionMargin, HasTheSignOfTheTruthWhereTheSidesAreEqual) {
  EXPECT_EQ(MarginOf("x <= 5", {5}), 0);
  EXPECT_GT(MarginOf("x < 5", {5}), 0);
  EXPECT_GT(MarginOf("not (x <= 5)", {5}), 0);
  EXPECT_GT(MarginOf("x != 5", {5}), 0);
  EXPECT_LE(MarginOf("x == 5", {5}), 0);
}

TEST(ExpressionMargin, OfAndIsTheGreaterAndOfOrTheLesser) {
  EXPECT_DOUBLE_EQ(MarginOf("a <= 10 and b <= 10", {15, 11}), 0.5);
  EXPECT_DOUBLE_EQ(MarginOf("a <= 10 or b <= 10", {15, 11}), 0.1);
  EXPECT_DOUBLE_EQ(MarginOf("not (a <= 10 or b <= 10)", {5, 11}), 0.5);
  EXPECT_DOUBLE_EQ(MarginOf("ok", {0}), 1) << "what has no size is broken by 1";
  EXPECT_DOUBLE_EQ(MarginOf("ok and a <= 10", {1, 15}), 0.5);
}

TEST(ExpressionMargin, OfANumberThatIsNoneIsNoneUnlessTheOtherSideOfOrHolds) {
  EXPECT_TRUE(std::isnan(MarginOf("a <= 10", {kNaN})));
  EXPECT_TRUE(std::isnan(MarginOf("not (a <= 10)", {kNaN})));
  EXPECT_TRUE(std::isnan(MarginOf("a != 10", {kNaN}))) << "true by IEEE, and nobody can tell";
  EXPECT_TRUE(std::isnan(MarginOf("a <= 10 and b <= 10", {kNaN, 5})));
  EXPECT_DOUBLE_EQ(MarginOf("a <= 10 or b <= 10", {kNaN, 5}), -0.5);
  EXPECT_TRUE(std::isnan(MarginOf("a <= 10 or b <= 10", {kNaN, 15})));
  EXPECT_EQ(MarginOf("a <= 10", {kInfinity}), kViolationUnknown) << "more than any number";
}

TEST(ExpressionMargin, ComparesATextByEqualityAlone) {
  const Expression expression = Parse("optimizer == 'adam' and loss <= 2");
  const auto margin = [&](std::string_view optimizer, double loss) {
    const std::vector<ExpressionInput> inputs = {{kNaN, optimizer, true}, {loss}};
    return expression.Margin(inputs);
  };
  EXPECT_DOUBLE_EQ(margin("adam", 3), 0.5);
  EXPECT_DOUBLE_EQ(margin("sgd", 1), 1);
  EXPECT_DOUBLE_EQ(margin("adam", 1), -0.5);
}

TEST(ExpressionBound, IsANameAndANumber) {
  const auto upper = Parse("-2 >= x").AsBound();
  ASSERT_TRUE(upper.has_value());
  EXPECT_EQ(upper->number, -2);
  EXPECT_TRUE(upper->is_upper);
  EXPECT_FALSE(upper->is_strict);
  const auto lower = Parse("x > 3").AsBound();
  ASSERT_TRUE(lower.has_value());
  EXPECT_FALSE(lower->is_upper);
  EXPECT_TRUE(lower->is_strict);
  for (const char* const text : {"x", "x == 3", "x + 1 <= 3", "x <= y", "x <= 3 and x <= 4"}) {
    EXPECT_FALSE(Parse(text).AsBound().has_value()) << text;
  }
}

TEST(Standing, FeasibleResultsComeFirstThenThoseThatViolateLess) {
  const auto is_better = [](double a, Metric va, double b, Metric vb) {
    return IsBetterStanding(a, va, b, vb, Mode::kMax);
  };
  EXPECT_TRUE(is_better(0.1, 0.0, 0.9, 0.5));
  EXPECT_TRUE(is_better(0.9, 0.0, 0.1, 0.0));
  EXPECT_TRUE(is_better(0.1, 0.2, 0.9, 0.5));
  EXPECT_TRUE(is_better(0.9, 0.5, 0.1, 0.5)) << "of equal violations the better value";
  EXPECT_TRUE(is_better(0.1, 3.0, 0.9, kViolationUnknown));
  EXPECT_TRUE(is_better(0.9, std::nullopt, 0.1, std::nullopt)) << "a sweep without limits";
}

TEST(Standing, ARankedValueHasTheSameOrderForBothModes) {
  for (const Mode mode : {Mode::kMax, Mode::kMin}) {
    struct Result {
      double value;
      double violation;
    };
    const double better = mode == Mode::kMax ? 1 : -1;
    const std::vector<Result> best_first = {{better * 1e250, 0},  {better * 1e6, 0},
                                            {better * 0.9, 0},    {better * -1e6, 0},
                                            {better * -1e250, 0}, {better * 5, 1e-12},
                                            {better * 9, 0.5},    {better * 9, kViolationUnknown}};
    for (size_t i = 0; i + 1 < best_first.size(); ++i) {
      const double a = RankedValue(best_first[i].value, best_first[i].violation, mode);
      const double b = RankedValue(best_first[i + 1].value, best_first[i + 1].violation, mode);
      EXPECT_TRUE(IsBetter(a, b, mode)) << i;
      EXPECT_TRUE(std::isfinite(b));
    }
    EXPECT_EQ(ViolationOfRanked(RankedValue(0.9, 0.0, mode)), 0);
    EXPECT_DOUBLE_EQ(ViolationOfRanked(RankedValue(0.9, 0.25, mode)), 0.25);
    EXPECT_EQ(ViolationOfRanked(RankedValue(1e250, 0.0, mode)), 0) << "it is a value";
    EXPECT_TRUE(std::isinf(RankedValue(HUGE_VAL, 0.0, mode))) << "which is no value for schedulers";
  }
}

TEST(Standing, AViolationIsTheSumOfWhatTheLimitsAreExceededBy) {
  const std::vector<Metric> margins = {-0.5, 0.25, 0.5};
  EXPECT_DOUBLE_EQ(ViolationOf(margins), 0.75);
  EXPECT_EQ(ViolationOf(std::vector<Metric>{-0.5, 0.0}), 0);
  EXPECT_EQ(ViolationOf(std::vector<Metric>{-0.5, std::nullopt}), kViolationUnknown);
}

}  // namespace
}  // namespace tune
