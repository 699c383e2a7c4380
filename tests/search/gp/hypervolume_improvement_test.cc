#include "search/gp/hypervolume_improvement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace tune {
namespace {

using Eigen::VectorXd;

std::vector<LossPoint> DrawPoints(size_t count, size_t objectives, uint64_t key) {
  KeyedRandom random(7, "points", key);
  std::vector<LossPoint> points(count, LossPoint(objectives));
  for (LossPoint& point : points) {
    for (double& loss : point) loss = random.NextDouble();
  }
  return points;
}

bool IsIn(const OpenBox& box, const LossPoint& point) {
  for (size_t k = 0; k < point.size(); ++k) {
    if (!(box.lower[k] < point[k] && point[k] < box.upper[k])) return false;
  }
  return true;
}

TEST(NonDominatedBoxes, EachPointIsInOneBoxUnlessTheFrontDominatesIt) {
  for (size_t objectives = 1; objectives <= 4; ++objectives) {
    for (uint64_t key = 0; key < 6; ++key) {
      const auto front = DrawPoints(3 * key, objectives, key);
      // Some of the front are beyond it in one objective.
      const auto boxes = NonDominatedBoxes(front, LossPoint(objectives, 0.9));
      for (const LossPoint& point : DrawPoints(200, objectives, 100 + key)) {
        const bool is_open =
            *std::max_element(point.begin(), point.end()) < 0.9 &&
            std::none_of(front.begin(), front.end(), [&](const LossPoint& p) {
              return *std::max_element(p.begin(), p.end()) < 0.9 && Dominates(p, point);
            });
        const auto holding = std::count_if(boxes.begin(), boxes.end(),
                                           [&](const OpenBox& box) { return IsIn(box, point); });
        EXPECT_EQ(holding, is_open ? 1 : 0) << objectives << " objectives, key " << key;
      }
    }
  }
}

TEST(NonDominatedBoxes, AreFewerThanTwiceThePointsOfTwoObjectives) {
  std::vector<LossPoint> front;
  for (int i = 0; i < 50; ++i) front.push_back({i / 50.0, 1 - i / 50.0});
  EXPECT_EQ(NonDominatedBoxes(front, {2, 2}).size(), 51u);
}

// What draws of the losses add to the volume, in the mean.
double DrawnImprovement(const std::vector<LossPoint>& front, const LossPoint& reference,
                        const VectorXd& means, const VectorXd& deviations, int draws) {
  KeyedRandom random(3, "draws");
  const double before = Hypervolume(front, reference);
  std::vector<LossPoint> with = front;
  with.emplace_back(reference.size());
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    for (size_t k = 0; k < reference.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      with.back()[k] = means[at] + deviations[at] * random.NextNormal();
    }
    sum += Hypervolume(with, reference) - before;
  }
  return sum / draws;
}

TEST(HypervolumeImprovement, IsTheMeanOfWhatDrawsAdd) {
  for (size_t objectives = 2; objectives <= 3; ++objectives) {
    for (uint64_t key = 0; key < 3; ++key) {
      const auto front = DrawPoints(8, objectives, key);
      const LossPoint reference(objectives, 1.2);
      const VectorXd means = VectorXd::LinSpaced(static_cast<Eigen::Index>(objectives), 0.2, 0.5);
      const VectorXd deviations =
          VectorXd::LinSpaced(static_cast<Eigen::Index>(objectives), 0.4, 0.2);
      const double exact =
          std::exp(HypervolumeImprovement(front, reference).Log(means, deviations));
      const double drawn = DrawnImprovement(front, reference, means, deviations, 20'000);
      EXPECT_NEAR(exact / drawn, 1, 0.05) << objectives << " objectives, key " << key;
    }
  }
}

// Of a loss that is as good as known the improvement is the volume that it adds.
TEST(HypervolumeImprovement, OfALossThatIsKnownIsWhatItAdds) {
  const std::vector<LossPoint> front = {{0.2, 0.6}, {0.5, 0.3}};
  const HypervolumeImprovement improvement(front, {1, 1});
  const VectorXd point = (VectorXd(2) << 0.3, 0.4).finished();
  EXPECT_NEAR(std::exp(improvement.Log(point, VectorXd::Constant(2, 1e-9))), 0.2 * 0.2, 1e-6);
}

TEST(HypervolumeImprovement, IsThatOfOneLossWhereThereIsOne) {
  const HypervolumeImprovement improvement(std::vector<LossPoint>{{2}, {0.5}}, {3});
  // E max(0.5 - Y, 0) of Y ~ N(0.5, 1).
  EXPECT_NEAR(improvement.Log(VectorXd::Constant(1, 0.5), VectorXd::Ones(1)),
              -0.5 * std::log(2 * M_PI), 1e-12);
}

TEST(HypervolumeImprovement, HasANumberAndASlopeFarBehindTheFront) {
  const HypervolumeImprovement improvement(DrawPoints(10, 3, 1), LossPoint(3, 1));
  VectorXd by_means;
  VectorXd by_deviations;
  const double value = improvement.LogWithSlopes(
      VectorXd::Constant(3, 50), VectorXd::Constant(3, 0.1), by_means, by_deviations);
  EXPECT_TRUE(std::isfinite(value));
  EXPECT_LT(by_means.maxCoeff(), -1);
  EXPECT_GT(by_deviations.minCoeff(), 1);
}

TEST(HypervolumeImprovement, ItsDerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const Eigen::Index objectives : {2, 3}) {
    const HypervolumeImprovement improvement(DrawPoints(12, static_cast<size_t>(objectives), 2),
                                             LossPoint(static_cast<size_t>(objectives), 1.1));
    for (const double mean : {-0.5, 0.4, 2.0}) {
      const VectorXd means = VectorXd::LinSpaced(objectives, mean, mean + 0.3);
      const VectorXd deviations = VectorXd::LinSpaced(objectives, 0.3, 0.2);
      VectorXd by_means;
      VectorXd by_deviations;
      improvement.LogWithSlopes(means, deviations, by_means, by_deviations);
      for (Eigen::Index k = 0; k < objectives; ++k) {
        const VectorXd step = VectorXd::Unit(objectives, k) * kStep;
        const double by_mean =
            improvement.Log(means + step, deviations) - improvement.Log(means - step, deviations);
        const double by_deviation =
            improvement.Log(means, deviations + step) - improvement.Log(means, deviations - step);
        EXPECT_NEAR(by_means[k], by_mean / (2 * kStep), 1e-4 * std::abs(by_means[k]));
        EXPECT_NEAR(by_deviations[k], by_deviation / (2 * kStep),
                    1e-4 * std::abs(by_deviations[k]));
      }
    }
  }
}

}  // namespace
}  // namespace tune
