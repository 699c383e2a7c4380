// A sorted sequence that knows positions: what a rung is made of.
//
// Sorted blocks of bounded length, and a binary indexed tree of those lengths (Fenwick, "A New Data
// Structure for Cumulative Frequency Tables", 1994). An insertion moves at most one block's items;
// everything else is a binary search. For the 100,000 items that a large sweep puts in a rung each
// takes some tens of nanoseconds.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tune {

// T is a small value with operator<.
template <typename T>
class OrderedBlocks {
 public:
  size_t size() const { return size_; }
  // Behind its equals. Returns the position that it got.
  size_t Insert(const T& item);
  // Require position < size().
  void Erase(size_t position);
  const T& operator[](size_t position) const;
  // That at the position and the next one. Requires position + 1 < size().
  std::pair<T, T> PairAt(size_t position) const;
  // How many are less than it or its equals.
  size_t CountUpTo(const T& item) const;

 private:
  static constexpr size_t kBlockMax = 256;

  // Where a position is.
  struct Spot {
    size_t block;
    size_t offset;
  };

  // How many of `count` sorted items are not above `item`. Without branches, which would be
  // mispredicted every other time.
  static size_t UpperBound(const T* items, size_t count, const T& item);
  // Asks for the block's memory at once, all of which a search and an insertion go through in turn.
  static void Prefetch(const std::vector<T>& block) {
    constexpr size_t kLineItems = 64 / sizeof(T);
    for (size_t k = 0; k < block.size(); k += kLineItems) __builtin_prefetch(&block[k], 1);
  }
  // The block that `item` belongs into. Requires that there is one.
  size_t BlockFor(const T& item) const;
  Spot Find(size_t position) const;
  void Split(size_t block);

  // The tree. Its node i, from 1, has the number of items in the i & -i blocks that end with block
  // i - 1. Behind the last block all is infinite.
  void CountBlocks();
  void AddToCount(size_t block, size_t change);
  size_t CountBefore(size_t block) const;

  size_t size_ = 0;
  // No block is empty. The last items are kept together, to be searched fast.
  std::vector<std::vector<T>> blocks_;
  std::vector<T> lasts_;
  std::vector<size_t> tree_;
};

template <typename T>
size_t OrderedBlocks<T>::UpperBound(const T* items, size_t count, const T& item) {
  if (count == 0) return 0;
  const T* base = items;
  while (count > 1) {
    const size_t half = count / 2;
    base = item < base[half - 1] ? base : base + half;
    count -= half;
  }
  return static_cast<size_t>(base - items) + static_cast<size_t>(!(item < *base));
}

template <typename T>
size_t OrderedBlocks<T>::BlockFor(const T& item) const {
  const size_t block = UpperBound(lasts_.data(), lasts_.size(), item);
  return block < blocks_.size() ? block : blocks_.size() - 1;
}

template <typename T>
size_t OrderedBlocks<T>::Insert(const T& item) {
  if (blocks_.empty()) {
    blocks_.emplace_back().reserve(kBlockMax);
    lasts_.push_back(item);
    CountBlocks();
  }
  const size_t i = BlockFor(item);
  std::vector<T>& block = blocks_[i];
  Prefetch(block);
  const size_t before = CountBefore(i);
  AddToCount(i, 1);
  const size_t offset = UpperBound(block.data(), block.size(), item);
  block.insert(block.begin() + static_cast<ptrdiff_t>(offset), item);
  lasts_[i] = block.back();
  ++size_;
  if (block.size() == kBlockMax) Split(i);
  return before + offset;
}

template <typename T>
void OrderedBlocks<T>::Split(size_t i) {
  const ptrdiff_t next = static_cast<ptrdiff_t>(i) + 1;
  std::vector<T> upper;
  upper.reserve(kBlockMax);
  upper.assign(blocks_[i].begin() + kBlockMax / 2, blocks_[i].end());
  blocks_[i].resize(kBlockMax / 2);
  lasts_[i] = blocks_[i].back();
  lasts_.insert(lasts_.begin() + next, upper.back());
  blocks_.insert(blocks_.begin() + next, std::move(upper));
  CountBlocks();
}

template <typename T>
void OrderedBlocks<T>::Erase(size_t position) {
  const auto [i, offset] = Find(position);
  std::vector<T>& block = blocks_[i];
  block.erase(block.begin() + static_cast<ptrdiff_t>(offset));
  --size_;
  if (!block.empty()) {
    lasts_[i] = block.back();
    AddToCount(i, static_cast<size_t>(-1));
    return;
  }
  blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
  lasts_.erase(lasts_.begin() + static_cast<ptrdiff_t>(i));
  CountBlocks();
}

template <typename T>
const T& OrderedBlocks<T>::operator[](size_t position) const {
  const auto [block, offset] = Find(position);
  return blocks_[block][offset];
}

template <typename T>
std::pair<T, T> OrderedBlocks<T>::PairAt(size_t position) const {
  TUNE_CHECK(position + 1 < size_);
  const auto [i, offset] = Find(position);
  const std::vector<T>& block = blocks_[i];
  return {block[offset], offset + 1 < block.size() ? block[offset + 1] : blocks_[i + 1].front()};
}

template <typename T>
size_t OrderedBlocks<T>::CountUpTo(const T& item) const {
  if (blocks_.empty()) return 0;
  const size_t i = BlockFor(item);
  return CountBefore(i) + UpperBound(blocks_[i].data(), blocks_[i].size(), item);
}

template <typename T>
typename OrderedBlocks<T>::Spot OrderedBlocks<T>::Find(size_t position) const {
  TUNE_CHECK(position < size_);
  size_t node = 0;
  for (size_t step = std::bit_floor(blocks_.size()); step > 0; step /= 2) {
    const size_t count = tree_[node + step];
    const size_t is_behind = count <= position ? 1 : 0;
    node += is_behind * step;
    position -= is_behind * count;
  }
  return {node, position};
}

template <typename T>
void OrderedBlocks<T>::CountBlocks() {
  const size_t count = blocks_.size();
  tree_.assign(std::bit_ceil(count + 1), std::numeric_limits<size_t>::max());
  std::fill_n(tree_.begin(), count + 1, size_t{0});
  for (size_t node = 1; node <= count; ++node) {
    tree_[node] += blocks_[node - 1].size();
    const size_t above = node + (node & -node);
    if (above <= count) tree_[above] += tree_[node];
  }
}

template <typename T>
void OrderedBlocks<T>::AddToCount(size_t block, size_t change) {
  for (size_t node = block + 1; node <= blocks_.size(); node += node & -node) {
    tree_[node] += change;
  }
}

template <typename T>
size_t OrderedBlocks<T>::CountBefore(size_t block) const {
  size_t count = 0;
  for (size_t node = block; node > 0; node &= node - 1) count += tree_[node];
  return count;
}

}  // namespace tune
