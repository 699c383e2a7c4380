#include "models/architecture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace tune::models {
namespace {

// Rows of table 2 of the paper: expansion t, channels c, repeats n, first stride s.
struct Stage {
  int expansion, channels, repeats, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr int kStemChannels = 32;
constexpr int kLastChannels = 1280;

class Builder {
 public:
  explicit Builder(int image_size) : size_(image_size) {}

  void Add(ConvolutionKind kind, const std::string& name, const std::string& batch_norm_name,
           int out_channels, int stride) {
    Convolution c;
    c.kind = kind;
    c.name = name;
    c.batch_norm_name = batch_norm_name;
    c.in_channels = channels_;
    c.out_channels = out_channels;
    c.stride = stride;
    c.in_size = size_;
    c.out_size = (size_ - 1) / stride + 1;
    const int64_t in_per_group = kind == ConvolutionKind::kDepthwise ? 1 : c.in_channels;
    const int64_t kernel = kind == ConvolutionKind::kPointwise ? 1 : 3;
    AddTensor(name + ".weight", {out_channels, in_per_group, kernel, kernel}, TensorRole::kWeight);
    AddTensor(batch_norm_name + ".weight", {out_channels}, TensorRole::kBatchNormScale);
    AddTensor(batch_norm_name + ".bias", {out_channels}, TensorRole::kBatchNormShift);
    AddTensor(batch_norm_name + ".running_mean", {out_channels}, TensorRole::kRunningMean);
    AddTensor(batch_norm_name + ".running_var", {out_channels}, TensorRole::kRunningVariance);
    AddTensor(batch_norm_name + ".num_batches_tracked", {}, TensorRole::kBatchCount);
    channels_ = out_channels;
    size_ = c.out_size;
    result_.convolutions.push_back(std::move(c));
  }

  void AddBlock(const std::string& name, int expansion, int out_channels, int stride) {
    const int in_channels = channels_;
    const int hidden = in_channels * expansion;
    int index = 0;
    if (expansion != 1) {
      Add(ConvolutionKind::kPointwise, name + ".conv.0.0", name + ".conv.0.1", hidden, 1);
      index = 1;
    }
    const std::string depthwise = name + ".conv." + std::to_string(index);
    Add(ConvolutionKind::kDepthwise, depthwise + ".0", depthwise + ".1", hidden, stride);
    Add(ConvolutionKind::kPointwise, name + ".conv." + std::to_string(index + 1),
        name + ".conv." + std::to_string(index + 2), out_channels, 1);
    result_.convolutions.back().relu6 = false;
    result_.convolutions.back().residual = stride == 1 && in_channels == out_channels;
  }

  Architecture Finish(int class_count) {
    result_.feature_count = channels_;
    result_.backbone_count = result_.parameter_count;
    AddTensor("classifier.1.weight", {class_count, channels_}, TensorRole::kWeight);
    AddTensor("classifier.1.bias", {class_count}, TensorRole::kWeight);
    return std::move(result_);
  }

 private:
  void AddTensor(std::string name, std::vector<int64_t> shape, TensorRole role) {
    TensorSpec tensor{std::move(name), std::move(shape), role, 0};
    if (tensor.is_parameter()) {
      tensor.offset = result_.parameter_count;
      result_.parameter_count += tensor.size();
    } else if (role != TensorRole::kBatchCount) {
      tensor.offset = result_.statistic_count;
      result_.statistic_count += tensor.size();
    }
    result_.tensors.push_back(std::move(tensor));
  }

  Architecture result_;
  int channels_ = 3;
  int size_;
};

}  // namespace

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

bool TensorSpec::is_parameter() const {
  return role == TensorRole::kWeight || role == TensorRole::kBatchNormScale ||
         role == TensorRole::kBatchNormShift;
}

const TensorSpec& Architecture::Find(const std::string& name) const {
  for (const TensorSpec& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  TUNE_CHECK(false);
}

int RoundChannels(double value) {
  const int rounded = std::max(8, static_cast<int>(value + 4) / 8 * 8);
  return rounded < 0.9 * value ? rounded + 8 : rounded;
}

Architecture BuildArchitecture(const NetworkOptions& options) {
  Builder builder(options.image_size);
  builder.Add(ConvolutionKind::kStem, "features.0.0", "features.0.1",
              RoundChannels(kStemChannels * options.width_mult), 2);
  int block = 1;
  for (const Stage& stage : kStages) {
    const int channels = RoundChannels(stage.channels * options.width_mult);
    for (int i = 0; i < stage.repeats; ++i) {
      builder.AddBlock("features." + std::to_string(block++), stage.expansion, channels,
                       i == 0 ? stage.stride : 1);
    }
  }
  const std::string last = "features." + std::to_string(block);
  builder.Add(ConvolutionKind::kPointwise, last + ".0", last + ".1",
              RoundChannels(kLastChannels * std::max(1.0, options.width_mult)), 1);
  return builder.Finish(options.class_count);
}

int64_t StateFloatCountMax(const Architecture& architecture) {
  return 2 * (architecture.parameter_count + architecture.statistic_count) +
         2 * architecture.parameter_count;
}

std::vector<float> InitialParameters(const Architecture& architecture, uint64_t seed) {
  std::vector<float> parameters(architecture.parameter_count, 0.0f);
  for (const TensorSpec& tensor : architecture.tensors) {
    if (!tensor.is_parameter()) continue;
    float* begin = parameters.data() + tensor.offset;
    if (tensor.role == TensorRole::kBatchNormScale) std::fill_n(begin, tensor.size(), 1.0f);
    if (tensor.role != TensorRole::kWeight || tensor.shape.size() == 1) continue;
    // Kaiming normal, fan-out: out channels times the kernel's area, whatever the groups. The
    // linear layer has 0.01.
    const bool linear = tensor.shape.size() == 2;
    const double deviation =
        linear ? 0.01
               : std::sqrt(2.0 / static_cast<double>(tensor.shape[0] * tensor.shape[2] *
                                                     tensor.shape[3]));
    KeyedRandom random(seed, tensor.name);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      begin[i] = static_cast<float>(deviation * random.NextNormal());
    }
  }
  return parameters;
}

}  // namespace tune::models
