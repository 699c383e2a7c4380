#include "schedulers/ranked_values.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tune {

void RankedValues::Insert(double value) {
  TUNE_CHECK(!std::isnan(value));
  const auto worse = [this](double a, double b) { return IsWorse(a, b); };
  ++size_;
  if (blocks_.empty()) {
    blocks_.push_back({value});
    bests_.push_back(value);
    return;
  }
  // The first block that ends at this value or better; beyond them all, the last one.
  size_t i = static_cast<size_t>(std::lower_bound(bests_.begin(), bests_.end(), value, worse) -
                                 bests_.begin());
  i = std::min(i, blocks_.size() - 1);
  std::vector<double>& block = blocks_[i];
  block.insert(std::upper_bound(block.begin(), block.end(), value, worse), value);
  bests_[i] = block.back();
  if (block.size() < kBlockMax) return;
  const auto middle = block.begin() + kBlockMax / 2;
  std::vector<double> upper(middle, block.end());
  block.erase(middle, block.end());
  bests_[i] = block.back();
  bests_.insert(bests_.begin() + static_cast<ptrdiff_t>(i) + 1, upper.back());
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(i) + 1, std::move(upper));
}

double RankedValues::FromWorst(size_t index) const {
  TUNE_CHECK(index < size_);
  size_t i = 0;
  while (index >= blocks_[i].size()) index -= blocks_[i++].size();
  return blocks_[i][index];
}

size_t RankedValues::CountBetterThan(double value) const {
  const auto worse = [this](double a, double b) { return IsWorse(a, b); };
  // Blocks that begin the better values: all from the first whose best is better.
  size_t i = static_cast<size_t>(std::upper_bound(bests_.begin(), bests_.end(), value, worse) -
                                 bests_.begin());
  if (i == blocks_.size()) return 0;
  const std::vector<double>& block = blocks_[i];
  size_t count =
      static_cast<size_t>(block.end() - std::upper_bound(block.begin(), block.end(), value, worse));
  while (++i < blocks_.size()) count += blocks_[i].size();
  return count;
}

}  // namespace tune
