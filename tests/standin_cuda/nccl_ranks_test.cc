// Ranks on cards of their own, that add up by NCCL inside captured steps: on the device in CUDA's
// place, with the library in NCCL's place. Ranks are threads.
#include <atomic>

#include "models/cuda/cuda_card.cuh"
#include "tests/models/cuda/rank_cases.h"

namespace tune::models::cuda {
namespace {

std::unique_ptr<CudaCard> MakeCard() {
  static std::atomic<int> cards = 0;
  standin_cuda::UseDevice(++cards);
  auto card = CudaCard::Open();
  TUNE_CHECK(card.ok());
  return *std::move(card);
}

TEST(NcclRanks, ASharedStepIsThatOfProcessors) {
  SharedStepIsThatOfProcessors<CudaCard>(Path::kCards, MakeCard, 1e-3);
}
TEST(NcclRanks, TwoRanksAreOneWithTheDoubledBatch) {
  TwoRanksAreOneWithTheDoubledBatch<CudaCard>(Path::kCards, MakeCard, 1e-4);
}
TEST(NcclRanks, TrainingIsThatOnProcessors) {
  TrainingOnCardsIsThatOnProcessors<CudaCard>(Path::kCards, MakeCard, 2e-2);
}

}  // namespace
}  // namespace tune::models::cuda
