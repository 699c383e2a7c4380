// What MobileNetV2 is made of, apart from any backend: its convolutions in order of execution, and
// its tensors with torchvision's names, shapes and order. Source: Sandler et al., CVPR 2018, table
// 2, as torchvision 0.14 builds it.
//
// Thread rule: values; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/mobilenet_v2.h"

namespace tune::models {

enum class ConvolutionKind {
  kStem,       // 3x3, stride 2, all channels to all channels.
  kPointwise,  // 1x1.
  kDepthwise,  // 3x3, one filter per channel.
};

// A convolution without bias, padded by 1 where it is 3x3, and the batch norm that follows it.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::kPointwise;
  std::string name;             // "features.2.conv.0.0"
  std::string batch_norm_name;  // "features.2.conv.0.1"
  int in_channels = 0;
  int out_channels = 0;
  int stride = 1;
  int in_size = 0;   // Height and width of the input.
  int out_size = 0;  // Height and width of the output.
  // Whether ReLU6 follows. Without it, this convolution ends a block, and its normalised output
  // (plus the block's input if `residual`) is what the next convolution reads.
  bool relu6 = true;
  bool residual = false;
};

// 1 for a scalar.
int64_t ElementCount(const std::vector<int64_t>& shape);

enum class TensorRole {
  kWeight,
  kBatchNormScale,
  kBatchNormShift,
  kRunningMean,
  kRunningVariance,
  kBatchCount
};

// A tensor of the state, at `offset` floats in the flat array of parameters (kWeight,
// kBatchNormScale, kBatchNormShift) or in that of statistics (kRunningMean, kRunningVariance).
// kBatchCount is one scalar and has no offset.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  TensorRole role = TensorRole::kWeight;
  int64_t offset = 0;
  int64_t size() const { return ElementCount(shape); }
  bool is_parameter() const;
};

struct Architecture {
  std::vector<Convolution> convolutions;
  std::vector<TensorSpec> tensors;  // In the order of torchvision's state_dict.
  int feature_count = 0;            // Inputs of the linear layer.
  int64_t parameter_count = 0;      // Floats in the flat array of parameters.
  int64_t backbone_count = 0;       // The first of them: all but the linear layer's.
  int64_t statistic_count = 0;

  const TensorSpec& Find(const std::string& name) const;
};

Architecture BuildArchitecture(const NetworkOptions& options);

// The floats of a training state at its largest: the weights and statistics of the present and of
// the best epoch, and Adam's two moments.
int64_t StateFloatCountMax(const Architecture& architecture);

// The parameters as torchvision would draw them, each tensor keyed by (seed, its name).
std::vector<float> InitialParameters(const Architecture& architecture, uint64_t seed);

// `value` rounded to a multiple of eight, never below nine tenths of it.
int RoundChannels(double value);

}  // namespace tune::models
