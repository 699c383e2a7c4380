// Where ranks stand among each other, as torchrun counts, and where they meet.
#include "trial_runner/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PlacedRank On(int64_t rank, int64_t worker, std::vector<DeviceSlice> slices = {}) {
  return {rank, {WorkerId{worker}, kWholeMilli, std::move(slices)}};
}

TEST(RankGroup, CountsTheRanksOfAWorkerAndTheWorkersByTheirLowestRanks) {
  // Workers are known by numbers that say nothing of the ranks' order, and a worker that came back
  // has a higher one.
  const std::vector<PlacedRank> ranks = {On(2, 3), On(0, 7), On(3, 3), On(1, 7), On(4, 5)};
  const auto text = [&ranks](int64_t rank) {
    const RankGroup group = GroupOf(rank, ranks);
    return std::to_string(group.local_rank) + " of " + std::to_string(group.local_world_size) +
           " on " + std::to_string(group.node_rank) + " of " + std::to_string(group.node_count);
  };
  EXPECT_EQ(text(0), "0 of 2 on 0 of 3");
  EXPECT_EQ(text(1), "1 of 2 on 0 of 3");
  EXPECT_EQ(text(2), "0 of 2 on 1 of 3");
  EXPECT_EQ(text(3), "1 of 2 on 1 of 3");
  EXPECT_EQ(text(4), "0 of 1 on 2 of 3");
}

TEST(RankGroup, NamesTheDevicesOfItsWorkerWhereEachRankHasAWholeOne) {
  const std::vector<PlacedRank> whole = {On(0, 1, {{3, 1000}}), On(1, 1, {{0, 1000}}),
                                         On(2, 2, {{5, 1000}})};
  EXPECT_THAT(GroupOf(1, whole).devices, ElementsAre(3, 0));
  EXPECT_THAT(GroupOf(2, whole).devices, ElementsAre(5));
  EXPECT_THAT(GroupOf(0, {On(0, 1, {{0, 500}}), On(1, 1, {{0, 500}})}).devices, IsEmpty());
  EXPECT_THAT(
      GroupOf(0, {On(0, 1, {{0, 1000}, {1, 1000}}), On(1, 1, {{2, 1000}, {3, 1000}})}).devices,
      IsEmpty());
  EXPECT_THAT(GroupOf(0, {On(0, 1), On(1, 1)}).devices, IsEmpty());
}

TEST(RankVariables, AreAllThatEachRankFindsItself) {
  for (const char* const name : {"RANK", "MASTER_PORT", "ROLE_NAME", "TORCHELASTIC_RUN_ID"}) {
    EXPECT_TRUE(IsRankVariable(name)) << name;
  }
  EXPECT_FALSE(IsRankVariable("NCCL_SOCKET_IFNAME"));
}

// Ranks of an attempt that was given up may still be there.
TEST(MasterPort, IsAnotherOneForEachAttemptBelowThoseOfOutgoingConnections) {
  std::set<int64_t> ports;
  for (int64_t epoch = 1; epoch <= 200; ++epoch) {
    const int64_t port = MasterPort(7, TrialNumber{3}, LeaseEpoch{epoch});
    EXPECT_GE(port, 20'000);
    EXPECT_LT(port, 32'768);
    ports.insert(port);
  }
  EXPECT_GT(ports.size(), 190u);
  EXPECT_EQ(MasterPort(7, TrialNumber{3}, LeaseEpoch{9}),
            MasterPort(7, TrialNumber{3}, LeaseEpoch{9}));
}

}  // namespace
}  // namespace tune
