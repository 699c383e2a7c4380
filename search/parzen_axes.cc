#include "search/parzen_axes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

// With more values than this an ordered domain is a line: sums over its cells would cost more, and
// tell nothing that the density in their middle does not.
constexpr uint64_t kStepsMax = 64;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

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
    for (uint64_t i = 0; i < *count; ++i) axis.cells.push_back(*domain.ToUnit(domain.At(i)));
  } else if (count) {
    // On a log scale the first cell is the widest.
    const UnitCell first = *domain.ToUnit(domain.At(0));
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
  ParzenPoint point{std::vector<double>(size(), kMissing), std::vector<int32_t>(size(), -1)};
  for (size_t d = 0; d < size(); ++d) {
    if (!cells[d]) continue;
    point.x[d] = cells[d]->mid();
    if (axes_[d].kind != Kind::kLine) point.cell[d] = CellAt(d, point.x[d]);
  }
  return point;
}

void ParzenAxes::Snap(size_t dimension, ParzenPoint& point) const {
  const Axis& axis = axes_[dimension];
  double& x = point.x[dimension];
  if (axis.kind != Kind::kLine) {
    point.cell[dimension] = CellAt(dimension, x);
    x = axis.cells[static_cast<size_t>(point.cell[dimension])].mid();
  } else if (axis.is_discrete) {
    const Domain& domain = space_.domain(dimension);
    x = domain.ToUnit(domain.FromUnit(x))->mid();
  }
}

void ParzenAxes::DropInactive(ParzenPoint& point) const {
  const std::optional<UnitCells> cells = space_.CellsOf(space_.At(point.x));
  TUNE_CHECK(cells.has_value());
  for (size_t d = 0; d < size(); ++d) {
    if ((*cells)[d]) continue;
    point.x[d] = kMissing;
    point.cell[d] = -1;
  }
}

}  // namespace tune
