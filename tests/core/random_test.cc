#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace tune {
namespace {

constexpr int kDraws = 100'000;

TEST(KeyedRandom, ADrawFollowsFromItsKeyAlone) {
  KeyedRandom a(7, "search", 3, 4);
  KeyedRandom b(7, "search", 3, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.NextU64(), b.NextU64());
}

TEST(KeyedRandom, EachPartOfTheKeyCounts) {
  std::set<uint64_t> first;
  for (const uint64_t seed : {0, 1}) {
    for (const char* purpose : {"search", "shuffle"}) {
      for (const uint64_t a : {0, 1, 2}) {
        for (const uint64_t b : {0, 1, 2}) first.insert(KeyedRandom(seed, purpose, a, b).NextU64());
      }
    }
  }
  EXPECT_EQ(first.size(), 36u);
}

// Seeds of stored sweeps must mean the same tomorrow.
TEST(KeyedRandom, TheStreamIsFixedForEver) {
  KeyedRandom random(42, "search", 1, 2);
  const std::vector<uint64_t> drawn = {random.NextU64(), random.NextU64(), random.NextU64()};
  EXPECT_EQ(drawn, (std::vector<uint64_t>{17642096154379032053u, 1277390807218595809u,
                                          3686488691392114277u}));
  EXPECT_EQ(StableHash("lr"), 16843994616844537093u);
}

TEST(KeyedRandom, UniformsFillTheirRangeEvenly) {
  // Neighbouring keys, one draw each: the way a searcher uses it.
  std::vector<int> counts(20);
  double sum = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = KeyedRandom(1, "search", i).NextDouble();
    ASSERT_TRUE(x >= 0 && x < 1);
    sum += x;
    ++counts[static_cast<size_t>(x * 20)];
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.004);
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 20, 300);
}

TEST(KeyedRandom, AnIntervalsHighEndIsNeverReached) {
  KeyedRandom random(1, "ends");
  const double next = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(random.NextUniform(1.0, next), 1.0);
  EXPECT_EQ(random.NextUniform(2, 2), 2);
}

TEST(KeyedRandom, NextBelowIsEven) {
  KeyedRandom random(1, "below");
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) ++counts[random.NextBelow(7)];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 500);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.NextBelow(1), 0u);
  const uint64_t large = (uint64_t{1} << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.NextBelow(large), large);
}

TEST(KeyedRandom, NormalsHaveTheirMoments) {
  double sum = 0, squares = 0, fourth = 0;
  KeyedRandom random(1, "normal");
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.NextNormal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.013);
  EXPECT_NEAR(squares / kDraws, 1, 0.018);
  EXPECT_NEAR(fourth / kDraws, 3, 0.13);
}

TEST(KeyedRandomDeathTest, NextBelowZeroIsABug) {
  KeyedRandom random(1, "zero");
  EXPECT_DEATH(random.NextBelow(0), "check failed");
}

}  // namespace
}  // namespace tune
