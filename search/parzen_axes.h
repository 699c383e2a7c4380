// The unit cube as Parzen estimators see it: each dimension a line, or a row of cells.
//
// Thread rule: immutable.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/configuration.h"
#include "search/unit_space.h"

namespace tune {

// Where a configuration lies on one axis.
struct ParzenPlace {
  // In [0, 1], the middle of a cell; NaN where the parameter does not exist.
  double x = std::numeric_limits<double>::quiet_NaN();
  // The number of its cell; -1 on a line, and where the parameter does not exist.
  int32_t cell = -1;

  bool is_missing() const { return std::isnan(x); }
};

using ParzenPoint = std::vector<ParzenPlace>;  // One for each axis.

class ParzenAxes {
 public:
  enum class Kind {
    kLine,    // Continuous, or of so many values that it may as well be.
    kSteps,   // Cells of which neighbours are alike.
    kChoice,  // Cells in no order.
  };

  explicit ParzenAxes(UnitSpace space);

  const UnitSpace& space() const { return space_; }
  size_t size() const { return axes_.size(); }
  Kind kind(size_t dimension) const { return axes_[dimension].kind; }
  // Of an axis with cells; they go from 0 to 1 without gaps.
  const std::vector<UnitCell>& cells(size_t dimension) const { return axes_[dimension].cells; }
  // What is narrower than this on a line cannot be told apart.
  double resolution(size_t dimension) const { return axes_[dimension].resolution; }

  ParzenPoint PointOf(const UnitCells& cells) const;
  // Moves x in [0, 1] to the value of the domain that it stands for.
  void Snap(size_t dimension, ParzenPlace& place) const;
  // Takes away what does not exist in the configuration at this point. Requires a whole one.
  void DropInactive(ParzenPoint& point) const;

 private:
  struct Axis {
    Kind kind = Kind::kLine;
    std::vector<UnitCell> cells;
    double resolution = 0;
    bool is_discrete = false;
  };

  static Axis AxisOf(const Domain& domain);
  int32_t CellAt(size_t dimension, double x) const;

  UnitSpace space_;
  std::vector<Axis> axes_;
};

}  // namespace tune
