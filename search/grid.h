// All combinations of some of a space's domains, numbered: the last parameter changes fastest.
//
// Where there are conditions or constraints, only combinations that differ and are allowed count,
// and what those look at changes slowest: for each combination of the leading parameters there is a
// block, the product of the others that exist in it.
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
  // limits::kGridPointsMax combinations or limits::kLeadingCombinationsMax of leading ones.
  static Result<Grid> OfAll(const SearchSpace& space);
  // Of the grid_search domains alone; one (empty) combination where there are none. Conditions and
  // constraints on other parameters count as held.
  static Result<Grid> OfGridSearch(const SearchSpace& space);

  int64_t size() const { return size_; }
  // Whether no parameter is part of it.
  bool is_trivial() const;
  // Whether conditions and constraints look at no constant either: what sweeps before
  // SearchRules::kFrom16 took for the same.
  bool looks_at_nothing() const { return leading_.empty() && following_.empty(); }
  // A combination with the space's constants. Requires a grid of every domain.
  Configuration ConfigurationAt(int64_t point, const SearchSpace& space) const;
  // For each of the space's parameters, the index of its value in combination `point`; -1 when it
  // is not part of it.
  std::vector<int64_t> IndicesAt(int64_t point, const SearchSpace& space) const;

 private:
  struct Block {
    int64_t first = 0;             // The number of its first combination.
    std::vector<int64_t> leading;  // Indices of the leading parameters; -1: it does not exist.
  };

  static Result<Grid> Of(const SearchSpace& space, bool grid_search_only);
  Status SetCounts(const SearchSpace& space, bool grid_search_only);
  void FindLeading(const SearchSpace& space);
  Status AddBlocks(const SearchSpace& space);
  // Of the other parameters, those that exist in a block.
  std::vector<size_t> FollowingIn(const Block& block, const SearchSpace& space) const;

  std::vector<int64_t> counts_;    // Of each parameter's values; 0 when it is not part of the grid.
  std::vector<size_t> leading_;    // In choosing order.
  std::vector<size_t> following_;  // Likewise.
  std::vector<Block> blocks_;
  int64_t size_ = 0;
};

// For algorithms that do not repeat a grid: an error at the first grid_search domain, if any.
Status RefuseGridSearch(const SearchSpace& space, std::string_view algorithm);

}  // namespace tune
