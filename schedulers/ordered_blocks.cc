#include "schedulers/ordered_blocks.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace tune {
namespace {

// How many of `count` sorted keys are before the place that is looked for. Halves them without
// branches, which would be mispredicted every other time, and looks at the last few all at once.
template <typename IsBefore>
size_t CountWhile(const double* keys, size_t count, IsBefore is_before) {
  constexpr size_t kFew = 16;
  const double* base = keys;
  while (count > kFew) {
    const size_t half = count / 2;
    // As a mask: compilers turn a conditional into a branch.
    base += half & (size_t{0} - static_cast<size_t>(is_before(base[half - 1])));
    count -= half;
  }
  size_t few = 0;
  for (size_t k = 0; k < count; ++k) few += static_cast<size_t>(is_before(base[k]));
  return static_cast<size_t>(base - keys) + few;
}

// Asks for all of their memory at once, which a search and an insertion go through in turn.
template <typename T>
void Prefetch(const T* items, size_t count) {
  constexpr size_t kLineItems = 64 / sizeof(T);
  for (size_t k = 0; k < count; k += kLineItems) __builtin_prefetch(&items[k], 1);
}

}  // namespace

template <typename IsBefore>
OrderedBlocks::Spot OrderedBlocks::FirstNot(IsBefore is_before) const {
  const size_t found = CountWhile(lasts_.data(), lasts_.size(), is_before);
  const size_t block = std::min(found, slots_.size() - 1);
  Prefetch(Keys(block), counts_[block]);
  Prefetch(Tags(block), counts_[block]);
  return {block, CountWhile(Keys(block), counts_[block], is_before)};
}

std::optional<OrderedBlocks::Item> OrderedBlocks::Before(Spot spot) const {
  if (spot.offset > 0) return At({spot.block, spot.offset - 1});
  if (spot.block == 0) return std::nullopt;
  return At({spot.block - 1, counts_[spot.block - 1] - 1});
}

OrderedBlocks::Inserted OrderedBlocks::Insert(Item item) {
  if (slots_.empty()) AddBlock(0, 0, item.key);
  Spot spot = FirstNot([&](double key) { return key <= item.key; });
  std::optional<Item> before = Before(spot);
  const bool has_equals = before && before->key == item.key;
  if (has_equals && before->tag > item.tag) spot = Find(CountUpTo(item));
  const auto [block, offset] = spot;
  const size_t position = PositionOf(spot);
  ++shelves_[block / kShelf];
  const size_t count = counts_[block]++;
  double* keys = Keys(block);
  uint32_t* tags = Tags(block);
  std::copy_backward(keys + offset, keys + count, keys + count + 1);
  std::copy_backward(tags + offset, tags + count, tags + count + 1);
  keys[offset] = item.key;
  tags[offset] = item.tag;
  lasts_[block] = keys[count];
  ++size_;
  if (count + 1 == kBlockMax) Split(block);
  return {position, has_equals ? CountBelow(item.key) : position};
}

void OrderedBlocks::AddBlock(size_t block, uint32_t count, double last) {
  const ptrdiff_t at = static_cast<ptrdiff_t>(block);
  if (free_slots_.empty()) {
    free_slots_.push_back(keys_.size() / kBlockMax);
    keys_.resize(keys_.size() + kBlockMax);
    tags_.resize(tags_.size() + kBlockMax);
  }
  slots_.insert(slots_.begin() + at, free_slots_.back());
  free_slots_.pop_back();
  counts_.insert(counts_.begin() + at, count);
  lasts_.insert(lasts_.begin() + at, last);
  SumShelves();
}

void OrderedBlocks::Split(size_t block) {
  constexpr size_t kHalf = kBlockMax / 2;
  counts_[block] = kHalf;
  AddBlock(block + 1, kBlockMax - kHalf, lasts_[block]);
  std::copy_n(Keys(block) + kHalf, kBlockMax - kHalf, Keys(block + 1));
  std::copy_n(Tags(block) + kHalf, kBlockMax - kHalf, Tags(block + 1));
  lasts_[block] = Keys(block)[kHalf - 1];
}

void OrderedBlocks::Erase(size_t position) {
  const auto [block, offset] = Find(position);
  const size_t count = counts_[block]--;
  double* keys = Keys(block);
  uint32_t* tags = Tags(block);
  std::copy(keys + offset + 1, keys + count, keys + offset);
  std::copy(tags + offset + 1, tags + count, tags + offset);
  --size_;
  if (count > 1) {
    lasts_[block] = keys[count - 2];
    --shelves_[block / kShelf];
    return;
  }
  const ptrdiff_t at = static_cast<ptrdiff_t>(block);
  free_slots_.push_back(slots_[block]);
  slots_.erase(slots_.begin() + at);
  counts_.erase(counts_.begin() + at);
  lasts_.erase(lasts_.begin() + at);
  SumShelves();
}

std::pair<OrderedBlocks::Item, OrderedBlocks::Item> OrderedBlocks::PairAt(size_t position) const {
  TUNE_CHECK(position + 1 < size_);
  const Spot spot = Find(position);
  const bool is_last = spot.offset + 1 == counts_[spot.block];
  return {At(spot), At(is_last ? Spot{spot.block + 1, 0} : Spot{spot.block, spot.offset + 1})};
}

size_t OrderedBlocks::CountBelow(double key) const {
  if (slots_.empty()) return 0;
  return PositionOf(FirstNot([&](double other) { return other < key; }));
}

size_t OrderedBlocks::CountUpTo(Item item) const {
  if (slots_.empty()) return 0;
  const Spot behind = FirstNot([&](double key) { return key <= item.key; });
  size_t count = PositionOf(behind);
  const std::optional<Item> before = Before(behind);
  if (!before || before->key != item.key || before->tag <= item.tag) return count;
  // Among those of its key, all of whose tags before `low` are not above its own.
  size_t low = CountBelow(item.key);
  while (low < count) {
    const size_t middle = low + (count - low) / 2;
    if ((*this)[middle].tag > item.tag) {
      count = middle;
    } else {
      low = middle + 1;
    }
  }
  return count;
}

OrderedBlocks::Spot OrderedBlocks::Find(size_t position) const {
  TUNE_CHECK(position < size_);
  size_t shelf = 0;
  for (; position >= shelves_[shelf]; ++shelf) position -= shelves_[shelf];
  size_t block = shelf * kShelf;
  for (; position >= counts_[block]; ++block) position -= counts_[block];
  return {block, position};
}

void OrderedBlocks::SumShelves() {
  shelves_.assign((counts_.size() + kShelf - 1) / kShelf, 0);
  for (size_t block = 0; block < counts_.size(); ++block)
    shelves_[block / kShelf] += counts_[block];
}

size_t OrderedBlocks::CountBefore(size_t block) const {
  const size_t shelf = block / kShelf;
  const auto first = counts_.begin() + static_cast<ptrdiff_t>(shelf * kShelf);
  const auto end = counts_.begin() + static_cast<ptrdiff_t>(block);
  const uint32_t before = std::accumulate(
      shelves_.begin(), shelves_.begin() + static_cast<ptrdiff_t>(shelf), uint32_t{0});
  return std::accumulate(first, end, before);
}

}  // namespace tune
