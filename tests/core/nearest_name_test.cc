#include "core/nearest_name.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr std::string_view kKnown[] = {"samples", "seed", "space", "search", "scheduler"};

TEST(NearestName, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("sapce", "space"), 1u);
  EXPECT_EQ(EditDistance("SPACE", "space"), 0u);
}

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(NearestName("sample", kKnown), "samples");
  EXPECT_EQ(NearestName("schedular", kKnown), "scheduler");
  EXPECT_EQ(NearestName("sed", kKnown), "seed");
}

TEST(NearestName, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(NearestName("limits", kKnown), std::nullopt);
  EXPECT_EQ(NearestName("x", kKnown), std::nullopt);
  EXPECT_EQ(NearestName(std::string(10000, 's'), kKnown), std::nullopt);
}

TEST(NearestName, ListsTheKnownOnesWhereNothingIsNear) {
  EXPECT_EQ(DidYouMean("sapce", kKnown), "; did you mean 'space'?");
  EXPECT_EQ(DidYouMean("foo", kKnown), "; known are samples, seed, space, search, scheduler");
}

}  // namespace
}  // namespace tune
