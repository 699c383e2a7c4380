// An expression over parameters that each configuration must satisfy: "width * depth <= 64"
// (core/expression.h). Satisfied is what is not 0; NaN is not. A constraint that names a parameter
// which a configuration does not have (its condition does not hold) counts as satisfied.
//
// Thread rule: immutable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/expression.h"
#include "core/status.h"
#include "core/value.h"
#include "search/space_parameter.h"

namespace tune {

// The parameter that an expression's variable names: nested ones come before one that has a dot of
// its own. Null where there is none.
const SpaceParameter* FindNamed(const ExpressionVariable& variable,
                                const std::vector<SpaceParameter>& parameters);
// As expressions write it: "optimizer.lr".
std::string Dotted(std::string name);
// What is wrong with how an expression uses a parameter, or nothing.
std::string MisuseOf(const ExpressionVariable& variable, const SpaceParameter& parameter);
// A parameter's value where an expression was checked against its domain. Refers to `value`.
ExpressionInput InputOf(const Value& value);

class Constraint {
 public:
  // `text`: a string. Errors carry its place and the column within it: what the expression cannot
  // be, an unknown parameter (nearest named), a number compared with a quoted text or a text used
  // as a number, a text that the parameter never is (nearest named).
  static Result<Constraint> Parse(const Value& text, const std::vector<SpaceParameter>& parameters);

  const std::string& text() const { return expression_.text(); }
  Place place() const { return place_; }
  // Indices of the parameters that it names.
  const std::vector<size_t>& parameters() const { return parameters_; }

  bool IsSatisfied(const Configuration& configuration) const;

 private:
  explicit Constraint(Expression expression) : expression_(std::move(expression)) {}

  Expression expression_;
  std::vector<size_t> parameters_;  // As the expression's variables.
  std::vector<std::string> names_;  // Theirs.
  Place place_;
};

}  // namespace tune
