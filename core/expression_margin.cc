// By how much an expression holds or does not, and which one is a simple bound.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/expression.h"
#include "core/limits.h"
#include "core/standing.h"

namespace tune {
namespace {

struct Entry {
  double number = 0;
  double margin = 0;         // Meaningful where `is_truth`.
  bool is_truth = false;     // It came from a comparison or a logical word.
  bool is_constant = false;  // No variable is part of it.

  // A number that stands where a truth is wanted holds or does not, by 1.
  double MarginOfTruth() const {
    if (is_truth) return margin;
    return std::isnan(number) ? number : Expression::IsTrue(number) ? -1 : 1;
  }
};

double ScaleOf(const Entry& left, const Entry& right) {
  const double bound =
      std::fabs(left.is_constant && !right.is_constant ? left.number : right.number);
  return bound > 0 && std::isfinite(bound) ? bound : 1;
}

// A NaN is more than any margin: of a conjunction it stays, a disjunction has its other side.
double MarginOfBoth(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double MarginOfEither(double a, double b) {
  if (std::isnan(a)) return b <= 0 ? b : a;
  if (std::isnan(b)) return a <= 0 ? a : b;
  return std::min(a, b);
}

}  // namespace

double Expression::MarginOf(Op op, double left, double right, double scale) {
  // Equal infinities differ by nothing.
  const double by = left == right ? 0 : (left - right) / scale;
  switch (op) {
    case Op::kLess:
    case Op::kLessEqual:
      return by;
    case Op::kGreater:
    case Op::kGreaterEqual:
      return -by;
    case Op::kEqual:
      return std::fabs(by);
    default:
      TUNE_CHECK(op == Op::kNotEqual);
      return -std::fabs(by);
  }
}

double Expression::Margin(std::span<const ExpressionInput> inputs) const {
  TUNE_CHECK(inputs.size() == variables_.size());
  std::array<Entry, limits::kExpressionStackMax> stack;
  size_t top = 0;
  for (const Instruction& instruction : program_) {
    const Op op = instruction.op;
    if (op == Op::kConstant) {
      stack[top++] = {instruction.number, 0, false, true};
    } else if (op == Op::kVariable) {
      stack[top++] = {inputs[instruction.index].number, 0, false, false};
    } else if (op == Op::kTextEqual || op == Op::kTextNotEqual) {
      const ExpressionInput& input = inputs[instruction.index];
      const bool is_equal = input.is_text && input.text == texts_[instruction.text_index];
      const bool holds = is_equal == (op == Op::kTextEqual);
      stack[top++] = {holds ? 1.0 : 0.0, holds ? -1.0 : 1.0, true, false};
    } else if (op < Op::kAdd) {
      Entry& entry = stack[top - 1];
      const double margin = entry.MarginOfTruth();
      entry.number = ApplyUnary(op, entry.number);
      entry.is_truth = op == Op::kNot;
      entry.margin = -margin;
    } else {
      --top;
      const Entry right = stack[top];
      Entry& left = stack[top - 1];
      const double number = ApplyBinary(op, left.number, right.number);
      const bool is_comparison = op >= Op::kLess && op <= Op::kNotEqual;
      if (op == Op::kAnd) left.margin = MarginOfBoth(left.MarginOfTruth(), right.MarginOfTruth());
      if (op == Op::kOr) left.margin = MarginOfEither(left.MarginOfTruth(), right.MarginOfTruth());
      if (is_comparison) {
        left.margin = MarginOf(op, left.number, right.number, ScaleOf(left, right));
      }
      left.is_truth = is_comparison || op == Op::kAnd || op == Op::kOr;
      left.is_constant = left.is_constant && right.is_constant;
      left.number = number;
    }
  }
  const double margin = stack[0].MarginOfTruth();
  if (std::isnan(margin)) return margin;
  // A margin has the sign of the truth: 5 < 5 does not hold, though by nothing.
  if (IsTrue(stack[0].number)) return std::clamp(margin, -kViolationUnknown, 0.0);
  return std::clamp(margin, kViolationLeast, kViolationUnknown);
}

bool Expression::IsCondition() const {
  const Op op = program_.back().op;
  return (op >= Op::kLess && op <= Op::kOr) || op == Op::kNot || op == Op::kTextEqual ||
         op == Op::kTextNotEqual;
}

std::optional<ExpressionBound> Expression::AsBound() const {
  std::vector<Instruction> program = program_;
  // A number may have a sign before it.
  for (size_t i = 0; i + 1 < program.size(); ++i) {
    if (program[i].op != Op::kConstant || program[i + 1].op != Op::kNegate) continue;
    program[i].number = -program[i].number;
    program.erase(program.begin() + static_cast<ptrdiff_t>(i) + 1);
  }
  if (program.size() != 3) return std::nullopt;
  const Op op = program[2].op;
  const bool is_less = op == Op::kLess || op == Op::kLessEqual;
  const bool is_order = is_less || op == Op::kGreater || op == Op::kGreaterEqual;
  const bool is_name_first = program[0].op == Op::kVariable && program[1].op == Op::kConstant;
  const bool is_number_first = program[0].op == Op::kConstant && program[1].op == Op::kVariable;
  if (!is_order || (!is_name_first && !is_number_first)) return std::nullopt;
  return ExpressionBound{is_name_first ? program[1].number : program[0].number,
                         is_less == is_name_first, op == Op::kLess || op == Op::kGreater};
}

}  // namespace tune
