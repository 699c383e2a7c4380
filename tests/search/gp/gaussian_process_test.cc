#include "search/gp/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"
#include "search/gp/gp_fit.h"
#include "search/gp/quasi_newton.h"
#include "search/gp/surrogate.h"

namespace tune {
namespace {

using Eigen::VectorXd;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Points RandomPoints(int rows, int columns, uint64_t seed) {
  KeyedRandom random(seed, "points");
  Points points(rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int d = 0; d < columns; ++d) points(i, d) = random.NextDouble();
  }
  return points;
}

VectorXd Waves(const Points& points) {
  VectorXd values(points.rows());
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    values[i] = std::sin(5 * points(i, 0)) + points(i, 1) * points(i, 1);
  }
  return values;
}

GpParameters Parameters(int dimensions, double weight, double noise) {
  return {VectorXd::Constant(dimensions, weight), 1.5, noise};
}

// One point: k = variance * matern(0.5) with r^2 = 4 * 0.5^2 = 1, matern = (1 + sqrt 5 + 5/3)
// exp(-sqrt 5) = 0.52399; mean = k / (variance + noise) * value, variance - k^2 / (variance +
// noise).
TEST(GaussianProcess, IsWhatTheFormulasSayForOnePoint) {
  const GaussianProcess process({false}, Parameters(1, 4, 0.5), Points::Constant(1, 1, 0.25),
                                VectorXd::Constant(1, 3));
  const auto at = process.Predict(Points::Constant(1, 1, 0.75));
  const double k = 1.5 * (1 + std::sqrt(5.0) + 5.0 / 3) * std::exp(-std::sqrt(5.0));
  EXPECT_NEAR(k / 1.5, 0.52399, 1e-5);
  EXPECT_NEAR(at.means[0], k / 2.0 * 3, 1e-12);
  EXPECT_NEAR(at.variances[0], 1.5 - k * k / 2.0, 1e-12);
}

TEST(GaussianProcess, GoesThroughItsPointsAndBackToThePriorFarAway) {
  const Points points = RandomPoints(20, 2, 1);
  const VectorXd values = Waves(points);
  const GaussianProcess process({false, false}, Parameters(2, 3, 1e-8), points, values);
  const auto near = process.Predict(points);
  for (Eigen::Index i = 0; i < 20; ++i) {
    EXPECT_NEAR(near.means[i], values[i], 1e-4);
    EXPECT_LT(near.variances[i], 1e-4);
  }
  const auto far = process.Predict(Points::Constant(1, 2, 50));
  EXPECT_NEAR(far.means[0], 0, 1e-9);
  EXPECT_NEAR(far.variances[0], 1.5, 1e-9);
}

TEST(GaussianProcess, ComparesCategoriesAlone) {
  Points points(2, 1);
  points << 0.1, 0.9;
  VectorXd values(2);
  values << 1, -1;
  const GaussianProcess process({true}, Parameters(1, 1, 1e-6), points, values);
  Points others(3, 1);
  others << 0.1, 0.5, 0.11;
  const auto means = process.Means(others);
  EXPECT_NEAR(means[0], 1, 1e-4);
  EXPECT_NEAR(means[1], 0, 1e-9);  // As far from one as from the other,
  EXPECT_EQ(means[1], means[2]);   // however near the number is.
}

TEST(GaussianProcess, AMissingValueTakesTheVarianceAwayAndLeavesTheMean) {
  const Points points = RandomPoints(9, 2, 2);
  const Points elsewhere = RandomPoints(30, 2, 3);
  VectorXd values = Waves(points);
  const GaussianProcess without({false, false}, Parameters(2, 3, 1e-3), points.topRows(6),
                                values.head(6));
  values.tail(3).setConstant(kNaN);
  const GaussianProcess with({false, false}, Parameters(2, 3, 1e-3), points, values);
  const auto before = without.Predict(elsewhere);
  const auto after = with.Predict(elsewhere);
  for (Eigen::Index i = 0; i < 30; ++i) {
    EXPECT_NEAR(after.means[i], before.means[i], 1e-9);
    EXPECT_LT(after.variances[i], before.variances[i]);
  }
  EXPECT_LT(with.Predict(points).variances[8], 2e-3);
}

TEST(GaussianProcess, ManyTimesTheSamePointWithoutNoiseIsNoTrouble) {
  const GaussianProcess process({false}, Parameters(1, 1, 0), Points::Constant(30, 1, 0.5),
                                VectorXd::Constant(30, 2));
  EXPECT_NEAR(process.Means(Points::Constant(1, 1, 0.5))[0], 2, 1e-3);
}

// Central differences of a prediction against its slopes; the second dimension is a category.
template <typename Model>
void ExpectSlopes(const Model& model) {
  constexpr double kStep = 1e-6;
  VectorXd point(3);
  point << 0.31, 0.2, 0.77;
  const auto slopes = model.PredictWithSlopes(point);
  const auto at = model.Predict(point.transpose());
  EXPECT_NEAR(slopes.mean, at.means[0], 1e-12);
  EXPECT_NEAR(slopes.variance, at.variances[0], 1e-12);
  for (const Eigen::Index d : {0, 2}) {
    Points both(2, 3);
    both << point.transpose(), point.transpose();
    both(0, d) += kStep;
    both(1, d) -= kStep;
    const auto ends = model.Predict(both);
    EXPECT_NEAR(slopes.mean_by_point[d], (ends.means[0] - ends.means[1]) / (2 * kStep), 1e-6);
    EXPECT_NEAR(slopes.variance_by_point[d], (ends.variances[0] - ends.variances[1]) / (2 * kStep),
                1e-6);
  }
  EXPECT_EQ(slopes.mean_by_point[1], 0);
  EXPECT_EQ(slopes.variance_by_point[1], 0);
}

TEST(GaussianProcess, ItsSlopesAreThoseOfFiniteDifferences) {
  Points points = RandomPoints(12, 3, 4);
  points.col(1) = (points.col(1).array() < 0.5).select(VectorXd::Constant(12, 0.2), 0.6);
  const CategoryFlags flags = {false, true, false};
  const GaussianProcess process(flags, Parameters(3, 2, 1e-3), points, Waves(points));
  ExpectSlopes(process);
  const GaussianProcess above(flags, Parameters(3, 5, 1e-2), points.topRows(5),
                              Waves(points).head(5));
  ExpectSlopes(Surrogate({{0, 0, 1, process}, {0.8, -0.3, 0.4, above}}));
}

// f_1 = 0.5 f_0 - 1 + 2 g: mean 0.5 * 3 - 1 + 2 * 0.25 at the points of both.
// Near a point 1 - k / variance is 5/6 r^2 (weight 1), so that with variance 1.5 differences are
// greater than noise 0.01 from r = 0.089 on; a noise above a tenth of the variance counts as that.
TEST(Surrogate, PointsAreApartWhereTheyMayDifferByMoreThanTheNoise) {
  const Points seen = Points::Constant(1, 1, 0.0);
  const auto are_apart = [&](double noise, double gap) {
    const GaussianProcess process({false}, Parameters(1, 1, noise), seen, VectorXd::Zero(1));
    const Surrogate surrogate({{0, 0, 1, process}});
    return surrogate.AreApart(Points::Constant(1, 1, 0.5 + gap), VectorXd::Constant(1, 0.5))[0];
  };
  EXPECT_FALSE(are_apart(1e-9, 0));
  EXPECT_TRUE(are_apart(1e-9, 1e-3));
  EXPECT_FALSE(are_apart(0.01, 0.08));
  EXPECT_TRUE(are_apart(0.01, 0.1));
  EXPECT_FALSE(are_apart(10, 0.3));
  EXPECT_TRUE(are_apart(10, 0.5));
}

TEST(Surrogate, AddsUpItsLevels) {
  const Points point = Points::Constant(1, 1, 0.5);
  const GaussianProcess below({false}, Parameters(1, 1, 1e-9), point, VectorXd::Constant(1, 3));
  const GaussianProcess above({false}, Parameters(1, 1, 1e-9), point, VectorXd::Constant(1, 0.25));
  const Surrogate surrogate({{0, 0, 1, below}, {0.5, -1, 2, above}});
  EXPECT_NEAR(surrogate.Means(point)[0], 1, 1e-6);
  const auto far = surrogate.Predict(Points::Constant(1, 1, 90));
  EXPECT_NEAR(far.means[0], -1, 1e-9);
  EXPECT_NEAR(far.variances[0], 0.25 * 1.5 + 4 * 1.5, 1e-9);
}

TEST(GpFit, TheEvidencesGradientIsThatOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  Points points = RandomPoints(15, 3, 5);
  points.col(1) = (points.col(1).array() < 0.5).select(VectorXd::Constant(15, 0.2), 0.6);
  const VectorXd values = Waves(points);
  const GpEvidence evidence({false, true, false}, points, values);
  VectorXd logs(5);
  logs << 0.4, -1.0, 1.2, 0.3, -4.0;
  VectorXd gradient(5);
  VectorXd unused(5);
  evidence(logs, gradient);
  for (Eigen::Index i = 0; i < 5; ++i) {
    VectorXd up = logs;
    VectorXd down = logs;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = (evidence(up, unused) - evidence(down, unused)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 1e-5 * (1 + std::abs(slope))) << i;
  }
}

TEST(GpFit, FindsWhatDoesNotMatterAndHowMuchIsNoise) {
  const Points points = RandomPoints(60, 3, 6);
  VectorXd values = Waves(points);
  const GpParameters exact = FitGpParameters({false, false, false}, points, values, true);
  EXPECT_LT(exact.weights[2], 0.05 * exact.weights[0]);  // The third dimension.
  EXPECT_LT(exact.noise, 1e-4);
  KeyedRandom random(7, "noise");
  for (double& value : values) value += 0.3 * random.NextNormal();
  const GpParameters noisy = FitGpParameters({false, false, false}, points, values, true);
  EXPECT_GT(noisy.noise, 0.03);  // 0.09 in truth.
  EXPECT_LT(noisy.noise, 0.2);
  EXPECT_LT(FitGpParameters({false, false, false}, points, values, false).noise, 1e-6);
}

TEST(QuasiNewton, EndsInTheCornerOfABoxAndInAValley) {
  // Rosenbrock's valley; its minimum at (1, 1) is in the second box alone.
  const auto valley = [](const VectorXd& x, VectorXd& gradient) {
    const double a = 1 - x[0];
    const double b = x[1] - x[0] * x[0];
    gradient.resize(2);
    gradient << -2 * a - 400 * x[0] * b, 200 * b;
    return a * a + 100 * b * b;
  };
  const QuasiNewtonOptions options = {
      .iterations_max = 200, .gradient_tolerance = 1e-9, .decrease_tolerance = 0};
  VectorXd x(2);
  x << -1, -0.5;
  MinimizeInBox(VectorXd::Constant(2, -1), VectorXd::Constant(2, 0.5), options, valley, x);
  EXPECT_NEAR(x[0], 0.5, 1e-9);
  EXPECT_NEAR(x[1], 0.25, 1e-6);
  x << -1.2, 1;
  EXPECT_LT(MinimizeInBox(VectorXd::Constant(2, -2), VectorXd::Constant(2, 2), options, valley, x),
            1e-9);
  EXPECT_NEAR(x[0], 1, 1e-4);
  // A coordinate whose bounds are equal stays where it is.
  VectorXd lower(2);
  VectorXd upper(2);
  lower << -2, 0.49;
  upper << 2, 0.49;
  x << 0, 0.49;
  MinimizeInBox(lower, upper, options, valley, x);
  EXPECT_EQ(x[1], 0.49);
  EXPECT_NEAR(x[0], 0.7, 0.01);
}

}  // namespace
}  // namespace tune
