// A search space as a unit cube: one dimension for each parameter that has a domain. What every
// model searcher works in; a domain's own scale (log, normal, weights) is gone here, so that a
// uniform point is a random configuration.
//
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "search/domain.h"
#include "search/space.h"

namespace tune {

// For each dimension, where a configuration lies; nothing where its parameter is not part of it.
using UnitCells = std::vector<std::optional<UnitCell>>;

class UnitSpace {
 public:
  explicit UnitSpace(SearchSpace space);

  const SearchSpace& space() const { return space_; }
  size_t size() const { return parameters_.size(); }
  const Domain& domain(size_t dimension) const;
  const std::string& name(size_t dimension) const;  // Of the parameter.
  const SpaceParameter& parameter(size_t dimension) const {
    return space_.parameters()[parameters_[dimension]];
  }

  // Requires one number of [0, 1] for each dimension. Those of parameters that do not exist in the
  // configuration are not looked at.
  Configuration At(std::span<const double> point) const;
  // Nothing when a value is not in its domain (a configuration of another space).
  std::optional<UnitCells> CellsOf(const Configuration& configuration) const;

 private:
  SearchSpace space_;
  std::vector<size_t> parameters_;  // Of each dimension.
  std::vector<size_t> dimensions_;  // Of each parameter; meaningless for a constant.
};

}  // namespace tune
