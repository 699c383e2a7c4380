// Runs as lanes of the card's network, with the processor in the card's place.
#include "models/cuda/host_card.h"
#include "tests/models/cuda/full_card.h"
#include "tests/models/cuda/stream_cases.h"

namespace tune::models::cuda {
namespace {

std::unique_ptr<HostCard> MakeCardOf(std::shared_ptr<MemoryBudget> budget) {
  return std::make_unique<HostCard>(std::move(budget));
}

LaneWorld OnTheHostCard() { return OnTheCard<HostCard, float>(MakeCardOf); }

TEST(LanesOnTheHostCard, OfAllPhasesAreAsAlone) { LanesOfAllPhasesAreAsAlone(OnTheHostCard()); }
TEST(LanesOnTheHostCard, JoinAndLeaveWithoutATrace) {
  LanesJoinAndLeaveWithoutATrace(OnTheHostCard());
}
TEST(LanesOnTheHostCard, ThatDivergeHurtThemselvesAlone) {
  ALaneThatDivergesHurtsItselfAlone(OnTheHostCard());
}

// What so many lanes take at least: their network, and what their images stream through.
int64_t BytesOf(int lanes) {
  return BytesOfNetwork<HostCard, float>(MakeCardOf, lanes) + BytesOfStream(lanes);
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

TEST(LanesOnTheHostCard, AreRefusedWhereTheShareHasNoRoomToStream) {
  LaneTest test(OnTheHostCard());
  TrainingRun* const run = test.Add(LaneOptions(1), BytesOf(1) - 1 + MemoryBudget::kContextBytes);
  test.Begin();
  const auto failed = test.EndEpoch();
  ASSERT_EQ(failed.count(run), 1u);
  EXPECT_EQ(failed.at(run).code(), StatusCode::kResourceExhausted);
}

// The first one's share holds two lanes, but then not the data any more.
TEST(LanesOnTheHostCard, MakeTheDataStreamRatherThanRefuseOneMore) {
  const int64_t share = BytesOf(2) + MemoryBudget::kContextBytes;
  LaneTest test(OnTheHostCard());
  TrainingRun* const first = test.Add(LaneOptions(1), share);
  test.Epoch();
  EXPECT_EQ(test.array.Note(), "");
  TrainingRun* const second = test.Add(LaneOptions(2), /*device_bytes=*/1);
  test.Epoch();
  EXPECT_EQ(test.array.Note(),
            "there is no room for all images on the device; these stream to it: "
            "training (1 MB), validation (1 MB), evaluation (1 MB)");
  test.ExpectAsAlone(*second, "the second");
  test.array.Remove(second);
  test.Epoch();
  EXPECT_EQ(test.array.Note(), "");
  test.ExpectAsAlone(*first, "the first");
}

std::unique_ptr<FullCard> MakeFullCard(std::shared_ptr<MemoryBudget> budget) {
  return std::make_unique<FullCard>(std::move(budget));
}
// As those alone whose data lies on the card.
LaneWorld OnTheFullCard() {
  LaneWorld world = OnTheHostCard();
  world.lanes = OnTheCard<FullCard, float>(MakeFullCard).lanes;
  return world;
}

TEST(LanesWhoseDataStreams, OfAllPhasesAreAsAlone) { LanesOfAllPhasesAreAsAlone(OnTheFullCard()); }
TEST(LanesWhoseDataStreams, JoinAndLeaveWithoutATrace) {
  LanesJoinAndLeaveWithoutATrace(OnTheFullCard());
}
TEST(LanesWhoseDataStreams, ThatDivergeHurtThemselvesAlone) {
  ALaneThatDivergesHurtsItselfAlone(OnTheFullCard());
}

// Twelve images a lane in batches of 5, 5 and 2, then the same six for both in batches of 5 and 1.
TEST(LanesWhoseDataStreams, HaveTheImagesOfAllButAPasssFirstStepSentAhead) {
  LaneWorld world = OnTheFullCard();
  const CardLaneRunner<FullCard, float>* runner = nullptr;
  world.lanes = [&runner, make = world.lanes](std::shared_ptr<const Dataset> data) {
    std::unique_ptr<LaneRunner> lanes = make(std::move(data));
    runner = static_cast<const CardLaneRunner<FullCard, float>*>(lanes.get());
    return lanes;
  };
  LaneTest test(world);
  test.Add(LaneOptions(1));
  test.Add(LaneOptions(2));
  test.Epoch();
  EXPECT_EQ(runner->set().stream()->ahead_count(), 2 + 1);
  EXPECT_EQ(runner->set().stream()->late_count(), 2);
}

TEST(DataOnTheHostCard, IsSentAheadForAllButAPasssFirstStep) {
  TheImagesOfAllButAPasssFirstStepAreSentAhead<HostCard, float>(MakeCardOf);
}
TEST(DataOnTheHostCard, ThatStreamsGivesTheBitsOfDataThatIsThere) {
  ARunWhoseDataStreamsIsAsOneWhoseDataIsThere<HostCard, float>(MakeCardOf);
  ARunWhoseDataStreamsIsAsOneWhoseDataIsThere<HostCard, Bf16>(MakeCardOf);
}
TEST(DataOnTheHostCard, ThatWasNotSentAheadIsRightToo) {
  ImagesThatWereNotSentAheadAreRightToo<HostCard>(MakeCardOf);
}
TEST(DataOnTheHostCard, LiesThereAsFarAsThereIsRoom) {
  WhatHasRoomLiesOnTheCardAndTheRestStreams<HostCard, float>(MakeCardOf);
}

}  // namespace
}  // namespace tune::models::cuda
