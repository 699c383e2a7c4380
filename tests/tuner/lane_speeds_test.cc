#include "tuner/lane_speeds.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

std::optional<int64_t> LanesMax(const std::vector<LaneSpeed>& speeds) {
  const std::optional<LaneLimit> limit = LaneLimitOf(speeds);
  return limit ? std::optional(limit->kept.lanes) : std::nullopt;
}

TEST(LaneLimit, IsTheLastNumberBeforeThoseThatWereAllSlower) {
  EXPECT_EQ(LanesMax({{1, 700}, {2, 1300}, {4, 2480}, {8, 2310}, {16, 2000}}), 4);
  EXPECT_EQ(LanesMax({{16, 2000}, {1, 700}, {8, 2310}, {4, 2480}}), 4) << "in any order";
  EXPECT_EQ(LanesMax({{1, 700}, {2, 600}}), 1);
}

TEST(LaneLimit, IsNoneWhereTheLargestMeasuredWasAsFastAsAny) {
  EXPECT_EQ(LanesMax({{1, 700}, {4, 2480}, {8, 4000}}), std::nullopt) << "16 may be faster still";
  EXPECT_EQ(LanesMax({{1, 700}, {4, 600}, {8, 710}}), std::nullopt) << "what is between counts not";
  EXPECT_EQ(LanesMax({{8, 4000}}), std::nullopt);
  EXPECT_EQ(LanesMax({}), std::nullopt);
}

// 0.95 of the fastest is as fast.
TEST(LaneLimit, DoesNotComeOfWhatMayBeChance) {
  EXPECT_EQ(LanesMax({{4, 1000}, {8, 950}}), std::nullopt);
  EXPECT_EQ(LanesMax({{4, 1000}, {8, 949}}), 4);
  EXPECT_EQ(LanesMax({{4, 1000}, {8, 960}, {16, 940}}), 8);
}

TEST(LaneLimit, SaysWhatWasSlower) {
  EXPECT_EQ(Describe(*LaneLimitOf({{4, 2480.2}, {8, 2309.7}, {16, 1000}})),
            "8 were slower (2310 against 2480 images/s)");
}

const LaneKind kKind = {"{}", "NVIDIA H200"};

// 1, 100, 2, 3: the one in the middle of the latest.
TEST(LaneSpeeds, AreMediansOfTheLatestReports) {
  LaneSpeeds speeds;
  EXPECT_EQ(speeds.Measure(kKind, 8, 1), std::nullopt);
  EXPECT_EQ(speeds.Measure(kKind, 8, 100), std::nullopt);
  EXPECT_TRUE(speeds.Of(kKind).empty()) << "two are too few";
  EXPECT_EQ(speeds.Measure(kKind, 8, 2), (LaneSpeedRow{kKind, {8, 2, 3}}));
  for (int i = 0; i < 20; ++i) speeds.Measure(kKind, 8, 50);
  EXPECT_EQ(speeds.Of(kKind), (std::vector<LaneSpeed>{{8, 50, LaneSpeeds::kReportsMax}}));
}

TEST(LaneSpeeds, OfOwnReportsTakeThePlaceOfEarlierSweeps) {
  LaneSpeeds speeds;
  speeds.Know({kKind, {8, 4000, 9}});
  speeds.Know({kKind, {4, 2480, 9}});
  speeds.Know({{"{}", "NVIDIA L4"}, {8, 1, 9}});
  EXPECT_EQ(LaneLimitOf(speeds.Of(kKind)), std::nullopt);
  for (int i = 0; i < 2; ++i) speeds.Measure(kKind, 8, 2000);
  EXPECT_EQ(LaneLimitOf(speeds.Of(kKind)), std::nullopt);
  speeds.Measure(kKind, 8, 2000);
  EXPECT_EQ(LaneLimitOf(speeds.Of(kKind))->kept, (LaneSpeed{4, 2480, 9}));
}

}  // namespace
}  // namespace tune
