// MobileNetV2 on a CUDA device: own kernels for everything but the matrix products, which are
// cuBLAS's; NHWC; bf16 with fp32 weights, Adam and batch-norm statistics, or fp32 throughout; each
// step a CUDA graph. Where the project is built without CUDA, network_fallback.cc answers that
// there is none.
//
// What was tried and what was not: the kernels, their geometry and the order of launches run on the
// processor in tests and agree there with the CPU's network (tests/models/cuda/). On a real card
// nothing of this folder has run yet: launches, graphs, cuBLAS calls and all speed are untried. The
// first to have one runs bench/gpu/run.
//
// Results have the same bits each time on the same device and CUDA version.
// Thread rule and errors: models/mobilenet_v2.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/gradient_exchange.h"
#include "models/mobilenet_v2.h"
#include "models/ranks/all_reduce.h"
#include "models/train/batch_runner.h"
#include "models/train/lane_runner.h"

namespace tune::models::cuda {

// "NVIDIA H200 (device 0)"; kFailedPrecondition, with the reason, where no card can be used.
Result<std::string> CardName();

// Checked options. Fails where no card can be used or its memory is too small.
Result<std::unique_ptr<MobileNetV2>> CreateNetwork(const NetworkOptions& options, uint64_t seed);

// For a network of CreateNetwork, a runner that keeps on its card what of the data set has room
// there (card_dataset.h); null for another one. The network outlives it.
Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(MobileNetV2& network,
                                                     std::shared_ptr<const Dataset> dataset);

// For a network of CreateNetwork, as each of the ranks has one: where they add up gradients from
// card to card, by NCCL; null for another network. kFailedPrecondition, on all ranks alike, with
// the reason, where they cannot (nccl_meeting.h). The network outlives it.
Result<std::unique_ptr<GradientExchange>> MakeExchange(MobileNetV2& network, AllReduce& ranks);

// Lanes on a card, and the data set. Checked options.
Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                   std::shared_ptr<const Dataset> dataset);

}  // namespace tune::models::cuda
