#include "search/grid.h"

#include <string>

#include "core/check.h"
#include "core/input_error.h"
#include "core/limits.h"

namespace tune {

Result<Grid> Grid::OfAll(const SearchSpace& space) { return Of(space, false); }
Result<Grid> Grid::OfGridSearch(const SearchSpace& space) { return Of(space, true); }

Result<Grid> Grid::Of(const SearchSpace& space, bool grid_search_only) {
  const auto& parameters = space.parameters();
  Grid grid;
  grid.strides_.assign(parameters.size(), 0);
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto* const domain = std::get_if<Domain>(&parameters[i].content);
    if (domain == nullptr) continue;
    if (grid_search_only && domain->kind() != Domain::Kind::kGridSearch) continue;
    const std::optional<uint64_t> count = domain->Count();
    if (!count) {
      return InvalidAt(parameters[i].place,
                       "'" + parameters[i].name + "' is " + std::string(domain->name()) +
                           ", which has no end of values; a grid needs choice, "
                           "ordinal, integers or a quantised domain");
    }
    if (*count > static_cast<uint64_t>(limits::kGridPointsMax / grid.size_)) {
      return InvalidAt(parameters[i].place, "the grid has more than " +
                                                std::to_string(limits::kGridPointsMax) +
                                                " combinations; narrow '" + parameters[i].name +
                                                "' or use another search");
    }
    grid.strides_[i] = grid.size_;
    grid.size_ *= static_cast<int64_t>(*count);
  }
  return grid;
}

Configuration Grid::ConfigurationAt(int64_t point, const SearchSpace& space) const {
  Configuration configuration;
  const auto& parameters = space.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* const constant = std::get_if<Value>(&parameters[i].content);
    configuration.Set(parameters[i].name, constant != nullptr ? *constant : *At(point, space, i));
  }
  return configuration;
}

std::optional<Value> Grid::At(int64_t point, const SearchSpace& space, size_t parameter) const {
  TUNE_CHECK(point >= 0 && point < size_);
  const int64_t stride = strides_[parameter];
  if (stride == 0) return std::nullopt;
  const Domain& domain = std::get<Domain>(space.parameters()[parameter].content);
  return domain.At(static_cast<uint64_t>(point / stride) % *domain.Count());
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
