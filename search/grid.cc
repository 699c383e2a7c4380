#include "search/grid.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "core/input_error.h"
#include "core/limits.h"
#include "search/combination_walk.h"

namespace tune {
namespace {

Status TooManyPoints(const SpaceParameter& parameter) {
  return InvalidAt(parameter.place,
                   "the grid has more than " + std::to_string(limits::kGridPointsMax) +
                       " combinations; narrow '" + parameter.name + "' or use another search");
}

}  // namespace

Result<Grid> Grid::OfAll(const SearchSpace& space) { return Of(space, false); }
Result<Grid> Grid::OfGridSearch(const SearchSpace& space) { return Of(space, true); }

Result<Grid> Grid::Of(const SearchSpace& space, bool grid_search_only) {
  Grid grid;
  TUNE_RETURN_IF_ERROR(grid.SetCounts(space, grid_search_only));
  grid.FindLeading(space);
  TUNE_RETURN_IF_ERROR(grid.AddBlocks(space));
  return grid;
}

Status Grid::SetCounts(const SearchSpace& space, bool grid_search_only) {
  const auto& parameters = space.parameters();
  counts_.assign(parameters.size(), 0);
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto* const domain = std::get_if<Domain>(&parameters[i].content);
    if (domain == nullptr) continue;
    if (grid_search_only && domain->kind() != Domain::Kind::kGridSearch) continue;
    const std::optional<uint64_t> count = domain->Count();
    if (!count) {
      return InvalidAt(parameters[i].place,
                       "'" + parameters[i].name + "' is " + std::string(domain->name()) +
                           ", which has endlessly many values; a grid needs choice, "
                           "ordinal, integers or a quantised domain");
    }
    if (*count > static_cast<uint64_t>(limits::kGridPointsMax)) return TooManyPoints(parameters[i]);
    counts_[i] = static_cast<int64_t>(*count);
  }
  return OkStatus();
}

// What conditions and constraints look at, as far as it is known: part of the grid, or a constant.
void Grid::FindLeading(const SearchSpace& space) {
  const auto& parameters = space.parameters();
  const auto is_known = [&](size_t i) {
    return counts_[i] > 0 || std::holds_alternative<Value>(parameters[i].content);
  };
  std::vector<bool> leads(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_known(i)) continue;
    for (const Condition& condition : parameters[i].conditions) {
      if (is_known(condition.parent)) leads[condition.parent] = true;
    }
  }
  for (const Constraint& constraint : space.constraints()) {
    const auto& named = constraint.parameters();
    if (!std::all_of(named.begin(), named.end(), is_known)) continue;
    for (const size_t i : named) leads[i] = true;
  }
  for (const size_t i : space.choosing_order()) {
    if (leads[i]) {
      leading_.push_back(i);
    } else if (counts_[i] > 0) {
      following_.push_back(i);
    }
  }
}

Status Grid::AddBlocks(const SearchSpace& space) {
  CombinationWalk walk(space, leading_);
  for (int64_t seen = 0; walk.Next(); ++seen) {
    if (seen == limits::kLeadingCombinationsMax) {
      return InvalidAt(space.parameters()[leading_.back()].place,
                       "the grid has more than " + std::to_string(seen) +
                           " combinations of the parameters that conditions and constraints look "
                           "at; narrow '" +
                           space.parameters()[leading_.back()].name + "' or use another search");
    }
    if (!space.Allows(walk.ToConfiguration())) continue;
    Block block{size_, walk.indices()};
    const std::vector<size_t> following = FollowingIn(block, space);
    int64_t points = 1;
    for (size_t i = following.size(); i-- > 0;) {
      const int64_t count = counts_[following[i]];
      if (count > (limits::kGridPointsMax - size_) / points) {
        return TooManyPoints(space.parameters()[following[i]]);
      }
      points *= count;
    }
    if (points > limits::kGridPointsMax - size_) {
      return TooManyPoints(space.parameters()[leading_.back()]);
    }
    size_ += points;
    blocks_.push_back(std::move(block));
  }
  return OkStatus();
}

bool Grid::is_trivial() const {
  return std::none_of(counts_.begin(), counts_.end(), [](int64_t count) { return count > 0; });
}

std::vector<size_t> Grid::FollowingIn(const Block& block, const SearchSpace& space) const {
  if (leading_.empty()) return following_;
  const auto holds = [&](const Condition& condition) {
    const auto found = std::find(leading_.begin(), leading_.end(), condition.parent);
    if (found == leading_.end()) return true;
    const int64_t index = block.leading[static_cast<size_t>(found - leading_.begin())];
    if (index < 0) return false;
    const auto& content = space.parameters()[condition.parent].content;
    const auto* const constant = std::get_if<Value>(&content);
    return condition.Holds(constant != nullptr
                               ? *constant
                               : std::get<Domain>(content).At(static_cast<uint64_t>(index)));
  };
  std::vector<size_t> following;
  for (const size_t i : following_) {
    const auto& conditions = space.parameters()[i].conditions;
    if (std::all_of(conditions.begin(), conditions.end(), holds)) following.push_back(i);
  }
  return following;
}

std::vector<int64_t> Grid::IndicesAt(int64_t point, const SearchSpace& space) const {
  TUNE_CHECK(point >= 0 && point < size_);
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), point,
                       [](int64_t p, const Block& block) { return p < block.first; });
  const Block& block = *(after - 1);
  std::vector<int64_t> indices(counts_.size(), -1);
  for (size_t i = 0; i < leading_.size(); ++i) {
    if (counts_[leading_[i]] > 0) indices[leading_[i]] = block.leading[i];
  }
  int64_t rest = point - block.first;
  const std::vector<size_t> following = FollowingIn(block, space);
  for (size_t i = following.size(); i-- > 0;) {
    indices[following[i]] = rest % counts_[following[i]];
    rest /= counts_[following[i]];
  }
  return indices;
}

Configuration Grid::ConfigurationAt(int64_t point, const SearchSpace& space) const {
  const std::vector<int64_t> indices = IndicesAt(point, space);
  return space.Assemble([&](size_t parameter) {
    const Domain& domain = std::get<Domain>(space.parameters()[parameter].content);
    return domain.At(static_cast<uint64_t>(indices[parameter]));
  });
}

Status RefuseGridSearch(const SearchSpace& space, std::string_view algorithm) {
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain == nullptr || domain->kind() != Domain::Kind::kGridSearch) continue;
    return InvalidAt(parameter.place, "'" + parameter.name + "' is grid_search, which " +
                                          std::string(algorithm) +
                                          " does not repeat; write choice, or search by random");
  }
  return OkStatus();
}

}  // namespace tune
