#include "search/combination_walk.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {

namespace {

// Nothing: it has no end of values.
std::optional<uint64_t> CountOf(const SearchSpace& space, size_t parameter,
                                const GivenValues& given) {
  if (!given.empty() && given[parameter]) return 1;
  const auto* const domain = std::get_if<Domain>(&space.parameters()[parameter].content);
  return domain == nullptr ? 1 : domain->Count();
}

}  // namespace

bool CombinationWalk::IsPossible(const SearchSpace& space, const std::vector<size_t>& parameters,
                                 const GivenValues& given) {
  return std::all_of(parameters.begin(), parameters.end(),
                     [&](size_t i) { return CountOf(space, i, given).has_value(); });
}

CombinationWalk::CombinationWalk(const SearchSpace& space, const std::vector<size_t>& parameters,
                                 GivenValues given)
    : space_(space),
      given_(std::move(given)),
      is_walked_(space.parameters().size()),
      values_(space.parameters().size()) {
  for (const size_t parameter : parameters) is_walked_[parameter] = true;
  for (const size_t parameter : space.choosing_order()) {
    if (!is_walked_[parameter]) continue;
    const std::optional<uint64_t> count = CountOf(space, parameter, given_);
    TUNE_CHECK(count.has_value());
    places_.push_back(parameter);
    counts_.push_back(static_cast<int64_t>(*count));
  }
  indices_.resize(places_.size());
}

bool CombinationWalk::IsActive(size_t parameter) const {
  const auto& conditions = space_.parameters()[parameter].conditions;
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    if (!is_walked_[condition.parent]) return true;
    const std::optional<Value>& value = values_[condition.parent];
    return value.has_value() && condition.Holds(*value);
  });
}

void CombinationWalk::SetIndex(size_t place, int64_t index) {
  const size_t parameter = places_[place];
  const auto& content = space_.parameters()[parameter].content;
  indices_[place] = index;
  if (index < 0) {
    values_[parameter].reset();
  } else if (!given_.empty() && given_[parameter]) {
    values_[parameter] = given_[parameter];
  } else if (const auto* const constant = std::get_if<Value>(&content)) {
    values_[parameter] = *constant;
  } else {
    values_[parameter] = std::get<Domain>(content).At(static_cast<uint64_t>(index));
  }
}

void CombinationWalk::Begin(size_t place) {
  for (; place < places_.size(); ++place) SetIndex(place, IsActive(places_[place]) ? 0 : -1);
}

bool CombinationWalk::Next() {
  if (!has_begun_) {
    has_begun_ = true;
    Begin(0);
    return true;
  }
  for (size_t place = places_.size(); place-- > 0;) {
    if (indices_[place] < 0 || indices_[place] + 1 == counts_[place]) continue;
    SetIndex(place, indices_[place] + 1);
    Begin(place + 1);
    return true;
  }
  return false;
}

Configuration CombinationWalk::ToConfiguration() const {
  Configuration configuration;
  for (const size_t parameter : places_) {
    if (values_[parameter]) {
      configuration.Set(space_.parameters()[parameter].name, *values_[parameter]);
    }
  }
  return configuration;
}

}  // namespace tune
