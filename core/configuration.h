// The parameters of one trial: flat names ("optimizer/lr") in the space's order, constants too. A
// value may be any tree that a choice can hold.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

class Configuration {
 public:
  using Parameter = std::pair<std::string, Value>;

  // A second value for a name replaces the first.
  void Set(std::string_view name, Value value);
  // Requires that the name has no value yet, and does not look: for many values at once.
  void Append(std::string name, Value value) {
    parameters_.emplace_back(std::move(name), std::move(value));
  }
  const Value* Find(std::string_view name) const;
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // {"optimizer": {"lr": 0.1}, "depth": 3}: names split at '/'.
  Value ToNested() const;
  // [["optimizer/lr", 0.1], ["depth", 3]]: keeps a choice's own map apart from nesting; FromFlat
  // reads it back.
  Value ToFlat() const;
  static Result<Configuration> FromFlat(const Value& flat);

  friend bool operator==(const Configuration&, const Configuration&) = default;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace tune
