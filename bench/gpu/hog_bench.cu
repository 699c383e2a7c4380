// A trial that asks for the whole device, again and again, while another one trains beside it.
//   bench_gpu_hog SHARE
// may have SHARE of the device's memory (0.5), as the worker tells it (TUNE_GPU_MEMORY_BYTES); it
// takes memory until it is refused, gives all of it back and begins anew, until its input ends.
// Prints lines of "name value": how often it was refused, the most bytes that it was given. Fails if
// the device fails it otherwise than by refusing memory. Ends with 77 where there is no device.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "models/cuda/cuda_card.cuh"
#include "models/cuda/memory_budget.h"

namespace tune::models::cuda {
namespace {

constexpr int64_t kBlockBytes = int64_t{256} << 20;

bool InputEnded() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;  // Nothing is ever written to it.
}

Status Run(double share) {
  // The first card opens the device, so that it can be asked how large it is.
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<CudaCard> device, CudaCard::Open());
  size_t free_bytes = 0, all_bytes = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free_bytes, &all_bytes); error != cudaSuccess) {
    return CudaFailure(error, "cudaMemGetInfo", device->name());
  }
  const int64_t share_bytes = static_cast<int64_t>(share * static_cast<double>(all_bytes));
  int64_t refused = 0, held_max = 0;
  do {
    const auto budget = std::make_shared<MemoryBudget>(CapOfShare(share_bytes));
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<CudaCard> card, CudaCard::Open(budget));
    std::vector<CudaCard::Array<unsigned char>> held;
    while (card->status().ok()) held.push_back(card->New<unsigned char>(kBlockBytes));
    if (card->status().code() != StatusCode::kResourceExhausted) return card->status();
    held_max = std::max(held_max, budget->taken());
    ++refused;
  } while (!InputEnded());
  std::printf("refused %lld\nheld_bytes_max %lld\nshare_bytes %lld\n",
              static_cast<long long>(refused), static_cast<long long>(held_max),
              static_cast<long long>(share_bytes));
  return OkStatus();
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_gpu_hog SHARE\n");
    return 2;
  }
  const Status status = Run(std::atof(argv[1]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_gpu_hog: %s\n", status.message().c_str());
  return status.code() == StatusCode::kFailedPrecondition ? 77 : 1;
}

}  // namespace
}  // namespace tune::models::cuda

int main(int argc, char** argv) { return tune::models::cuda::Main(argc, argv); }
