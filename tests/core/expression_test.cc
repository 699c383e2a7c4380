#include "core/expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "core/limits.h"
#include "core/random.h"

namespace tune {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double Eval(std::string_view text, const std::map<std::string, Value>& values = {}) {
  const Result<Expression> expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status().message();
  if (!expression.ok()) return std::nan("");
  std::vector<ExpressionInput> inputs;
  for (const ExpressionVariable& variable : expression->variables()) {
    const auto found = values.find(variable.name);
    EXPECT_NE(found, values.end()) << variable.name;
    if (found == values.end()) return std::nan("");
    const Result<ExpressionInput> input = Expression::InputFor(variable, found->second);
    EXPECT_TRUE(input.ok()) << input.status().message();
    if (!input.ok()) return std::nan("");
    inputs.push_back(*input);
  }
  return expression->Evaluate(inputs);
}

std::string ErrorOf(std::string_view text) {
  const Result<Expression> expression = Expression::Parse(text);
  EXPECT_FALSE(expression.ok()) << text;
  return expression.status().message();
}

TEST(Expression, ReadsNumbersInEveryForm) {
  EXPECT_EQ(Eval("1"), 1);
  EXPECT_EQ(Eval("1e-6"), 1e-6);
  EXPECT_EQ(Eval(".5"), 0.5);
  EXPECT_EQ(Eval("2."), 2);
  EXPECT_EQ(Eval(" 1.5E+3\n"), 1500);
}

TEST(Expression, BindsTheUsualWay) {
  EXPECT_EQ(Eval("1 + 2 * 3"), 7);
  EXPECT_EQ(Eval("(1 + 2) * 3"), 9);
  EXPECT_EQ(Eval("8 - 4 - 2"), 2);
  EXPECT_EQ(Eval("8 / 4 / 2"), 1);
  EXPECT_EQ(Eval("2 * -3"), -6);
  EXPECT_EQ(Eval("1 - - 1"), 2);
}

TEST(Expression, PowerBindsToTheRightAndAboveUnaryMinus) {
  EXPECT_EQ(Eval("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(Eval("-2 ^ 2"), -4);
  EXPECT_EQ(Eval("(-2) ^ 2"), 4);
  EXPECT_EQ(Eval("2 ^ -1"), 0.5);
  EXPECT_EQ(Eval("2 ^ -2 ^ 2"), 0.0625);  // 2^-(2^2)
  EXPECT_EQ(Eval("3 * 2 ^ 2"), 12);
}

TEST(Expression, ComparisonsAndLogicalWordsGiveOneOrZero) {
  EXPECT_EQ(Eval("1 < 2"), 1);
  EXPECT_EQ(Eval("2 <= 1"), 0);
  EXPECT_EQ(Eval("2 >= 2 and 1 != 2"), 1);
  EXPECT_EQ(Eval("not 1 == 1 or 3 > 2"), 1);
  EXPECT_EQ(Eval("not (1 == 1 or 3 > 2)"), 0);
  EXPECT_EQ(Eval("0 or 0 and 1"), 0);
  EXPECT_EQ(Eval("1 or 0 and 0"), 1);  // `and` binds tighter.
}

TEST(Expression, KnowsItsFunctions) {
  EXPECT_EQ(Eval("exp(0) + log(1) + log10(100) + log2(8)"), 6);
  EXPECT_EQ(Eval("sqrt(9) + abs(-2) + floor(-1.5) + round(2.5)"), 6);
  EXPECT_EQ(Eval("min(3, 1, 2) + max(3, 1, 2)"), 4);
  EXPECT_EQ(Eval("sin(0) + cos(0)"), 1);
}

TEST(Expression, DivisionByZeroAndLogarithmOfZeroAreAsInIeee) {
  EXPECT_EQ(Eval("1 / 0"), kInf);
  EXPECT_EQ(Eval("-1 / 0"), -kInf);
  EXPECT_EQ(Eval("log(0)"), -kInf);
  EXPECT_TRUE(std::isnan(Eval("0 / 0")));
  EXPECT_TRUE(std::isnan(Eval("log(-1)")));
  EXPECT_TRUE(std::isnan(Eval("min(1, 0 / 0)")));
  EXPECT_TRUE(std::isnan(Eval("max(0 / 0, 1)")));
}

TEST(Expression, NaNIsNotTrue) {
  EXPECT_FALSE(Expression::IsTrue(std::nan("")));
  EXPECT_TRUE(Expression::IsTrue(-1));
  EXPECT_EQ(Eval("0 / 0 or 0"), 0);
  EXPECT_EQ(Eval("0 / 0 == 0 / 0"), 0);
}

TEST(Expression, ParametersAreReadFromTheirSlots) {
  EXPECT_DOUBLE_EQ(Eval("(x - 0.3)^2 + exp(-0.2 * t)", {{"x", 0.5}, {"t", 5}}),
                   0.04 + std::exp(-1.0));
  EXPECT_EQ(Eval("width * depth <= 64", {{"width", 16}, {"depth", 4}}), 1);
}

TEST(Expression, NestedParametersAreWrittenWithDots) {
  EXPECT_EQ(Eval("optimizer.lr * 2", {{"optimizer/lr", 0.25}}), 0.5);
  const auto expression = Expression::Parse("a.b_1.c2 + a.b_1.c2 + a");
  ASSERT_TRUE(expression.ok());
  ASSERT_EQ(expression->variables().size(), 2u);
  EXPECT_EQ(expression->variables()[0].name, "a/b_1/c2");
  EXPECT_EQ(expression->variables()[1].name, "a");
}

TEST(Expression, ACategoricalComparesWithAQuotedText) {
  EXPECT_EQ(Eval("opt == 'adam'", {{"opt", "adam"}}), 1);
  EXPECT_EQ(Eval("opt != \"adam\"", {{"opt", "sgd"}}), 1);
  EXPECT_EQ(Eval("'adam' == opt and lr < 1", {{"opt", "adam"}, {"lr", 0.5}}), 1);
  EXPECT_EQ(Eval("(opt) == 'adam'", {{"opt", "adam"}}), 1);
  EXPECT_EQ(Eval("width == 'auto' or width == 3", {{"width", 3}}), 1);  // A mixed choice.
}

TEST(Expression, SaysHowEachVariableIsUsed) {
  const auto expression = Expression::Parse("opt == 'adam' or x + y > 1 and y == 'auto'");
  ASSERT_TRUE(expression.ok());
  const auto& variables = expression->variables();
  ASSERT_EQ(variables.size(), 3u);
  EXPECT_TRUE(variables[0].used_as_text && !variables[0].used_as_number);
  EXPECT_TRUE(!variables[1].used_as_text && variables[1].used_as_number);
  EXPECT_TRUE(variables[2].used_as_text && variables[2].used_as_number);
}

TEST(Expression, ATextWhereANumberIsNeededIsAnError) {
  const auto expression = Expression::Parse("opt * 2");
  ASSERT_TRUE(expression.ok());
  const auto input = Expression::InputFor(expression->variables()[0], Value("adam"));
  EXPECT_EQ(input.status().message(), "'opt' is a string, and the expression needs a number");
  EXPECT_EQ(Eval("flag * 2", {{"flag", true}}), 2);
}

TEST(Expression, ErrorsNameTheColumnWhatWasReadAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf("x +"),
            "column 4 of 'x +': read the end, expected a number, a parameter, a function or '('");
  EXPECT_EQ(ErrorOf("x y"), "column 3 of 'x y': read 'y', expected an operator or the end");
  EXPECT_EQ(ErrorOf("(x"), "column 3 of '(x': read the end, expected an operator or ')'");
  EXPECT_EQ(ErrorOf("squrt(x)"),
            "column 1 of 'squrt(x)': 'squrt' is not a function; did you mean 'sqrt'?");
  EXPECT_EQ(ErrorOf("x = 1"), "column 3 of 'x = 1': read '='; equality is written '=='");
  EXPECT_EQ(ErrorOf("x ** 2"), "column 3 of 'x ** 2': read '**'; a power is written '^'");
  EXPECT_EQ(ErrorOf("a < b < c"),
            "column 7 of 'a < b < c': comparisons do not chain; write a < b and b < c");
  EXPECT_EQ(ErrorOf("2x"), "column 2 of '2x': a letter directly after a number; write 2 * x");
}

TEST(Expression, RefusesWhatHasNoMeaning) {
  for (const char* text :
       {"",        " ",   "()",         "min(1)",          "exp(1, 2)", "exp()",        "f(x)",
        "x < 'a'", "'a'", "'a' == 'b'", "x == 'a",         "1 == 'a'",  "x + 1 == 'a'", "x; y",
        "x[0]",    "and", "1e999",      "x == 'a' == 'b'", "x.",        "x..y",         "import(x)",
        "x $ y",   "\x01"}) {
    EXPECT_FALSE(Expression::Parse(text).ok()) << text;
  }
}

TEST(Expression, IsBoundInLengthAndDepth) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "1" +
           std::string(static_cast<size_t>(depth), ')');
  };
  EXPECT_TRUE(Expression::Parse(nested(limits::kExpressionDepthMax - 1)).ok());
  EXPECT_FALSE(Expression::Parse(nested(limits::kExpressionDepthMax)).ok());
  EXPECT_FALSE(Expression::Parse(std::string(1000, '-') + "1").ok());
  EXPECT_FALSE(Expression::Parse("1" + std::string(limits::kExpressionBytesMax, ' ')).ok());
  std::string powers = "2";
  for (int i = 0; i < 1000; ++i) powers += "^1";
  EXPECT_FALSE(Expression::Parse(powers).ok());
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_EQ(Eval(sum), 1001);
}

TEST(Expression, AnyTextIsEitherParsedOrRefused) {
  static constexpr std::string_view kPieces[] = {"x",   "1",    "+", "-",  "*",    "/",  "^",
                                                 "(",   ")",    "<", "==", "and ", "or", "not ",
                                                 "'a'", "min(", ",", " ",  ".",    "1e", "exp("};
  KeyedRandom random(1, "expression mutations");
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const uint64_t count = 1 + random.NextBelow(12);
    for (uint64_t j = 0; j < count; ++j) text += kPieces[random.NextBelow(std::size(kPieces))];
    const auto expression = Expression::Parse(text);
    if (!expression.ok()) continue;
    ++parsed;
    const std::vector<ExpressionInput> inputs(expression->variables().size(), ExpressionInput{2});
    expression->Evaluate(inputs);
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace tune
