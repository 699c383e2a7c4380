#include "search/parzen_axes.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

// With more values than this an ordered domain is a line: sums over its cells would cost more, and
// tell nothing that the density in their middle does not.
constexpr uint64_t kStepsMax = 64;

}  // namespace

ParzenAxes::ParzenAxes(UnitSpace space) : space_(std::move(space)) {
  for (size_t d = 0; d < space_.size(); ++d) axes_.push_back(AxisOf(space_.domain(d)));
}

ParzenAxes::Axis ParzenAxes::AxisOf(const Domain& domain) {
  Axis axis;
  const std::optional<uint64_t> count = domain.Count();
  axis.is_discrete = domain.is_discrete();
  if (!domain.is_ordered()) {
    axis.kind = Kind::kChoice;
  } else if (count && *count <= kStepsMax) {
    axis.kind = Kind::kSteps;
  }
  if (axis.kind != Kind::kLine) {
    for (uint64_t i = 0; i < *count; ++i) axis.cells.push_back(domain.CellAt(i));
  } else if (count) {
    // On a log scale the first cell is the widest.
    const UnitCell first = domain.CellAt(0);
    axis.resolution = (first.hi - first.lo) / 2;
  }
  return axis;
}

int32_t ParzenAxes::CellAt(size_t dimension, double x) const {
  const std::vector<UnitCell>& cells = axes_[dimension].cells;
  const auto above = std::upper_bound(cells.begin(), cells.end() - 1, x,
                                      [](double u, const UnitCell& cell) { return u < cell.hi; });
  return static_cast<int32_t>(above - cells.begin());
}

ParzenPoint ParzenAxes::PointOf(const UnitCells& cells) const {
  TUNE_CHECK(cells.size() == size());
  ParzenPoint point(size());
  for (size_t d = 0; d < size(); ++d) {
    if (!cells[d]) continue;
    point[d].x = cells[d]->mid();
    if (axes_[d].kind != Kind::kLine) point[d].cell = CellAt(d, point[d].x);
  }
  return point;
}

void ParzenAxes::Snap(size_t dimension, ParzenPlace& place) const {
  const Axis& axis = axes_[dimension];
  if (axis.kind != Kind::kLine) {
    place.cell = CellAt(dimension, place.x);
    place.x = axis.cells[static_cast<size_t>(place.cell)].mid();
  } else if (axis.is_discrete) {
    const Domain& domain = space_.domain(dimension);
    place.x = domain.ToUnit(domain.FromUnit(place.x))->mid();
  }
}

void ParzenAxes::DropInactive(ParzenPoint& point) const {
  std::vector<double> x;
  for (const ParzenPlace& place : point) x.push_back(place.x);
  const std::optional<UnitCells> cells = space_.CellsOf(space_.At(x));
  TUNE_CHECK(cells.has_value());
  for (size_t d = 0; d < size(); ++d) {
    if (!(*cells)[d]) point[d] = ParzenPlace();
  }
}

}  // namespace tune
