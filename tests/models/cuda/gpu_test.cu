// The card's kernels and network on a real card, against the CPU's. Without one, every test skips.
#include "models/cuda/cuda_card.cuh"
#include "tests/models/cuda/depthwise_cases.h"
#include "tests/models/cuda/image_cases.h"
#include "tests/models/cuda/network_cases.h"
#include "tests/models/cuda/stream_cases.h"

namespace tune::models::cuda {
namespace {

std::unique_ptr<CudaCard> MakeCard() {
  auto card = CudaCard::Open();
  TUNE_CHECK(card.ok());
  return std::move(*card);
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto card = CudaCard::Open();
    if (!card.ok()) GTEST_SKIP() << "no GPU: " << card.status().message();
  }
};

TEST_F(Gpu, DepthwiseForward) {
  DepthwiseForwardAgrees<float>(*MakeCard());
  DepthwiseForwardAgrees<Bf16>(*MakeCard());
}
TEST_F(Gpu, DepthwiseBackward) {
  DepthwiseBackwardAgrees<float>(*MakeCard());
  DepthwiseBackwardAgrees<Bf16>(*MakeCard());
}
TEST_F(Gpu, Products) {
  ProductsAgree<float>(*MakeCard());
  ProductsAgree<Bf16>(*MakeCard());
}
TEST_F(Gpu, BatchNorm) {
  BatchNormAgrees<float>(*MakeCard());
  BatchNormAgrees<Bf16>(*MakeCard());
}
TEST_F(Gpu, HasTheGradientsOfTheCpu) { HasTheGradientsOfTheCpu<CudaCard, float>(MakeCard, 1e-3); }
TEST_F(Gpu, GradientIsTheSlopeOfTheLoss) { GradientIsTheSlopeOfTheLoss<CudaCard>(MakeCard); }
TEST_F(Gpu, TrainsAsTheCpu) { TrainsAsTheCpu<CudaCard, float>(MakeCard, 4, 1e-3, 0.1); }
TEST_F(Gpu, TrainsInBf16CloseToTheCpu) { TrainsAsTheCpu<CudaCard, Bf16>(MakeCard, 3, 0.15); }
TEST_F(Gpu, ResumesBitForBit) { ResumesBitForBit<CudaCard, float>(MakeCard); }
TEST_F(Gpu, ResumesBitForBitInBf16) { ResumesBitForBit<CudaCard, Bf16>(MakeCard); }
TEST_F(Gpu, MovesOnlyTheHeadWhileTheBackboneIsFrozen) {
  MovesOnlyTheHeadWhileTheBackboneIsFrozen<CudaCard>(MakeCard);
}
// cuBLAS may choose another kernel for several lanes than for one, and the weights are those of a
// beginning, where little is settled; another lane's gradient is wholly another.
TEST_F(Gpu, EachLaneIsOnItsOwn) { EachLaneIsOnItsOwn<CudaCard, float>(MakeCard, 5e-2); }
TEST_F(Gpu, ImagesAreThoseOfTheHost) { ImagesAreThoseOfTheHost<CudaCard>(MakeCard, 8); }
TEST_F(Gpu, RunnerSeesTheImagesOfTheHost) { RunnerSeesTheImagesOfTheHost<CudaCard>(MakeCard); }

std::unique_ptr<CudaCard> MakeCardOf(std::shared_ptr<MemoryBudget> budget) {
  auto card = CudaCard::Open(std::move(budget));
  TUNE_CHECK(card.ok());
  return std::move(*card);
}
TEST_F(Gpu, LanesOfAllPhasesAreAsAlone) {
  LanesOfAllPhasesAreAsAlone(OnTheCard<CudaCard, float>(MakeCardOf, kWithinRounding));
}
TEST_F(Gpu, LanesJoinAndLeaveWithoutATrace) {
  LanesJoinAndLeaveWithoutATrace(OnTheCard<CudaCard, float>(MakeCardOf, kWithinRounding));
}
TEST_F(Gpu, ALaneThatDivergesHurtsItselfAlone) {
  ALaneThatDivergesHurtsItselfAlone(OnTheCard<CudaCard, float>(MakeCardOf, kWithinRounding));
}

TEST_F(Gpu, DataThatStreamsGivesTheBitsOfDataThatIsThere) {
  ARunWhoseDataStreamsIsAsOneWhoseDataIsThere<CudaCard, float>(MakeCardOf);
  ARunWhoseDataStreamsIsAsOneWhoseDataIsThere<CudaCard, Bf16>(MakeCardOf);
}
TEST_F(Gpu, DataIsSentAheadForAllButAPasssFirstStep) {
  TheImagesOfAllButAPasssFirstStepAreSentAhead<CudaCard, float>(MakeCardOf);
}
TEST_F(Gpu, DataThatWasNotSentAheadIsRightToo) {
  ImagesThatWereNotSentAheadAreRightToo<CudaCard>(MakeCardOf);
}
TEST_F(Gpu, DataLiesThereAsFarAsThereIsRoom) {
  WhatHasRoomLiesOnTheCardAndTheRestStreams<CudaCard, float>(MakeCardOf);
}

TEST_F(Gpu, SaysThatItsMemoryIsTooSmallAndGoesOn) {
  const auto card = MakeCard();
  const auto array = card->New<float>(int64_t{1} << 44);
  EXPECT_EQ(array.data(), nullptr);
  EXPECT_EQ(card->status().code(), StatusCode::kResourceExhausted) << card->status().message();
  EXPECT_TRUE(CudaCard::Open().ok());
}

}  // namespace
}  // namespace tune::models::cuda
