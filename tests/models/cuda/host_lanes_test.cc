// Runs as lanes of the card's network, with the processor in the card's place.
#include "models/cuda/host_card.h"
#include "tests/models/cuda/lane_cases.h"

namespace tune::models::cuda {
namespace {

LaneWorld OnTheHostCard() {
  return OnTheCard<HostCard, float>([](std::shared_ptr<MemoryBudget> budget) {
    return std::make_unique<HostCard>(std::move(budget));
  });
}

TEST(LanesOnTheHostCard, OfAllPhasesAreAsAlone) { LanesOfAllPhasesAreAsAlone(OnTheHostCard()); }
TEST(LanesOnTheHostCard, JoinAndLeaveWithoutATrace) {
  LanesJoinAndLeaveWithoutATrace(OnTheHostCard());
}
TEST(LanesOnTheHostCard, ThatDivergeHurtThemselvesAlone) {
  ALaneThatDivergesHurtsItselfAlone(OnTheHostCard());
}

// What so many lanes and the data set take.
int64_t BytesOf(int lanes) {
  const auto data = LaneData();
  HostCard card;
  const auto set = CardDataset<HostCard>::Make(card, data);
  const NetworkOptions options = NetworkOptionsOf(LaneOptions(0), data->class_count(), 1);
  const LaneNetwork<HostCard, float> network(card, options, lanes);
  TUNE_CHECK(set.ok() && network.status().ok());
  return card.budget().taken();
}

// A share of the card's memory that holds two lanes, and no more comes with the others.
TEST(LanesOnTheHostCard, TheOneForWhichThereIsNoMemoryFailsAlone) {
  LaneTest test(OnTheHostCard());
  TrainingRun* const first = test.Add(LaneOptions(1), BytesOf(2) + MemoryBudget::kContextBytes);
  TrainingRun* const second = test.Add(LaneOptions(2), /*device_bytes=*/1);
  test.Epoch();
  TrainingRun* const third = test.Add(LaneOptions(3), /*device_bytes=*/1);
  test.Begin();
  const auto failed = test.EndEpoch();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.begin()->first, third);
  EXPECT_EQ(failed.begin()->second.code(), StatusCode::kResourceExhausted);
  test.array.Remove(third);
  test.ExpectAsAlone(*first, "the first");
  test.ExpectAsAlone(*second, "the second");
}

// What one lane needs is not enough for two; but the second brings a share of its own.
TEST(LanesOnTheHostCard, BringTheirSharesOfItsMemory) {
  ASSERT_LT(BytesOf(1), BytesOf(2));
  const int64_t share = BytesOf(1) + MemoryBudget::kContextBytes;
  LaneTest test(OnTheHostCard());
  test.Add(LaneOptions(1), share);
  test.Epoch();
  test.Add(LaneOptions(2), share);
  test.Epoch();
}

TEST(LanesOnTheHostCard, AreRefusedWhereTheDataIsLargerThanTheShare) {
  LaneTest test(OnTheHostCard());
  const auto refused = test.array.Add(LaneOptions(1), {1, MemoryBudget::kContextBytes + 1000});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(test.array.size(), 0);
}

}  // namespace
}  // namespace tune::models::cuda
