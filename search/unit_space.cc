#include "search/unit_space.h"

#include <utility>

#include "core/check.h"

namespace tune {

UnitSpace::UnitSpace(SearchSpace space) : space_(std::move(space)) {
  const auto& parameters = space_.parameters();
  dimensions_.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!std::holds_alternative<Domain>(parameters[i].content)) continue;
    dimensions_[i] = parameters_.size();
    parameters_.push_back(i);
  }
}

const Domain& UnitSpace::domain(size_t dimension) const {
  return std::get<Domain>(space_.parameters()[parameters_[dimension]].content);
}

const std::string& UnitSpace::name(size_t dimension) const {
  return space_.parameters()[parameters_[dimension]].name;
}

Configuration UnitSpace::At(std::span<const double> point) const {
  TUNE_CHECK(point.size() == size());
  return space_.Assemble([&](size_t parameter) {
    const size_t dimension = dimensions_[parameter];
    return domain(dimension).FromUnit(point[dimension]);
  });
}

std::optional<UnitCells> UnitSpace::CellsOf(const Configuration& configuration) const {
  UnitCells cells(size());
  for (size_t d = 0; d < size(); ++d) {
    const Value* const value = configuration.Find(space_.parameters()[parameters_[d]].name);
    if (value == nullptr) continue;
    cells[d] = domain(d).ToUnit(*value);
    if (!cells[d]) return std::nullopt;
  }
  return cells;
}

}  // namespace tune
