// Expressions over a trial's parameters: constraints, metric expressions and closed-form curves.
//
//   expression = conjunction { "or" conjunction }
//   conjunction = negation { "and" negation }
//   negation   = "not" negation | comparison
//   comparison = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]      (no chains: a < b and b
//   < c)
//              | name ( "==" | "!=" ) text | text ( "==" | "!=" ) name
//   sum        = product { ( "+" | "-" ) product }
//   product    = unary { ( "*" | "/" ) unary }
//   unary      = ( "-" | "+" ) unary | power
//   power      = primary [ "^" exponent ]                    (-x^2 is -(x^2), 2^3^2 is 2^9, 2^-1 is
//   0.5) exponent   = ( "-" | "+" ) exponent | power primary    = number | name | function "("
//   expression { "," expression } ")" | "(" expression ")" name       = letter { letter | digit |
//   "_" } { "." letter { letter | digit | "_" } } text       = "'" ... "'" | '"' ... '"' (no
//   escapes) function   = exp log log10 log2 sqrt abs sin cos floor round (halves away from zero);
//   min max (two or more)
//
// The nested parameter optimizer/lr is written optimizer.lr. Everything is a double: comparisons
// and the logical words give 1 or 0, and 0 and NaN count as false. Arithmetic is IEEE 754: 1/0 is
// inf, log(-1) is NaN, min and max of a NaN are NaN.
//
// Thread rule: a parsed expression is immutable; any thread may evaluate it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

struct ExpressionVariable {
  std::string name;                     // Flat: "optimizer/lr".
  bool used_as_number = false;          // At least once.
  bool used_as_text = false;            // Compared with a quoted text at least once.
  int column = 0;                       // Of its first use, from 1.
  std::vector<std::string> texts = {};  // What it is compared with.
};

// The value of a variable: a number, or a text (then the number is NaN). The text must outlive the
// evaluation.
struct ExpressionInput {
  double number = 0;
  std::string_view text = {};
  bool is_text = false;
};

// What `name <= number` and its like say of the one variable.
struct ExpressionBound {
  double number = 0;
  bool is_upper = false;
  bool is_strict = false;
};

class Expression {
 public:
  // Errors say "column 7 of 'text': ...", columns from 1: what was read and what was expected.
  // Longer than limits::kExpressionBytesMax or nested deeper than limits::kExpressionDepthMax is an
  // error too.
  static Result<Expression> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  // In the order of first use; a variable's place here is its slot.
  const std::vector<ExpressionVariable>& variables() const { return variables_; }

  // One input for each variable, in that order. Allocates nothing.
  double Evaluate(std::span<const ExpressionInput> inputs) const;
  static bool IsTrue(double result) { return result < 0 || result > 0; }

  // By how much the expression, taken as true or false, does not hold: above 0 where it is false, 0
  // or below where it is true, NaN where a NaN decides. A comparison's is the difference of its
  // sides in parts of its bound (core/standing.h); `a and b` has the greater of two, `a or b` the
  // lesser, `not a` that of `a` with the other sign; what has no size, such as a text, has 1 or -1.
  double Margin(std::span<const ExpressionInput> inputs) const;
  // Nothing of any other form.
  std::optional<ExpressionBound> AsBound() const;
  // Whether it is a comparison, or made of some by `and`, `or` and `not`: true or false by its
  // form.
  bool IsCondition() const;

  // A parameter's value as an input (booleans are 1 and 0); an error when it is a text, a list, a
  // map or null and the expression uses it as a number. The input refers to `value`.
  static Result<ExpressionInput> InputFor(const ExpressionVariable& variable, const Value& value);

 private:
  friend class ExpressionParser;

  enum class Op : uint8_t {
    kConstant,      // Push `number`.
    kVariable,      // Push the number in slot `index`.
    kTextEqual,     // Push whether slot `index` is the text `text_index`.
    kTextNotEqual,  //
    kNegate,
    kNot,
    kExp,
    kLog,
    kLog10,
    kLog2,
    kSqrt,
    kAbs,
    kSin,
    kCos,
    kFloor,
    kRound,  // One operand.
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPower,
    kMin,
    kMax,  // Two operands.
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
  };
  struct Instruction {
    Op op = Op::kConstant;
    uint32_t index = 0;
    uint32_t text_index = 0;
    double number = 0;
  };

  static double ApplyUnary(Op op, double x);
  static double ApplyBinary(Op op, double x, double y);
  static double MarginOf(Op op, double left, double right, double scale);

  std::string text_;
  std::vector<ExpressionVariable> variables_;
  std::vector<Instruction>
      program_;                     // Postfix, for a stack of at most limits::kExpressionStackMax.
  std::vector<std::string> texts_;  // Quoted texts.
};

}  // namespace tune
