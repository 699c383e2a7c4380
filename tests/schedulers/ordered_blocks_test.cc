#include "schedulers/ordered_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/random.h"

namespace tune {
namespace {

using Item = OrderedBlocks::Item;
using Sorted = std::vector<std::pair<double, uint32_t>>;  // The specification.

size_t CountUpTo(const Sorted& sorted, double key, uint32_t tag) {
  return static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), std::pair(key, tag)) -
                             sorted.begin());
}
size_t CountBelow(const Sorted& sorted, double key) {
  const auto is_below = [](const auto& item, double value) { return item.first < value; };
  return static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), key, is_below) -
                             sorted.begin());
}

TEST(OrderedBlocks, AgreeWithASortedVector) {
  // Few keys, so that those of one key fill many blocks and are ordered by their tags; then many.
  for (const uint64_t keys : {3u, 50u, 1000000u}) {
    KeyedRandom random(keys, "blocks");
    OrderedBlocks blocks;
    Sorted sorted;
    for (int i = 0; i < 6000; ++i) {
      const double key = static_cast<double>(random.NextBelow(keys));
      const uint32_t tag = static_cast<uint32_t>(random.NextBelow(5000));
      const size_t position = CountUpTo(sorted, key, tag);
      const OrderedBlocks::Inserted inserted = blocks.Insert({key, tag});
      ASSERT_EQ(inserted.position, position);
      ASSERT_EQ(inserted.below, CountBelow(sorted, key));
      sorted.insert(sorted.begin() + static_cast<ptrdiff_t>(position), {key, tag});
      // For a while there are more erasures than insertions.
      for (uint64_t n = random.NextBelow(i > 3000 && i < 5000 ? 4 : 2); n > 0 && sorted.size() > 2;
           --n) {
        const size_t gone = random.NextBelow(sorted.size());
        blocks.Erase(gone);
        sorted.erase(sorted.begin() + static_cast<ptrdiff_t>(gone));
      }
      ASSERT_EQ(blocks.size(), sorted.size());
      if (sorted.size() < 2) continue;
      const size_t any = random.NextBelow(sorted.size() - 1);
      const Item first{sorted[any].first, sorted[any].second};
      const Item second{sorted[any + 1].first, sorted[any + 1].second};
      ASSERT_EQ(blocks[any], first);
      ASSERT_EQ(blocks.PairAt(any), std::pair(first, second));
      const double other = static_cast<double>(random.NextBelow(keys + 2)) - 1;
      ASSERT_EQ(blocks.CountUpTo({other, tag}), CountUpTo(sorted, other, tag));
      ASSERT_EQ(blocks.CountBelow(other), CountBelow(sorted, other));
    }
  }
}

TEST(OrderedBlocks, RisingAndFallingKeysKeepTheirPositions) {
  OrderedBlocks rising;
  OrderedBlocks falling;
  constexpr int64_t kCount = 6000;
  for (int64_t i = 0; i < kCount; ++i) {
    const double key = static_cast<double>(i);
    EXPECT_EQ(rising.Insert({key}).position, static_cast<size_t>(i));
    EXPECT_EQ(falling.Insert({-key}).position, 0u);
  }
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(rising[static_cast<size_t>(i)].key, static_cast<double>(i));
    EXPECT_EQ(falling[static_cast<size_t>(i)].key, static_cast<double>(i + 1 - kCount));
  }
}

TEST(OrderedBlocks, InfinitiesStandAtTheEndsAndZerosAreEqual) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OrderedBlocks blocks;
  for (const double key : {0.0, kInfinity, -kInfinity, -0.0, kInfinity}) blocks.Insert({key});
  EXPECT_EQ(blocks.CountBelow(-kInfinity), 0u);
  EXPECT_EQ(blocks.CountUpTo({-kInfinity}), 1u);
  EXPECT_EQ(blocks.CountBelow(-0.0), 1u);
  EXPECT_EQ(blocks.CountUpTo({0.0}), 3u);
  EXPECT_EQ(blocks.CountBelow(kInfinity), 3u);
  EXPECT_EQ(blocks.CountUpTo({kInfinity}), 5u);
}

TEST(OrderedBlocks, OfNothingCountNothing) {
  const OrderedBlocks blocks;
  EXPECT_EQ(blocks.size(), 0u);
  EXPECT_EQ(blocks.CountUpTo({3}), 0u);
  EXPECT_EQ(blocks.CountBelow(3), 0u);
}

}  // namespace
}  // namespace tune
