#include "schedulers/ranked_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/random.h"

namespace tune {
namespace {

// The plain form: one sorted vector.
void ExpectLikeASortedVector(Mode mode, uint64_t seed, int count, uint64_t distinct) {
  RankedValues ranked(mode);
  std::vector<double> plain;
  KeyedRandom random(seed, "ranked");
  for (int i = 0; i < count; ++i) {
    const double value = static_cast<double>(random.NextBelow(distinct)) - 50;
    const auto better = [&](double other) { return IsBetter(other, value, mode); };
    ASSERT_EQ(ranked.CountBetterThan(value),
              static_cast<size_t>(std::count_if(plain.begin(), plain.end(), better)));
    ranked.Insert(value);
    plain.push_back(value);
  }
  std::sort(plain.begin(), plain.end(), [&](double a, double b) { return IsBetter(b, a, mode); });
  ASSERT_EQ(ranked.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(ranked.FromWorst(i), plain[i]) << i;
}

TEST(RankedValues, KeepTheOrderOfASortedVector) {
  ExpectLikeASortedVector(Mode::kMax, 1, 3000, 1'000'000);
  ExpectLikeASortedVector(Mode::kMin, 2, 3000, 1'000'000);
}

TEST(RankedValues, KeepTheOrderWithManyTies) {
  ExpectLikeASortedVector(Mode::kMax, 3, 3000, 3);
  ExpectLikeASortedVector(Mode::kMin, 4, 3000, 1);
}

TEST(RankedValues, RisingAndFallingSequencesKeepTheOrder) {
  for (const Mode mode : {Mode::kMax, Mode::kMin}) {
    RankedValues ranked(mode);
    for (int i = 0; i < 2000; ++i) ranked.Insert(i);
    EXPECT_EQ(ranked.FromWorst(0), mode == Mode::kMax ? 0 : 1999);
    EXPECT_EQ(ranked.FromWorst(1234), mode == Mode::kMax ? 1234 : 765);
    EXPECT_EQ(ranked.CountBetterThan(1000), mode == Mode::kMax ? 999u : 1000u);
  }
}

TEST(RankedValues, InfinitiesStandAtTheEnds) {
  RankedValues ranked(Mode::kMin);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double value : {1.0, kInf, -kInf}) ranked.Insert(value);
  EXPECT_EQ(ranked.FromWorst(0), kInf);
  EXPECT_EQ(ranked.FromWorst(2), -kInf);
}

}  // namespace
}  // namespace tune
