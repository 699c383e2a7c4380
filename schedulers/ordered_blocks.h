// A sorted sequence that knows positions: what a rung is made of.
//
// Sorted blocks of bounded length, each with the number of items before it. An insertion moves at
// most one block's items and adds one to the counts behind it; a position is found by binary
// search. For the 100,000 items that a large sweep puts in a rung each takes some tens of
// nanoseconds.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // How many are less than it or its equals.
  size_t CountUpTo(const T& item) const;

 private:
  static constexpr size_t kBlockMax = 512;

  // How many of `count` sorted items are not above `item`. Without branches, which would be
  // mispredicted every other time.
  template <typename U>
  static size_t UpperBound(const U* items, size_t count, const U& item);
  // The block that `item` belongs into. Requires that there is one.
  size_t BlockFor(const T& item) const;
  size_t BlockAt(size_t position) const;
  void Split(size_t block);

  size_t size_ = 0;
  // No block is empty. Kept together, to be searched fast: the last item of each, and how many
  // items stand before it.
  std::vector<std::vector<T>> blocks_;
  std::vector<T> lasts_;
  std::vector<uint32_t> before_;
};

template <typename T>
template <typename U>
size_t OrderedBlocks<T>::UpperBound(const U* items, size_t count, const U& item) {
  if (count == 0) return 0;
  const U* base = items;
  while (count > 1) {
    const size_t half = count / 2;
    base += static_cast<size_t>(!(item < base[half - 1])) * half;
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
  TUNE_CHECK(size_ < UINT32_MAX);
  if (blocks_.empty()) {
    blocks_.emplace_back().reserve(kBlockMax);
    lasts_.push_back(item);
    before_.push_back(0);
  }
  const size_t i = BlockFor(item);
  std::vector<T>& block = blocks_[i];
  const size_t offset = UpperBound(block.data(), block.size(), item);
  const size_t position = before_[i] + offset;
  block.insert(block.begin() + static_cast<ptrdiff_t>(offset), item);
  lasts_[i] = block.back();
  for (size_t j = i + 1; j < before_.size(); ++j) ++before_[j];
  ++size_;
  if (block.size() == kBlockMax) Split(i);
  return position;
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
  before_.insert(before_.begin() + next, before_[i] + static_cast<uint32_t>(kBlockMax / 2));
  blocks_.insert(blocks_.begin() + next, std::move(upper));
}

template <typename T>
size_t OrderedBlocks<T>::BlockAt(size_t position) const {
  TUNE_CHECK(position < size_);
  return UpperBound(before_.data(), before_.size(), static_cast<uint32_t>(position)) - 1;
}

template <typename T>
const T& OrderedBlocks<T>::operator[](size_t position) const {
  const size_t i = BlockAt(position);
  return blocks_[i][position - before_[i]];
}

template <typename T>
void OrderedBlocks<T>::Erase(size_t position) {
  const size_t i = BlockAt(position);
  std::vector<T>& block = blocks_[i];
  block.erase(block.begin() + static_cast<ptrdiff_t>(position - before_[i]));
  for (size_t j = i + 1; j < before_.size(); ++j) --before_[j];
  --size_;
  if (!block.empty()) {
    lasts_[i] = block.back();
    return;
  }
  const ptrdiff_t gone = static_cast<ptrdiff_t>(i);
  blocks_.erase(blocks_.begin() + gone);
  lasts_.erase(lasts_.begin() + gone);
  before_.erase(before_.begin() + gone);
}

template <typename T>
size_t OrderedBlocks<T>::CountUpTo(const T& item) const {
  if (blocks_.empty()) return 0;
  const size_t i = BlockFor(item);
  return before_[i] + UpperBound(blocks_[i].data(), blocks_[i].size(), item);
}

}  // namespace tune
