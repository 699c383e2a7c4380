#include "schedulers/rung_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tune {
namespace {

using testing::ElementsAre;

TEST(RungLevels, MultiplyUpToTheEnd) {
  EXPECT_THAT(RungLevels(1, 20, 2), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(RungLevels(1, 81, 3), ElementsAre(1, 3, 9, 27, 81));
  EXPECT_THAT(RungLevels(1, 100, 4), ElementsAre(1, 4, 16, 64));
  EXPECT_THAT(RungLevels(2, 100, 3), ElementsAre(2, 6, 18, 54));
}

TEST(RungLevelsFromTop, AlwaysReachMaxT) {
  EXPECT_THAT(RungLevelsFromTop(81, 3), ElementsAre(1, 3, 9, 27, 81));
  EXPECT_THAT(RungLevelsFromTop(243, 3), ElementsAre(1, 3, 9, 27, 81, 243));
  EXPECT_THAT(RungLevelsFromTop(20, 2), ElementsAre(1, 2, 5, 10, 20));
  EXPECT_THAT(RungLevelsFromTop(100, 4), ElementsAre(1, 6, 25, 100));
  EXPECT_THAT(RungLevelsFromTop(1, 4), ElementsAre(1));
}

TEST(RungLevels, LoseNoRungToRounding) {
  EXPECT_THAT(RungLevels(1, 243, 3), ElementsAre(1, 3, 9, 27, 81, 243));
  EXPECT_THAT(RungLevels(1, 1000, 10), ElementsAre(1, 10, 100, 1000));
}

TEST(RungLevels, OneRungWhereThereIsNoRoomForMore) {
  EXPECT_THAT(RungLevels(5, 5, 2), ElementsAre(5));
  EXPECT_THAT(RungLevels(5, 9, 2), ElementsAre(5));
}

TEST(RungLevels, DoNotOverflow) {
  const auto levels = RungLevels(1, std::numeric_limits<int64_t>::max(), 2);
  EXPECT_EQ(levels.size(), 63u);
  EXPECT_EQ(levels.back(), int64_t{1} << 62);
}

}  // namespace
}  // namespace tune
