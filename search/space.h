// The search space: parameters in the order of the file, each a domain or a constant, some of them
// only under a condition.
//
//   optimizer:
//     kind: {choice: [adam, sgd]}
//     beta1: {uniform: [0.8, 0.99], when: {kind: adam}}
//     momentum: {constant: 0.9, when: {kind: [sgd]}}
//   warmup: {when: {optimizer.kind: adam, epochs: 9}, steps: {randint: [1, 9]}, from: 0.1}
//   epochs: {choice: [3, 9]}
//
// `when` names the values that other parameters must have, all of those named; it stands beside a
// domain, beside `constant`, or in a nested map, where it holds for everything in that. A name is
// looked for beside the parameter, then in each map around it, outwards, and the nearest is meant;
// optimizer.kind (or optimizer/kind) is kind in the map optimizer. What is looked at may stand
// later in the file and may itself have a condition: where it does not exist, neither does what
// depends on it. It must have countable values.
//
// A parameter may also be written as AutoTuner does (autotuner_form.h). Constraints are
// expressions that each configuration must satisfy (constraint.h).
//
// Thread rule: immutable.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/configuration.h"
#include "core/random.h"
#include "core/status.h"
#include "core/value.h"
#include "search/constraint.h"
#include "search/domain.h"
#include "search/space_parameter.h"

namespace tune {

// Values that are settled beforehand, by parameter. Empty: none is.
using GivenValues = std::vector<std::optional<Value>>;

class SearchSpace {
 public:
  // `space`: the spec's `space` map (null: empty). Errors carry "line:column: ": unknown domain
  // (nearest named), wrong count or type of arguments, lo >= hi, log range at or below 0, empty
  // choice, q that does not divide, a name with '/', a condition on an unknown parameter (nearest
  // named) or on a value that it never has, conditions that go in a circle or contradict each
  // other. `constraints`: the spec's list of expressions, null for none; errors as Constraint's.
  static Result<SearchSpace> Parse(const Value& space, const Value& constraints = Value());

  const std::vector<SpaceParameter>& parameters() const { return parameters_; }
  // Indices of all parameters: those that conditions look at before those that depend on them,
  // otherwise as in the file.
  const std::vector<size_t>& choosing_order() const { return choosing_order_; }
  bool has_conditions() const { return has_conditions_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  // Indices of the parameters that constraints name and of those that their conditions depend on,
  // in choosing order: what decides whether a configuration is allowed.
  std::vector<size_t> ConstrainedParameters() const;

  // Whether the parameter exists in a configuration of this space: what it depends on is in it.
  bool IsActive(size_t parameter, const Configuration& configuration) const;

  // A configuration of this space, its parameters in the order of the file: constants, and what
  // `choose` gives for each domain that exists in it (those that a condition looks at are chosen
  // before it). The argument is the parameter's index.
  template <typename Choose>  // Value(size_t parameter)
  Configuration Assemble(Choose choose) const;
  // Whether it keeps to the constraints. A part of a configuration is allowed as long as those
  // whose parameters are all there are satisfied.
  bool Allows(const Configuration& configuration) const;

 private:
  // As IsActive; `values` has those chosen so far.
  bool IsActive(size_t parameter, const std::vector<std::optional<Value>>& values) const;

  std::vector<SpaceParameter> parameters_;
  std::vector<size_t> choosing_order_;
  std::vector<Constraint> constraints_;
  bool has_conditions_ = false;
};

template <typename Choose>
Configuration SearchSpace::Assemble(Choose choose) const {
  std::vector<std::optional<Value>> values(parameters_.size());
  for (const size_t i : choosing_order_) {
    if (!IsActive(i, values)) continue;
    const auto* const constant = std::get_if<Value>(&parameters_[i].content);
    values[i] = constant != nullptr ? *constant : choose(i);
  }
  Configuration configuration;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (values[i]) configuration.Set(parameters_[i].name, *std::move(values[i]));
  }
  return configuration;
}

}  // namespace tune
