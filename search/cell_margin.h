// Keeps a normal distribution over the cells of a discrete parameter from getting stuck in one of
// them: "CMA-ES with Margin", Hamano, Saito, Nomura, Shirakawa, GECCO 2022 (arXiv:2205.13482),
// section 4.
//
// Thread rule: a pure function.
#pragma once

#include "search/domain.h"

namespace tune {

struct CellMargin {
  double mean = 0;
  double deviation = 0;
};

// The nearest distribution that leaves the mean's cell with a probability of at least `margin`, on
// either side with half of it where there are neighbours on both. A cell that begins at 0 (ends at
// 1) has no neighbour below (above). Requires deviation > 0 and 0 < margin < 1/2.
CellMargin WithMargin(double mean, double deviation, UnitCell cell, double margin);

}  // namespace tune
