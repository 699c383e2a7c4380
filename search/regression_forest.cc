#include "search/regression_forest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace tune {

// Grows one tree, depth first: a left child follows its parent.
class TreeGrower {
 public:
  TreeGrower(std::span<const std::vector<double>> points, std::span<const double> values,
             const ForestOptions& options, KeyedRandom random)
      : points_(points), values_(values), options_(options), random_(random) {}

  RegressionForest::Tree Grow() {
    std::vector<size_t> drawn(std::min(points_.size(), options_.draws_max));
    for (size_t& i : drawn) i = random_.NextBelow(points_.size());
    Grow(drawn);
    return std::move(tree_);
  }

 private:
  struct Split {
    double gain = 0;  // What it takes off the sum of squares.
    size_t dimension = 0;
    double threshold = 0;
  };

  double SumOf(std::span<const size_t> members) const {
    double sum = 0;
    for (const size_t i : members) sum += values_[i];
    return sum;
  }

  // The best threshold in one dimension; leaves the members in its order.
  Split BestIn(size_t dimension, std::span<size_t> members) const {
    const auto at = [&](size_t rank) { return points_[members[rank]][dimension]; };
    std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
      const double x = points_[a][dimension];
      const double y = points_[b][dimension];
      return x != y ? x < y : a < b;
    });
    const auto count = static_cast<double>(members.size());
    const double mean = SumOf(members) / count;
    Split best;
    double left_sum = 0;  // Of what the values differ from the mean.
    for (size_t rank = 0; rank + options_.leaf_min < members.size(); ++rank) {
      left_sum += values_[members[rank]] - mean;
      const auto left = static_cast<double>(rank + 1);
      if (rank + 1 < options_.leaf_min || at(rank) == at(rank + 1)) continue;
      const double gain = left_sum * left_sum * (1 / left + 1 / (count - left));
      if (gain <= best.gain) continue;
      const double middle = (at(rank) + at(rank + 1)) / 2;
      best = {gain, dimension, middle > at(rank) ? middle : at(rank + 1)};
    }
    return best;
  }

  // The best split over half of the dimensions, drawn; those that tell no members apart do not
  // count.
  Split BestSplit(std::span<size_t> members) {
    std::vector<size_t> dimensions(points_[0].size());
    std::iota(dimensions.begin(), dimensions.end(), size_t{0});
    Split best;
    size_t tried = 0;
    for (size_t i = 0; i < dimensions.size() && 2 * tried < dimensions.size(); ++i) {
      std::swap(dimensions[i], dimensions[i + random_.NextBelow(dimensions.size() - i)]);
      const Split split = BestIn(dimensions[i], members);
      if (split.gain > 0) ++tried;
      if (split.gain > best.gain) best = split;
    }
    return best;
  }

  void Grow(std::span<size_t> members) {
    const size_t node = tree_.size();
    tree_.emplace_back().value = SumOf(members) / static_cast<double>(members.size());
    const Split split = BestSplit(members);
    if (!(split.gain > 0)) return;
    const auto middle = std::partition(members.begin(), members.end(), [&](size_t i) {
      return points_[i][split.dimension] < split.threshold;
    });
    const auto left = static_cast<size_t>(middle - members.begin());
    tree_[node].dimension = static_cast<int32_t>(split.dimension);
    tree_[node].threshold = split.threshold;
    Grow(members.subspan(0, left));
    tree_[node].right = tree_.size();
    Grow(members.subspan(left));
  }

  std::span<const std::vector<double>> points_;
  std::span<const double> values_;
  const ForestOptions& options_;
  KeyedRandom random_;
  RegressionForest::Tree tree_;
};

RegressionForest::RegressionForest(std::span<const std::vector<double>> points,
                                   std::span<const double> values, uint64_t seed,
                                   const ForestOptions& options) {
  TUNE_CHECK(!points.empty() && points.size() == values.size() && options.leaf_min >= 1);
  for (size_t tree = 0; tree < options.trees; ++tree) {
    trees_.push_back(TreeGrower(points, values, options, KeyedRandom(seed, "forest", tree)).Grow());
  }
}

double RegressionForest::Predict(std::span<const double> point) const {
  double sum = 0;
  for (const Tree& tree : trees_) {
    size_t node = 0;
    while (tree[node].dimension >= 0) {
      const bool is_left = point[static_cast<size_t>(tree[node].dimension)] < tree[node].threshold;
      node = is_left ? node + 1 : tree[node].right;
    }
    sum += tree[node].value;
  }
  return sum / static_cast<double>(trees_.size());
}

}  // namespace tune
