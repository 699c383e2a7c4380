// A searched parameter as one of Optuna's distributions (its JSON form, as of Optuna 3).
//
//   uniform, quniform, randn, qrandn      FloatDistribution, with `step` where there is a q
//   loguniform, qloguniform               FloatDistribution, log; Optuna has no step there
//   randint, qrandint, lograndint, ...    IntDistribution, the high end inclusive
//   choice, ordinal, grid_search          CategoricalDistribution; weights have no place in it
//
// Source: optuna/distributions.py (distribution_to_json).
//
// Thread rule: immutable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "search/domain.h"
#include "search/space.h"

namespace tune {

class OptunaDistribution {
 public:
  explicit OptunaDistribution(const Domain& domain);

  // A trial's value as Optuna stores it: the number itself, or the index of the choice. Nothing
  // for a value that the distribution cannot hold.
  std::optional<double> InternalValue(const Value& value) const;
  // The value as Optuna gives it to a program.
  Value ExternalValue(const Value& value) const;
  // {"name": "FloatDistribution", "attributes": {...}}, made wider where `value` is outside: one
  // that was named in the space file's points may be, and normal ones have no ends.
  std::string ToJson(double internal_value) const;

 private:
  enum class Kind { kFloat, kInt, kCategorical };

  Kind kind_ = Kind::kFloat;
  bool is_log_ = false;
  double low_ = 0;
  double high_ = 0;
  std::optional<double> step_;
  std::vector<Value> choices_;     // As the space has them.
  std::string choices_json_ = {};  // The whole distribution; of a categorical one it never changes.
};

}  // namespace tune
