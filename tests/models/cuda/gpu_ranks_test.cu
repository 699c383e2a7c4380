// Ranks on a real card that they share: NCCL has no such ranks, so their gradients go through the
// host. Without a card, every test skips. What ranks on cards of their own do is tried by the
// processes of tests/e2e/ranks_test.cc.
#include <nccl.h>

#include <cstdio>

#include "models/cuda/cuda_card.cuh"
#include "models/cuda/nccl.h"
#include "tests/models/cuda/rank_cases.h"

namespace tune::models::cuda {
namespace {

// What nccl.cc says of NVIDIA's header, without it.
static_assert(sizeof(ncclUniqueId) == sizeof(Nccl::Id));
static_assert(ncclSuccess == 0 && ncclRemoteError == 6 && ncclInProgress == 7);
static_assert(ncclFloat32 == 7 && ncclSum == 0);
static_assert(std::is_same_v<decltype(&ncclCommInitRank),
                             ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int)>);
static_assert(std::is_same_v<decltype(&ncclAllReduce),
                             ncclResult_t (*)(const void*, void*, size_t, ncclDataType_t,
                                              ncclRedOp_t, ncclComm_t, cudaStream_t)>);
static_assert(
    std::is_same_v<decltype(&ncclCommGetAsyncError), ncclResult_t (*)(ncclComm_t, ncclResult_t*)>);

// Without a card, too.
TEST(InstalledNccl, HasTheCallsThatWeUse) {
  const auto nccl = Nccl::Load();
  if (!nccl.ok()) GTEST_SKIP() << nccl.status().message();
  int major = 0;
  ASSERT_EQ(std::sscanf((*nccl)->name().c_str(), "NCCL %d.", &major), 1) << (*nccl)->name();
  EXPECT_EQ(major, 2);
}

std::unique_ptr<CudaCard> MakeCard() {
  auto card = CudaCard::Open();
  TUNE_CHECK(card.ok());
  return std::move(*card);
}

class GpuRanks : public testing::Test {
 protected:
  void SetUp() override {
    const auto card = CudaCard::Open();
    if (!card.ok()) GTEST_SKIP() << "no GPU: " << card.status().message();
  }
};

TEST_F(GpuRanks, OnOneCardAreToldThatTheyShareIt) {
  OnRanks(2, [](AllReduce& ranks) {
    const auto card = MakeCard();
    const Status joined = card->JoinRanks(ranks);
    EXPECT_EQ(joined.code(), StatusCode::kFailedPrecondition) << joined.message();
    EXPECT_TRUE(card->status().ok()) << "it goes on without NCCL";
  });
}
TEST_F(GpuRanks, ASharedStepIsThatOfProcessors) {
  SharedStepIsThatOfProcessors<CudaCard>(Path::kHost, MakeCard, 1e-3);
}
TEST_F(GpuRanks, TwoRanksAreOneWithTheDoubledBatch) {
  TwoRanksAreOneWithTheDoubledBatch<CudaCard>(Path::kHost, MakeCard, 1e-4);
}
TEST_F(GpuRanks, TrainingIsThatOnProcessors) {
  TrainingOnCardsIsThatOnProcessors<CudaCard>(Path::kHost, MakeCard, 2e-2);
}

}  // namespace
}  // namespace tune::models::cuda
