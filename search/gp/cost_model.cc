#include "search/gp/cost_model.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "search/gp/gp_fit.h"

namespace tune {
namespace {

using Eigen::ArrayXd;
using Eigen::VectorXd;

constexpr double kLeastDeviation = 1e-3;  // All as long: the process is flat.

GaussianProcess Fitted(const CategoryFlags& is_category, const Points& points,
                       const VectorXd& values) {
  return {is_category, FitGpParameters(is_category, points, values, /*is_noisy=*/true), points,
          values};
}

double DeviationOf(const ArrayXd& values) {
  return std::max(kLeastDeviation, std::sqrt((values - values.mean()).square().mean()));
}

}  // namespace

CostModel::CostModel(const CategoryFlags& is_category, const Points& points,
                     const VectorXd& seconds)
    : mean_(seconds.array().log().mean()),
      deviation_(DeviationOf(seconds.array().log())),
      process_(Fitted(is_category, points, (seconds.array().log() - mean_) / deviation_)) {
  TUNE_CHECK((seconds.array() > 0).all());
}

ArrayXd CostModel::LogSeconds(const Points& points) const {
  return mean_ + deviation_ * process_.Means(points);
}

double CostModel::LogSecondsWithSlope(const VectorXd& point, VectorXd& slope) const {
  const auto at = process_.PredictWithSlopes(point);
  slope = deviation_ * at.mean_by_point;
  return mean_ + deviation_ * at.mean;
}

double PerSecond::ValueWithSlope(const VectorXd& point, VectorXd& slope) const {
  const double promised = promise_->ValueWithSlope(point, slope);
  VectorXd cost_slope;
  const double cost = cost_.LogSecondsWithSlope(point, cost_slope);
  slope -= cost_slope;
  return promised - cost;
}

}  // namespace tune
