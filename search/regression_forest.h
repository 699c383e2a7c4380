// A function learned from points and values by many trees, each grown on draws of the points:
// Breiman, "Random Forests", Machine Learning 45(1), 2001.
//
// Thread rule: immutable; its draws are keyed by the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"

namespace tune {

struct ForestOptions {
  size_t trees = 64;
  size_t draws_max = 1000;  // Points of a tree, with repeats: as many as there are, but no more.
  size_t leaf_min = 2;      // Of them, in a leaf.
};

class RegressionForest {
 public:
  // A point is a list of numbers, all of one length. Requires at least one point, and as many
  // finite values.
  RegressionForest(std::span<const std::vector<double>> points, std::span<const double> values,
                   uint64_t seed, const ForestOptions& options = {});

  double Predict(std::span<const double> point) const;

 private:
  struct Node {
    int32_t dimension = -1;  // -1: a leaf.
    double threshold = 0;    // Points below it go left, to the next node; the others right.
    size_t right = 0;
    double value = 0;
  };
  using Tree = std::vector<Node>;

  std::vector<Tree> trees_;

  friend class TreeGrower;
};

}  // namespace tune
