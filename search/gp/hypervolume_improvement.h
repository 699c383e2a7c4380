// How much of the volume that a front dominates a point is expected to add, of which each loss is
// an independent normal, as its logarithm: exact for any number of objectives, and with a slope
// where the improvement itself has long vanished.
//
// What no point of the front dominates, below the reference, is cut into boxes. What Y adds within
// a box (l, u) is the product over the objectives of max(u - max(l, Y), 0), whose mean is that of
// max(u - Y, 0) less that of max(l - Y, 0): two expected improvements. So the whole is a sum of
// products (Emmerich, Deutz, Klinkenberg, "Hypervolume-Based Expected Improvement: Monotonicity
// Properties and Exact Computation", CEC 2011; Yang, Emmerich, Deutz, Baeck, "Efficient Computation
// of Expected Hypervolume Improvement Using Box Decomposition Algorithms", J. Global Optimization
// 75, 2019, equations 12 to 15). On the logarithm: Ament et al., NeurIPS 2023, section 4.
//
// The boxes are found slice by slice along the last objective, those of a slice in one objective
// fewer; a box that the next slice has too is prolonged. Of n points in two objectives there are at
// most n + 1, in three some times n.
//
// Thread rule: immutable.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "search/pareto.h"

namespace tune {

// A part of what a front does not dominate: lower < z < upper in each objective; lower may be -inf.
struct OpenBox {
  LossPoint lower;
  LossPoint upper;
};

// Disjoint; together all that lies below the reference and that no point dominates, but for their
// sides. Points that the reference does not exceed in every objective count for nothing.
std::vector<OpenBox> NonDominatedBoxes(LossPoints points, const LossPoint& reference);

class HypervolumeImprovement {
 public:
  HypervolumeImprovement(LossPoints front, const LossPoint& reference);

  // Requires a mean and a deviation above 0 for each objective.
  double Log(const Eigen::VectorXd& means, const Eigen::VectorXd& deviations) const;
  double LogWithSlopes(const Eigen::VectorXd& means, const Eigen::VectorXd& deviations,
                       Eigen::VectorXd& by_means, Eigen::VectorXd& by_deviations) const;

 private:
  // The sides of a box in one objective; many boxes share them.
  struct Side {
    int32_t lower = -1;  // In edges_; -1: -inf.
    int32_t upper = 0;
  };
  struct Objective {
    std::vector<double> edges;  // Rising.
    std::vector<Side> sides;
  };
  std::vector<Objective> objectives_;
  std::vector<std::vector<int32_t>> boxes_;  // Of each box a side for each objective.
};

}  // namespace tune
