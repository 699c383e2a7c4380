#include "schedulers/ordered_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"

namespace tune {
namespace {

TEST(OrderedBlocks, AgreesWithASortedVector) {
  // Few values, so that equals cross the blocks' borders; then many.
  for (const uint64_t values : {3u, 50u, 1000000u}) {
    KeyedRandom random(values, "blocks");
    OrderedBlocks<int64_t> blocks;
    std::vector<int64_t> sorted;
    for (int i = 0; i < 5000; ++i) {
      const int64_t item = static_cast<int64_t>(random.NextBelow(values));
      const auto place = std::upper_bound(sorted.begin(), sorted.end(), item);
      ASSERT_EQ(blocks.Insert(item), static_cast<size_t>(place - sorted.begin()));
      sorted.insert(place, item);
      // For a while there are more erasures than insertions.
      for (uint64_t n = random.NextBelow(i > 2000 && i < 4000 ? 4 : 2); n > 0 && sorted.size() > 1;
           --n) {
        const size_t gone = random.NextBelow(sorted.size());
        blocks.Erase(gone);
        sorted.erase(sorted.begin() + static_cast<ptrdiff_t>(gone));
      }
      const size_t position = random.NextBelow(sorted.size());
      ASSERT_EQ(blocks[position], sorted[position]);
      const int64_t other = static_cast<int64_t>(random.NextBelow(values + 2)) - 1;
      ASSERT_EQ(blocks.CountUpTo(other),
                static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), other) -
                                    sorted.begin()));
    }
    EXPECT_EQ(blocks.size(), sorted.size());
  }
}

TEST(OrderedBlocks, RisingAndFallingItemsKeepTheirPositions) {
  OrderedBlocks<int64_t> rising;
  OrderedBlocks<int64_t> falling;
  constexpr int64_t kCount = 3000;
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(rising.Insert(i), static_cast<size_t>(i));
    EXPECT_EQ(falling.Insert(-i), 0u);
  }
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(rising[static_cast<size_t>(i)], i);
    EXPECT_EQ(falling[static_cast<size_t>(i)], i + 1 - kCount);
  }
}

TEST(OrderedBlocks, OfNothingCountsNothing) {
  const OrderedBlocks<int64_t> blocks;
  EXPECT_EQ(blocks.size(), 0u);
  EXPECT_EQ(blocks.CountUpTo(3), 0u);
}

}  // namespace
}  // namespace tune
