// What an expression comes to: its postfix program over a stack of numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/expression.h"
#include "core/limits.h"

namespace tune {

double Expression::Evaluate(std::span<const ExpressionInput> inputs) const {
  TUNE_CHECK(inputs.size() == variables_.size());
  std::array<double, limits::kExpressionStackMax>
      stack;  // Not cleared: each place is written before it is read.
  size_t top = 0;
  for (const Instruction& instruction : program_) {
    const Op op = instruction.op;
    if (op == Op::kConstant) {
      stack[top++] = instruction.number;
    } else if (op == Op::kVariable) {
      stack[top++] = inputs[instruction.index].number;
    } else if (op == Op::kTextEqual || op == Op::kTextNotEqual) {
      const ExpressionInput& input = inputs[instruction.index];
      const bool equal = input.is_text && input.text == texts_[instruction.text_index];
      stack[top++] = equal == (op == Op::kTextEqual) ? 1 : 0;
    } else if (op < Op::kAdd) {
      stack[top - 1] = ApplyUnary(op, stack[top - 1]);
    } else {
      --top;
      stack[top - 1] = ApplyBinary(op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

double Expression::ApplyUnary(Op op, double x) {
  switch (op) {
    case Op::kNegate:
      return -x;
    case Op::kNot:
      return IsTrue(x) ? 0 : 1;
    case Op::kExp:
      return std::exp(x);
    case Op::kLog:
      return std::log(x);
    case Op::kLog10:
      return std::log10(x);
    case Op::kLog2:
      return std::log2(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kFloor:
      return std::floor(x);
    default:
      TUNE_CHECK(op == Op::kRound);
      return std::round(x);
  }
}

double Expression::ApplyBinary(Op op, double x, double y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSubtract:
      return x - y;
    case Op::kMultiply:
      return x * y;
    case Op::kDivide:
      return x / y;
    case Op::kPower:
      return std::pow(x, y);
    case Op::kMin:
      return std::isnan(x) || x < y ? x : y;  // A NaN in y fails the comparison and is returned.
    case Op::kMax:
      return std::isnan(x) || x > y ? x : y;
    case Op::kLess:
      return x < y ? 1 : 0;
    case Op::kLessEqual:
      return x <= y ? 1 : 0;
    case Op::kGreater:
      return x > y ? 1 : 0;
    case Op::kGreaterEqual:
      return x >= y ? 1 : 0;
    case Op::kEqual:
      return x == y ? 1 : 0;
    case Op::kNotEqual:
      return x != y ? 1 : 0;
    case Op::kAnd:
      return IsTrue(x) && IsTrue(y) ? 1 : 0;
    default:
      TUNE_CHECK(op == Op::kOr);
      return IsTrue(x) || IsTrue(y) ? 1 : 0;
  }
}

Result<ExpressionInput> Expression::InputFor(const ExpressionVariable& variable,
                                             const Value& value) {
  if (value.is_number()) return ExpressionInput{value.AsDouble(), {}, false};
  if (value.is_bool()) return ExpressionInput{value.AsBool() ? 1.0 : 0.0, {}, false};
  if (variable.used_as_number || !value.is_string()) {
    return InvalidArgument("'" + variable.name + "' is " + value.KindName() +
                           ", and the expression needs a " +
                           (variable.used_as_number ? "number" : "number or a string"));
  }
  return ExpressionInput{std::numeric_limits<double>::quiet_NaN(), value.AsString(), true};
}

}  // namespace tune
