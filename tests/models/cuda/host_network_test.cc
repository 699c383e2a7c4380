// The card's network on the processor in the card's place, against the CPU's: the same kernels,
// geometry, reductions and order of launches, where there is no card.
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
TEST(NetworkOnTheHost, TrainsAsTheCpu) { TrainsAsTheCpu<HostCard, float>(kMake, 4, 5e-3); }
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
