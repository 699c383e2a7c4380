// The card's network on the processor in the card's place, against the CPU's: the same kernels,
// geometry, reductions and order of launches, where there is no card.
#include <gmock/gmock.h>

#include "models/cuda/host_card.h"
#include "models/cuda/network.h"
#include "tests/models/cuda/image_cases.h"
#include "tests/models/cuda/network_cases.h"

namespace tune::models::cuda {
namespace {

constexpr auto kMake = [] { return std::make_unique<HostCard>(); };

TEST(NetworkOnTheHost, HasTheGradientsOfTheCpu) {
  HasTheGradientsOfTheCpu<HostCard, float>(kMake, 1e-3);
}
TEST(NetworkOnTheHost, GradientIsTheSlopeOfTheLoss) {
  GradientIsTheSlopeOfTheLoss<HostCard>(kMake);
}
TEST(NetworkOnTheHost, TrainsAsTheCpu) { TrainsAsTheCpu<HostCard, float>(kMake, 4, 1e-3, 0.1); }
TEST(NetworkOnTheHost, TrainsInBf16CloseToTheCpu) {
  TrainsAsTheCpu<HostCard, Bf16>(kMake, 2, 0.15);
}
TEST(NetworkOnTheHost, ResumesBitForBit) { ResumesBitForBit<HostCard, float>(kMake); }
TEST(NetworkOnTheHost, ResumesBitForBitInBf16) { ResumesBitForBit<HostCard, Bf16>(kMake); }
TEST(NetworkOnTheHost, MovesOnlyTheHeadWhileTheBackboneIsFrozen) {
  MovesOnlyTheHeadWhileTheBackboneIsFrozen<HostCard>(kMake);
}
TEST(NetworkOnTheHost, EachLaneIsOnItsOwn) { EachLaneIsOnItsOwn<HostCard, float>(kMake, 0); }
TEST(NetworkOnTheHost, ImagesAreThoseOfTheHost) { ImagesAreThoseOfTheHost<HostCard>(kMake, 0); }
TEST(NetworkOnTheHost, RunnerSeesTheImagesOfTheHost) {
  RunnerSeesTheImagesOfTheHost<HostCard>(kMake);
}

// ---- a share of its memory

using HostNetwork = CardNetwork<HostCard, float>;

Result<std::unique_ptr<HostNetwork>> MakeWithin(int64_t bytes_max) {
  return HostNetwork::Make(std::make_unique<HostCard>(MemoryBudget(bytes_max)), SmallOptions(), 1);
}

TEST(MemoryBudget, ANetworkThatNeedsMoreThanItsShareIsRefusedWithBothNumbers) {
  const auto unlimited = MakeWithin(0);
  ASSERT_TRUE(unlimited.ok());
  const int64_t needed = (*unlimited)->device().budget().taken();
  EXPECT_GE(needed, (*unlimited)->memory_bytes());
  EXPECT_TRUE(MakeWithin(needed).ok());
  const auto refused = MakeWithin(needed - 1);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(),
              testing::ContainsRegex("^[0-9]+ bytes more were asked for on the processor, with "
                                     "[0-9]+ of the share's " +
                                     std::to_string(needed - 1) + " bytes taken"));
}

TEST(MemoryBudget, WhatIsFreedCanBeTakenAgain) {
  HostCard card{MemoryBudget(100)};
  {
    const auto array = card.New<float>(25);
    EXPECT_EQ(card.budget().taken(), 100);
  }
  EXPECT_EQ(card.budget().taken(), 0);
  EXPECT_EQ(card.New<float>(20).size(), 20);
  EXPECT_TRUE(card.status().ok());
  EXPECT_EQ(card.New<float>(26).size(), 0);
  EXPECT_EQ(card.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(card.New<float>(1).size(), 0) << "after an error a card does nothing";
}

TEST(MemoryBudget, IsTheShareWithoutTheContext) {
  const std::string share = std::to_string(MemoryBudget::kContextBytes + 1000);
  EXPECT_TRUE(BudgetOfShare(share).Take(1000, "d").ok());
  EXPECT_FALSE(BudgetOfShare(share).Take(1001, "d").ok());
  EXPECT_FALSE(BudgetOfShare("1000").Take(2, "d").ok()) << "a context is more than that";
  for (const char* const none : {"", "0", "-5", "12x"}) {
    EXPECT_TRUE(BudgetOfShare(none).Take(int64_t{1} << 60, "d").ok()) << none;
  }
}

TEST(Network, SaysWhyThereIsNoCard) {
  if (CardName().ok()) GTEST_SKIP() << "there is " << *CardName();
  NetworkOptions options = SmallOptions();
  options.device = DeviceKind::kCuda;
  const auto network = MobileNetV2::Create(options, 1);
  EXPECT_EQ(network.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(network.status().message(), CardName().status().message());
  options.device = DeviceKind::kAuto;
  EXPECT_TRUE(MobileNetV2::Create(options, 1).ok());
}

}  // namespace
}  // namespace tune::models::cuda
