// Goes through the combinations of some of a space's parameters: each one that conditions let exist
// has each of its values, the last in the choosing order changing fastest. A parameter that does
// not exist makes no combinations of its own, so that no two are the same.
//
// Thread rule: one thread; the space must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/configuration.h"
#include "search/space.h"

namespace tune {

class CombinationWalk {
 public:
  // `parameters`: indices of constants, of those given, and of domains that can be counted. A
  // condition on one that is not among them counts as held.
  CombinationWalk(const SearchSpace& space, const std::vector<size_t>& parameters,
                  GivenValues given = {});
  // Whether it can be walked through: all can be counted or are given.
  static bool IsPossible(const SearchSpace& space, const std::vector<size_t>& parameters,
                         const GivenValues& given = {});

  // To the first combination, then to the next; whether there is one.
  bool Next();

  // Of each parameter in places(), the index of its value; -1: it does not exist. A constant or
  // given one has index 0.
  const std::vector<int64_t>& indices() const { return indices_; }
  // The parameters in choosing order.
  const std::vector<size_t>& places() const { return places_; }
  // Of each parameter of the space, its value where it is walked through and exists.
  const std::vector<std::optional<Value>>& values() const { return values_; }
  Configuration ToConfiguration() const;

 private:
  bool IsActive(size_t parameter) const;
  void SetIndex(size_t place, int64_t index);
  // From `place` on, each at its first value.
  void Begin(size_t place);

  const SearchSpace& space_;
  GivenValues given_;
  std::vector<size_t> places_;
  std::vector<int64_t> counts_;
  std::vector<int64_t> indices_;
  std::vector<bool> is_walked_;               // Each parameter of the space.
  std::vector<std::optional<Value>> values_;  // Likewise.
  bool has_begun_ = false;
};

}  // namespace tune
