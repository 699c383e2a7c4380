#include "search/gp/expected_losses.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check.h"
#include "search/gp/acquisition_search.h"
#include "search/gp/gp_model.h"
#include "search/gp/level_table.h"
#include "search/unit_space.h"

namespace tune {

using Eigen::Index;

std::vector<ExpectedLoss> ExpectedLosses(const SearchSpace& space,
                                         const std::vector<Configuration>& configurations,
                                         const std::vector<double>& losses) {
  TUNE_CHECK(configurations.size() >= kExpectedLossesMin && configurations.size() == losses.size());
  const UnitSpace unit(space);
  TUNE_CHECK(unit.size() > 0);
  const AcquisitionSearch acquisition(unit);
  Points points(static_cast<Index>(configurations.size()), static_cast<Index>(unit.size()));
  LevelTable table;
  table.losses.emplace_back();
  for (size_t i = 0; i < configurations.size(); ++i) {
    const std::optional<UnitCells> cells = unit.CellsOf(configurations[i]);
    TUNE_CHECK(cells && std::isfinite(losses[i]));
    points.row(static_cast<Index>(i)) = acquisition.PointOf(*cells);
    table.losses.front().emplace_back(losses[i]);
  }
  const GpModel model(acquisition.is_category(), points, table);
  const auto [means, variances] = model.Look(points, table).surrogate.Predict(points);
  std::vector<ExpectedLoss> expected;
  for (Index i = 0; i < means.size(); ++i) {
    const double deviation = std::sqrt(std::max(variances[i], 0.0));
    expected.push_back({model.LossOf(means[i]), model.LossOf(means[i] - deviation),
                        model.LossOf(means[i] + deviation)});
  }
  return expected;
}

}  // namespace tune
