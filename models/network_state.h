// The numbers a network is made of, in flat arrays laid out by its Architecture, and their way in
// and out by torchvision's names. The same for every backend whose arrays have the row-major layout
// of the architecture's tensors.
//
// Thread rule: values; pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "models/architecture.h"

namespace tune::models {

struct NetworkState {
  std::vector<float> parameters;
  std::vector<float> statistics;      // Running means and variances.
  std::vector<int64_t> batch_counts;  // One per batch norm, in order.
  std::vector<float> adam_m, adam_v;  // As long as `parameters`.
  int64_t head_steps = 0;
  int64_t backbone_steps = 0;
};

NetworkState InitialState(const Architecture& architecture, uint64_t seed);

std::vector<NamedTensor> ExportWeights(const Architecture& architecture, const NetworkState& state);
std::vector<NamedTensor> ExportOptimizer(const Architecture& architecture,
                                         const NetworkState& state);
// Parameters only; `parameters` is a flat array of them. `backbone` false: the linear layer's
// alone.
std::vector<NamedTensor> ExportParameters(const Architecture& architecture,
                                          std::span<const float> parameters, bool backbone);

// See MobileNetV2. On failure `state` is unchanged.
Status ImportWeights(const Architecture& architecture, std::span<const NamedTensor> tensors,
                     bool head_optional, NetworkState* state);
Status ImportOptimizer(const Architecture& architecture, std::span<const NamedTensor> tensors,
                       NetworkState* state);

}  // namespace tune::models
