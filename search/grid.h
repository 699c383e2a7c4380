// All combinations of some of a space's domains, numbered: the last parameter changes fastest.
//
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "search/space.h"

namespace tune {

class Grid {
 public:
  // Of every domain. Errors carry "line:column: ": a domain that is continuous (named), more than
  // limits::kGridPointsMax combinations.
  static Result<Grid> OfAll(const SearchSpace& space);
  // Of the grid_search domains alone; one (empty) combination where there are none.
  static Result<Grid> OfGridSearch(const SearchSpace& space);

  int64_t size() const { return size_; }
  // A combination with the space's constants. Requires a grid of every domain.
  Configuration ConfigurationAt(int64_t point, const SearchSpace& space) const;
  // The value of the space's parameter `parameter` in combination `point`; nothing when it is not
  // part of the grid.
  std::optional<Value> At(int64_t point, const SearchSpace& space, size_t parameter) const;

 private:
  static Result<Grid> Of(const SearchSpace& space, bool grid_search_only);

  // For each of the space's parameters: after how many combinations it changes, 0 when it is not
  // part of the grid.
  std::vector<int64_t> strides_;
  int64_t size_ = 1;
};

// For algorithms that do not repeat a grid: an error at the first grid_search domain, if any.
Status RefuseGridSearch(const SearchSpace& space, std::string_view algorithm);

}  // namespace tune
