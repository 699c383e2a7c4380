// A sorted sequence that knows positions: what a rung is made of. An item is a key and a tag, which
// orders those of one key.
//
// Sorted blocks of bounded length, whose lengths are summed up by shelves of blocks. An insertion
// moves at most one block's items; everything else is a search. Keys lie apart from tags: mostly
// only keys are looked at, so that with the 100,000 items that a large sweep puts in a rung each
// takes some tens of nanoseconds.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tune {

class OrderedBlocks {
 public:
  // The key is not NaN.
  struct Item {
    double key = 0;
    uint32_t tag = 0;
    friend bool operator==(const Item&, const Item&) = default;
  };

  size_t size() const { return size_; }
  struct Inserted {
    size_t position = 0;
    size_t below = 0;  // How many have a lower key.
  };
  // Behind its equals.
  Inserted Insert(Item item);
  // Require position < size().
  void Erase(size_t position);
  Item operator[](size_t position) const { return At(Find(position)); }
  // That at the position and the next one. Requires position + 1 < size().
  std::pair<Item, Item> PairAt(size_t position) const;
  // How many have a lower key.
  size_t CountBelow(double key) const;
  // How many are less than the item or its equals.
  size_t CountUpTo(Item item) const;

 private:
  static constexpr size_t kBlockMax = 320;
  static constexpr size_t kShelf = 16;

  // Where a position is.
  struct Spot {
    size_t block;
    size_t offset;
  };

  // The place of the first key for which is_before(key) no longer holds, in the last block if it
  // holds for all. Requires that there is a block.
  template <typename IsBefore>
  Spot FirstNot(IsBefore is_before) const;
  // The item before this spot, or nothing.
  std::optional<Item> Before(Spot spot) const;
  Spot Find(size_t position) const;
  size_t PositionOf(Spot spot) const { return CountBefore(spot.block) + spot.offset; }

  double* Keys(size_t block) { return &keys_[slots_[block] * kBlockMax]; }
  const double* Keys(size_t block) const { return &keys_[slots_[block] * kBlockMax]; }
  uint32_t* Tags(size_t block) { return &tags_[slots_[block] * kBlockMax]; }
  const uint32_t* Tags(size_t block) const { return &tags_[slots_[block] * kBlockMax]; }
  Item At(Spot spot) const {
    return {Keys(spot.block)[spot.offset], Tags(spot.block)[spot.offset]};
  }

  // A block of `count` items, which are then to be written, of which `last` is the greatest key.
  void AddBlock(size_t block, uint32_t count, double last);
  void Split(size_t block);

  void SumShelves();
  // In the blocks before this one.
  size_t CountBefore(size_t block) const;

  size_t size_ = 0;
  // Of each block, in order; none is empty. The last keys are kept together, to be searched fast.
  std::vector<size_t> slots_;
  std::vector<uint32_t> counts_;
  std::vector<double> lasts_;
  std::vector<uint32_t> shelves_;  // The sums of counts_ over kShelf blocks each.
  // Of all blocks, each in its slot.
  std::vector<double> keys_;
  std::vector<uint32_t> tags_;
  std::vector<size_t> free_slots_;
};

}  // namespace tune
