// The networks of network.h that store tensors in T: float or Bf16. Each is compiled alone
// (network_fp32.cu, network_bf16.cu), from networks_of.cuh: the kernels are the long part of the
// build.
//
// Thread rule and errors: network.h.
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/gradient_exchange.h"
#include "models/mobilenet_v2.h"
#include "models/ranks/all_reduce.h"
#include "models/train/batch_runner.h"
#include "models/train/lane_runner.h"

namespace tune::models::cuda {

template <class T>
struct NetworksOf {
  static Result<std::unique_ptr<MobileNetV2>> Create(const NetworkOptions& options, uint64_t seed);
  // Null where the network is another one.
  static Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(
      MobileNetV2& network, std::shared_ptr<const Dataset> dataset);
  static Result<std::unique_ptr<GradientExchange>> MakeExchange(MobileNetV2& network,
                                                                AllReduce& ranks);
  static Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                            std::shared_ptr<const Dataset> dataset);
};

}  // namespace tune::models::cuda
