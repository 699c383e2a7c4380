#include "models/cpu/network.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/check.h"
#include "models/architecture.h"
#include "models/cpu/adam.h"
#include "models/cpu/batch_norm.h"
#include "models/cpu/buffer.h"
#include "models/cpu/depthwise.h"
#include "models/cpu/gemm.h"
#include "models/cpu/head.h"
#include "models/cpu/layer.h"
#include "models/cpu/parts.h"
#include "models/cpu/pointwise.h"
#include "models/cpu/simd.h"
#include "models/cpu/stem.h"
#include "models/network_state.h"

namespace tune::models::cpu {
namespace {

class CpuNetwork final : public MobileNetV2 {
 public:
  CpuNetwork(const NetworkOptions& options, uint64_t seed);

  const NetworkOptions& options() const override { return options_; }
  int64_t memory_bytes() const override { return memory_floats_ * int64_t{sizeof(float)}; }

  Result<BatchResult> TrainStep(std::span<const float> images, std::span<const int32_t> labels,
                                const TrainStepOptions& options) override;
  Result<BatchResult> Evaluate(std::span<const float> images, std::span<const int32_t> labels,
                               std::span<float> logits) override;

  Result<std::vector<NamedTensor>> ExportGradients() const override {
    if (!has_gradients_) return std::vector<NamedTensor>();
    const std::span<const float> gradients(gradients_[0].data(), gradients_[0].size());
    return ExportParameters(architecture_, gradients, backbone_has_gradients_);
  }
  Result<std::vector<NamedTensor>> ExportWeights() const override {
    return models::ExportWeights(architecture_, state_);
  }
  Status ImportWeights(std::span<const NamedTensor> tensors, bool head_optional) override {
    weights_packed_ = false;
    return models::ImportWeights(architecture_, tensors, head_optional, &state_);
  }
  Result<std::vector<NamedTensor>> ExportOptimizer() const override {
    return models::ExportOptimizer(architecture_, state_);
  }
  Status ImportOptimizer(std::span<const NamedTensor> tensors) override {
    return models::ImportOptimizer(architecture_, tensors, &state_);
  }

 private:
  Buffer NewBuffer(int64_t floats) {
    memory_floats_ += floats;
    return Buffer(floats);
  }
  void AllocateGradients();
  void CheckBatch(std::span<const float> images, std::span<const int32_t> labels) const;

  void PackWeights();
  void PackLayer(Layer& layer);

  // Reads downwards: the images, each convolution with its batch norm, the pooled features.
  void ForwardBackbone(const float* images, int batch, bool training);
  void ForwardLayer(size_t index, const float* images, int batch, bool training);
  PointwiseInput InputOf(size_t index) const;

  void BackwardBackbone(const float* images, int batch, const std::optional<BatchShare>& share);
  void BackwardPointwise(size_t index, int batch);
  void BackwardDepthwise(size_t index, int batch);
  void BackwardStem(const float* images, int batch);

  void HandOver(const Layer& layer, GradientExchange& exchange);
  void Update(const TrainStepOptions& options);
  void UpdateRange(int64_t begin, int64_t end, const AdamRates& rates, size_t part_count);

  const float* parameter(int64_t at) const { return state_.parameters.data() + at; }
  float* gradient(int64_t at) { return gradients_[0].data() + at; }
  const float* linear_weights() const { return parameter(architecture_.backbone_count); }
  int64_t linear_weight_count() const {
    return static_cast<int64_t>(head_.features) * head_.classes;
  }

  const NetworkOptions options_;
  const Architecture architecture_;
  const int parts_;
  HeadShape head_;
  NetworkState state_;
  bool weights_packed_ = false;
  bool has_gradients_ = false;
  bool backbone_has_gradients_ = false;
  int64_t memory_floats_ = 0;

  std::vector<Layer> layers_;
  // Memory of the layers' dz. The gradients of two neighbours are alive at once; those of the ends
  // of blocks live on until the beginning of their block, for the residual connection.
  Buffer depthwise_dz_, wide_dz_, block_dz_[2];
  std::vector<Buffer> gradients_;          // Flat, one per part; their sum is the gradient.
  std::vector<Buffer> depthwise_partial_;  // Gradients of one layer's weights in the layout of its
                                           // kernel, per part.
  std::vector<Buffer> scratch_;            // Per part.
  Buffer stem_weights_;
  Buffer pooled_, mask_, logits_, logits_gradient_, pooled_gradient_;
};

CpuNetwork::CpuNetwork(const NetworkOptions& options, uint64_t seed)
    : options_(options),
      architecture_(BuildArchitecture(options)),
      parts_(options.threads),
      state_(InitialState(architecture_, seed)) {
  int64_t scratch = 0;
  int64_t partial = 0;
  layers_.reserve(architecture_.convolutions.size());
  for (const Convolution& convolution : architecture_.convolutions) {
    layers_.emplace_back(architecture_, convolution, options_.batch_max, parts_);
    memory_floats_ += layers_.back().memory_floats();
    scratch = std::max(scratch, ScratchFloats(convolution));
    partial = std::max<int64_t>(partial, convolution.out_channels * kPatchStride);
  }
  head_ = {static_cast<int>(layers_.back().pixels), architecture_.feature_count,
           options_.class_count};
  for (int part = 0; part < parts_; ++part) {
    gradients_.push_back(NewBuffer(architecture_.parameter_count));
    scratch_.push_back(NewBuffer(scratch));
    depthwise_partial_.push_back(NewBuffer(partial));
  }
  stem_weights_ = NewBuffer(layers_.front().weight_count);
  const int64_t features = static_cast<int64_t>(options_.batch_max) * head_.features;
  const int64_t logits = static_cast<int64_t>(options_.batch_max) * head_.classes;
  pooled_ = NewBuffer(features);
  mask_ = NewBuffer(features);
  pooled_gradient_ = NewBuffer(features);
  logits_ = NewBuffer(logits);
  logits_gradient_ = NewBuffer(logits);
  AllocateGradients();
  memory_floats_ += 3 * architecture_.parameter_count;  // Weights and both moments.
}

void CpuNetwork::AllocateGradients() {
  int64_t depthwise = 0, wide = 0, block = 0;
  for (const Layer& layer : layers_) {
    int64_t& largest = !layer.shape.relu6                                ? block
                       : layer.shape.kind == ConvolutionKind::kDepthwise ? depthwise
                                                                         : wide;
    largest = std::max(largest, layer.y.size());
  }
  depthwise_dz_ = NewBuffer(depthwise);
  wide_dz_ = NewBuffer(wide);
  block_dz_[0] = NewBuffer(block);
  block_dz_[1] = NewBuffer(block);
  int block_count = 0;
  for (Layer& layer : layers_) {
    layer.dz = !layer.shape.relu6 ? block_dz_[block_count++ % 2].data()
               : layer.shape.kind == ConvolutionKind::kDepthwise ? depthwise_dz_.data()
                                                                 : wide_dz_.data();
  }
}

void CpuNetwork::CheckBatch(std::span<const float> images, std::span<const int32_t> labels) const {
  TUNE_CHECK(labels.size() <= static_cast<size_t>(options_.batch_max));
  TUNE_CHECK(images.size() == labels.size() * options_.image_size * options_.image_size * 3);
  for (const int32_t label : labels) TUNE_CHECK(label >= 0 && label < options_.class_count);
}

void CpuNetwork::PackLayer(Layer& layer) {
  const float* weights = parameter(layer.weight_at);
  const int in = layer.shape.in_channels;
  const int out = layer.shape.out_channels;
  switch (layer.shape.kind) {
    case ConvolutionKind::kStem:
      StemWeightsToPatches(out, weights, stem_weights_.data());
      PackPanels(kPatch, out, stem_weights_.data(), out, 1, layer.packed.data());
      break;
    case ConvolutionKind::kDepthwise:
      for (int c = 0; c < out; ++c) {
        for (int tap = 0; tap < 9; ++tap) layer.packed.data()[tap * out + c] = weights[c * 9 + tap];
      }
      break;
    case ConvolutionKind::kPointwise:
      PackPanels(in, out, weights, 1, in, layer.packed.data());
      PackPanels(out, in, weights, in, 1, layer.packed_backward.data());
      break;
  }
}

void CpuNetwork::PackWeights() {
  if (weights_packed_) return;
  ForParts(parts_, [&](int part) {
    const int64_t begin = PartBegin(architecture_.backbone_count, part, parts_);
    const int64_t end = PartBegin(architecture_.backbone_count, part + 1, parts_);
    for (Layer& layer : layers_) {
      if (layer.weight_at >= begin && layer.weight_at < end) PackLayer(layer);
    }
  });
  weights_packed_ = true;
}

// What the convolution at `index` reads: the activated output of the one before, or the output of
// the block before.
PointwiseInput CpuNetwork::InputOf(size_t index) const {
  const Layer& before = layers_[index - 1];
  PointwiseInput input = {before.y.data(), before.norm.fold(), nullptr, nullptr};
  if (before.shape.relu6) return input;
  input.block = before.block.data();
  // The block's own input is the output of the block before it, three convolutions back.
  if (before.shape.residual) input.skip = layers_[index - 4].block.data();
  return input;
}

void CpuNetwork::ForwardLayer(size_t index, const float* images, int batch, bool training) {
  Layer& layer = layers_[index];
  const Convolution& c = layer.shape;
  const bool pointwise = c.kind == ConvolutionKind::kPointwise;
  const int64_t rows = batch * (pointwise ? layer.pixels : c.out_size);
  layer.norm.ClearSums();
  ForParts(parts_, [&](int part) {
    const int64_t begin = PartBegin(rows, part, parts_);
    const int64_t end = PartBegin(rows, part + 1, parts_);
    float* const scratch = scratch_[part].data();
    double* const sums = training ? layer.norm.sums(part) : nullptr;
    if (c.kind == ConvolutionKind::kStem) {
      RunStemForward(StemShapeOf(c), images, layer.packed.data(), layer.y.data(), begin, end,
                     scratch, sums);
    } else if (c.kind == ConvolutionKind::kDepthwise) {
      const Layer& before = layers_[index - 1];
      RunDepthwiseForward({DepthwiseShapeOf(c), before.y.data(), before.norm.fold(),
                           layer.packed.data(), layer.y.data(), layer.streaming},
                          begin, end, scratch, sums);
    } else {
      RunPointwiseForward({c.in_channels, c.out_channels, InputOf(index), layer.packed.data(),
                           layer.y.data(), layer.streaming},
                          begin, end, scratch, sums);
    }
    StreamFence();
  });
}

void CpuNetwork::ForwardBackbone(const float* images, int batch, bool training) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    ForwardLayer(i, images, batch, training);
    Layer& layer = layers_[i];
    const float* scale = parameter(layer.scale_at);
    const float* shift = parameter(layer.shift_at);
    float* mean = state_.statistics.data() + layer.mean_at;
    float* variance = state_.statistics.data() + layer.variance_at;
    if (training) {
      layer.norm.FinishForward(batch * layer.pixels, scale, shift, mean, variance);
      ++state_.batch_counts[i];
    } else {
      layer.norm.UseRunning(scale, shift, mean, variance);
    }
  }
  ForParts(parts_, [&](int part) {
    PoolForward(head_, layers_.back().y.data(), layers_.back().norm.fold(),
                PartBegin(batch, part, parts_), PartBegin(batch, part + 1, parts_), pooled_.data());
  });
}

Result<BatchResult> CpuNetwork::Evaluate(std::span<const float> images,
                                         std::span<const int32_t> labels, std::span<float> logits) {
  CheckBatch(images, labels);
  TUNE_CHECK(!labels.empty());
  const int batch = static_cast<int>(labels.size());
  PackWeights();
  ForwardBackbone(images.data(), batch, false);
  LinearForward(head_, batch, pooled_.data(), linear_weights(),
                linear_weights() + linear_weight_count(), logits_.data());
  const std::span<const float> result(logits_.data(), labels.size() * head_.classes);
  if (!logits.empty()) {
    TUNE_CHECK(logits.size() >= result.size());
    std::copy(result.begin(), result.end(), logits.begin());
  }
  return SoftmaxCrossEntropy(result, labels, nullptr);
}

Result<BatchResult> CpuNetwork::TrainStep(std::span<const float> images,
                                          std::span<const int32_t> labels,
                                          const TrainStepOptions& options) {
  CheckBatch(images, labels);
  TUNE_CHECK(labels.size() >= 2);
  const int batch = static_cast<int>(labels.size());
  const int64_t features = static_cast<int64_t>(batch) * head_.features;
  PackWeights();
  ForwardBackbone(images.data(), batch, true);

  const bool dropout = options.dropout_probability > 0;
  if (dropout) {
    DropoutMask(head_, batch, options.dropout_probability, options.dropout_seed, mask_.data(),
                options.share ? options.share->first_image : 0);
    for (int64_t i = 0; i < features; ++i) pooled_.data()[i] *= mask_.data()[i];
  }
  const int64_t weights_at = architecture_.backbone_count;
  const int64_t bias_at = weights_at + linear_weight_count();
  LinearForward(head_, batch, pooled_.data(), parameter(weights_at), parameter(bias_at),
                logits_.data());
  const std::span<const float> logits(logits_.data(), labels.size() * head_.classes);
  const BatchResult result = SoftmaxCrossEntropy(logits, labels, logits_gradient_.data(),
                                                 options.share ? options.share->whole_count : 0);

  LinearBackward(head_, batch, pooled_.data(), parameter(weights_at), logits_gradient_.data(),
                 gradient(weights_at), gradient(bias_at), pooled_gradient_.data());
  if (options.share) {
    options.share->exchange->Begin(
        {gradients_[0].data(), static_cast<size_t>(gradients_[0].size())});
    options.share->exchange->Ready(weights_at);
  }
  if (options.train_backbone) {
    if (dropout) {
      for (int64_t i = 0; i < features; ++i) pooled_gradient_.data()[i] *= mask_.data()[i];
    }
    BackwardBackbone(images.data(), batch, options.share);
  }
  if (options.share) TUNE_RETURN_IF_ERROR(options.share->exchange->Finish());
  Update(options);
  return result;
}

void CpuNetwork::BackwardBackbone(const float* images, int batch,
                                  const std::optional<BatchShare>& share) {
  Layer& last = layers_.back();
  last.norm.ClearSums();
  ForParts(parts_, [&](int part) {
    PoolBackward(head_, pooled_gradient_.data(), last.y.data(), last.norm.fold(),
                 PartBegin(batch, part, parts_), PartBegin(batch, part + 1, parts_), last.dz,
                 last.norm.sums(part));
  });
  for (size_t i = layers_.size(); i-- > 0;) {
    Layer& layer = layers_[i];
    layer.norm.FinishBackward(batch * layer.pixels, parameter(layer.scale_at),
                              gradient(layer.scale_at), gradient(layer.shift_at));
    if (i > 0) layers_[i - 1].norm.ClearSums();
    if (layer.shape.kind == ConvolutionKind::kPointwise) BackwardPointwise(i, batch);
    if (layer.shape.kind == ConvolutionKind::kDepthwise) BackwardDepthwise(i, batch);
    if (layer.shape.kind == ConvolutionKind::kStem) BackwardStem(images, batch);
    if (share) HandOver(layer, *share->exchange);
  }
}

// The layer's gradients, and those of all after it, are this rank's part of the sum over the ranks.
void CpuNetwork::HandOver(const Layer& layer, GradientExchange& exchange) {
  if (layer.shape.kind == ConvolutionKind::kPointwise) {
    ForParts(parts_, [&](int part) {
      const int64_t begin = PartBegin(layer.weight_count, part, parts_);
      const int64_t end = PartBegin(layer.weight_count, part + 1, parts_);
      float* const sum = gradient(layer.weight_at);
      for (int other = 1; other < parts_; ++other) {
        const float* const more = gradients_[other].data() + layer.weight_at;
        for (int64_t i = begin; i < end; ++i) sum[i] += more[i];
      }
    });
  }
  exchange.Ready(layer.weight_at);
}

void CpuNetwork::BackwardPointwise(size_t index, int batch) {
  Layer& layer = layers_[index];
  Layer& before = layers_[index - 1];
  PointwiseBackward pass;
  pass.in = layer.shape.in_channels;
  pass.out = layer.shape.out_channels;
  pass.dz = layer.dz;
  pass.y = layer.y.data();
  pass.gradient = layer.norm.gradient();
  pass.weights = layer.packed_backward.data();
  pass.input = InputOf(index);
  // The convolution that begins a residual block: its input's gradient comes by the residual
  // connection too.
  if (!before.shape.relu6 && index + 2 < layers_.size() && layers_[index + 2].shape.residual) {
    pass.skip_gradient = layers_[index + 2].dz;
  }
  pass.input_dz = before.dz;
  pass.streaming = before.streaming;
  const int64_t rows = batch * layer.pixels;
  ForParts(parts_, [&](int part) {
    RunPointwiseBackward(pass, PartBegin(rows, part, parts_), PartBegin(rows, part + 1, parts_),
                         scratch_[part].data(), before.norm.sums(part),
                         gradients_[part].data() + layer.weight_at);
    StreamFence();
  });
}

void CpuNetwork::BackwardDepthwise(size_t index, int batch) {
  Layer& layer = layers_[index];
  Layer& before = layers_[index - 1];
  const DepthwiseBackward pass = {DepthwiseShapeOf(layer.shape),
                                  layer.dz,
                                  layer.y.data(),
                                  layer.norm.gradient(),
                                  layer.packed.data(),
                                  before.y.data(),
                                  before.norm.fold(),
                                  before.dz,
                                  before.streaming};
  const int64_t rows = static_cast<int64_t>(batch) * layer.shape.in_size;
  ForParts(parts_, [&](int part) {
    RunDepthwiseBackward(pass, PartBegin(rows, part, parts_), PartBegin(rows, part + 1, parts_),
                         scratch_[part].data(), before.norm.sums(part),
                         depthwise_partial_[part].data());
    StreamFence();
  });
  const int channels = layer.shape.out_channels;
  float* const target = gradient(layer.weight_at);
  for (int c = 0; c < channels; ++c) {
    for (int tap = 0; tap < 9; ++tap) {
      float sum = 0;
      for (const Buffer& partial : depthwise_partial_) sum += partial.data()[tap * channels + c];
      target[c * 9 + tap] = sum;
    }
  }
}

void CpuNetwork::BackwardStem(const float* images, int batch) {
  Layer& layer = layers_.front();
  const StemShape shape = StemShapeOf(layer.shape);
  const int64_t rows = static_cast<int64_t>(batch) * shape.out_size;
  ForParts(parts_, [&](int part) {
    RunStemBackward(shape, images, layer.dz, layer.y.data(), layer.norm.gradient(),
                    PartBegin(rows, part, parts_), PartBegin(rows, part + 1, parts_),
                    scratch_[part].data(), depthwise_partial_[part].data());
  });
  float* const sum = depthwise_partial_[0].data();
  for (int part = 1; part < parts_; ++part) {
    for (int i = 0; i < shape.out * kPatchStride; ++i) sum[i] += depthwise_partial_[part].data()[i];
  }
  StemGradientFromPatches(shape.out, sum, gradient(layer.weight_at));
}

// The gradient is the sum of the first `part_count` parts.
void CpuNetwork::UpdateRange(int64_t begin, int64_t end, const AdamRates& rates,
                             size_t part_count) {
  ForParts(parts_, [&](int part) {
    const int64_t first = begin + PartBegin(end - begin, part, parts_);
    const int64_t last = begin + PartBegin(end - begin, part + 1, parts_);
    std::vector<float*> gradients;
    for (size_t i = 0; i < part_count; ++i) gradients.push_back(gradients_[i].data() + first);
    AdamUpdate(last - first, rates, gradients, state_.adam_m.data() + first,
               state_.adam_v.data() + first, state_.parameters.data() + first);
  });
}

void CpuNetwork::Update(const TrainStepOptions& options) {
  const int64_t backbone = architecture_.backbone_count;
  // What was exchanged is summed.
  const size_t part_count = options.share ? 1 : gradients_.size();
  if (options.train_backbone) {
    UpdateRange(0, backbone, {options.backbone_lr, options.weight_decay, ++state_.backbone_steps},
                part_count);
  }
  UpdateRange(backbone, architecture_.parameter_count,
              {options.head_lr, options.weight_decay, ++state_.head_steps}, part_count);
  has_gradients_ = true;
  backbone_has_gradients_ = options.train_backbone;
  weights_packed_ = weights_packed_ && !options.train_backbone;
}

}  // namespace

std::unique_ptr<MobileNetV2> CreateNetwork(const NetworkOptions& options, uint64_t seed) {
  return std::make_unique<CpuNetwork>(options, seed);
}

}  // namespace tune::models::cpu
