#include "search/partial_losses.h"

#include <algorithm>

#include "core/check.h"
#include "search/dependence_test.h"

namespace tune {
namespace {

constexpr size_t kFoldsMax = 10;  // Of few trials, where each one counts.
constexpr size_t kFoldsOfMany = 5;
constexpr size_t kMany = 100;
constexpr ForestOptions kForest = {.trees = 24};

size_t FoldCount(size_t trials) {
  return trials >= kMany ? kFoldsOfMany : std::min(kFoldsMax, trials);
}

// For each fold, which has every so manieth trial, a forest of all others.
std::vector<RegressionForest> ForestsOf(std::span<const TrialPoint> trials,
                                        std::span<const double> ranks) {
  const size_t folds = FoldCount(trials.size());
  std::vector<RegressionForest> forests;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<TrialPoint> others;
    std::vector<double> values;
    for (size_t i = 0; i < trials.size(); ++i) {
      if (i % folds == fold) continue;
      others.push_back(trials[i]);
      values.push_back(ranks[i]);
    }
    forests.emplace_back(others, values, fold, kForest);
  }
  return forests;
}

}  // namespace

std::vector<double> LeftByOthers(std::span<const TrialPoint> trials, std::span<const double> losses,
                                 size_t parameter) {
  TUNE_CHECK(trials.size() >= 2 && trials.size() == losses.size());
  std::vector<TrialPoint> others(trials.begin(), trials.end());
  for (TrialPoint& point : others) point.erase(point.begin() + static_cast<ptrdiff_t>(parameter));
  std::vector<double> left = RanksOf(losses);
  if (others.front().empty()) return left;
  const std::vector<RegressionForest> forests = ForestsOf(others, left);
  for (size_t i = 0; i < left.size(); ++i)
    left[i] -= forests[i % forests.size()].Predict(others[i]);
  return left;
}

LeftOfOwn::LeftOfOwn(std::span<const TrialPoint> trials, std::span<const double> losses)
    : trials_(trials.begin(), trials.end()),
      ranks_(RanksOf(losses)),
      forests_(ForestsOf(trials, ranks_)) {
  TUNE_CHECK(trials.size() >= 2 && trials.size() == losses.size());
}

std::vector<double> LeftOfOwn::Of(size_t parameter, std::span<const size_t> members) const {
  constexpr size_t kValuesMax = 20;
  const size_t stride = std::max<size_t>(1, members.size() / kValuesMax);
  std::vector<double> left;
  for (const size_t i : members) {
    const RegressionForest& forest = forests_[i % forests_.size()];
    TrialPoint point = trials_[i];
    double sum = 0;
    size_t count = 0;
    for (size_t m = 0; m < members.size(); m += stride) {
      point[parameter] = trials_[members[m]][parameter];
      sum += forest.Predict(point);
      ++count;
    }
    left.push_back(ranks_[i] - sum / static_cast<double>(count));
  }
  return left;
}

}  // namespace tune
