#include "tuner/http/fair_places.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

const FairPlaces::Holder kAnna{"10.0.0.1", "user a"};
const FairPlaces::Holder kAnnasPhone{"10.0.0.1", "user b"};
const FairPlaces::Holder kBo{"10.0.0.2", "viewer c"};

TEST(FairPlaces, NobodyGivesWayWhileThereIsRoom) {
  FairPlaces places(2);
  EXPECT_EQ(places.Take(1, kAnna), std::nullopt);
  EXPECT_EQ(places.Take(2, kAnna), std::nullopt);
  EXPECT_EQ(places.CountOf(kAnna), 2u);
}

TEST(FairPlaces, TheAddressThatHoldsMostGivesWayToANewcomer) {
  FairPlaces places(3);
  places.Take(1, kBo);
  places.Take(2, kAnna);
  places.Take(3, kAnnasPhone);
  EXPECT_EQ(places.Take(4, kBo), 1u);  // The newcomer counts: each address would have two of four.
  EXPECT_EQ(places.Take(5, {"10.0.0.3", ""}), 2u);
}

TEST(FairPlaces, BehindAnAddressTheClientThatHoldsMostGivesWay) {
  FairPlaces places(3);
  places.Take(1, kAnnasPhone);
  places.Take(2, kAnna);
  places.Take(3, kAnna);
  EXPECT_EQ(places.Take(4, kBo), 2u);
}

TEST(FairPlaces, OfAClientsConnectionsTheIdlestGivesWay) {
  FairPlaces places(3);
  for (const uint64_t connection : {1, 2, 3}) places.Take(connection, kAnna);
  places.SetIdle(3, true);
  places.SetIdle(2, true);
  EXPECT_EQ(places.Take(4, kAnna), 3u);  // Idle for longer than 2; 1 is busy.
  EXPECT_EQ(places.Take(5, kAnna), 2u);
  EXPECT_EQ(places.Take(6, kAnna), 1u);  // All are busy: the oldest.
}

TEST(FairPlaces, ANewcomerIsServedEvenWhereAllOthersHoldLess) {
  FairPlaces places(2);
  places.Take(1, kAnna);
  places.Take(2, kBo);
  EXPECT_EQ(places.Take(3, kAnna), 1u);
  EXPECT_TRUE(places.Holds(3, kAnna));
  EXPECT_FALSE(places.Holds(3, kBo));
}

TEST(FairPlaces, APlaceThatWasLeftIsFree) {
  FairPlaces places(1);
  places.Take(1, kAnna);
  EXPECT_FALSE(places.HasRoomFor(kBo));  // Bo would take it from an equal.
  places.Leave(1);
  EXPECT_TRUE(places.HasRoomFor(kBo));
  EXPECT_EQ(places.Take(2, kBo), std::nullopt);
  places.SetIdle(1, true);  // It has no place, and gets none by this.
  EXPECT_EQ(places.CountOf(kAnna), 0u);
}

TEST(FairPlaces, ThereIsRoomForWhoWouldHoldLessThanAnother) {
  FairPlaces places(3);
  places.Take(1, kAnna);
  places.Take(2, kAnna);
  places.Take(3, kBo);
  EXPECT_TRUE(places.HasRoomFor({"10.0.0.3", ""}));
  EXPECT_TRUE(places.HasRoomFor(kAnnasPhone));  // Behind one address the clients are compared.
  EXPECT_FALSE(places.HasRoomFor(kBo));
  EXPECT_FALSE(places.HasRoomFor(kAnna));
}

}  // namespace
}  // namespace tune
