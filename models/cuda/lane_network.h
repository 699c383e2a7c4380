// MobileNetV2 for several trials at once on one card: B lanes of one shape, each with weights,
// Adam, batch-norm statistics, step sizes, dropout and randomness of its own. What one launch does,
// it does for all lanes (horizontal fusion: Wang et al., "Horizontally Fused Training Array", MLSys
// 2021). One trial is B = 1.
//
// Forward, of each convolution the raw output y is kept; batch norm and ReLU6 are applied where it
// is read (passes.h, depthwise.h), but for the inputs of 1x1 convolutions, which a product reads:
// those are kept too. Backward goes from dz (the gradient after batch norm) to dy and on.
//
// `Device` is a card (cuda_card.cuh) or the processor in its place (host_card.h), `T` what tensors
// are stored in: float or Bf16. Parameters, gradients of parameters, sums and Adam are float.
//
// Determinism: no atomics, one order for each sum: the same calls give the same bits, always.
// Thread rule: one thread drives a network. Errors: the device's, kept: status().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/cuda/adam.h"
#include "models/cuda/augment.h"
#include "models/cuda/head.h"
#include "models/cuda/layer.h"
#include "models/cuda/passes.h"
#include "models/cuda/product.h"
#include "models/cuda/segments.h"
#include "models/cuda/stem.h"
#include "models/cuda/step_input.h"
#include "models/gradient_exchange.h"
#include "models/network_state.h"

namespace tune::models::cuda {

template <class Device, class T>
class LaneNetwork {
 public:
  template <class U>
  using Array = typename Device::template Array<U>;

  // The device outlives the network; status() tells whether there was memory.
  LaneNetwork(Device& device, const NetworkOptions& options, int lanes);

  const Architecture& architecture() const { return architecture_; }
  int lanes() const { return lanes_; }
  const Status& status() const { return device_.status(); }
  int64_t memory_bytes() const { return memory_bytes_; }

  // The floats of a lane's state; its counts are the caller's. A lane's state is set before its
  // first step.
  Status SetState(int lane, const NetworkState& state);
  Status ReadState(int lane, NetworkState* state);
  Result<std::vector<float>> ReadGradients(int lane);

  // Normalised images (lanes, batch, image_size, image_size, 3) for the next step.
  void UploadImages(std::span<const float> images);
  // The images that the inputs name, of a set on the device (images, image_size, image_size, 3),
  // changed and normalised, for the next step.
  void MakeImages(const uint8_t* set, std::span<const ImageInput> inputs);

  // One step of all lanes on the uploaded images; inputs (lanes, batch). Results likewise. `share`:
  // of one lane, where several ranks share its batch.
  Status Train(std::span<const LaneInput> lanes, std::span<const ImageInput> inputs,
               std::span<ImageResult> results, const std::optional<BatchShare>& share = {});
  // Loss and hits with the running statistics; logits (lanes, batch, classes) unless empty.
  Status Evaluate(std::span<const ImageInput> inputs, std::span<ImageResult> results,
                  std::span<float> logits);

 private:
  using NetworkLayer = Layer<Device, T>;

  // What a captured run of launches does, and what decides which they are.
  enum class Work { kEvaluation, kStep, kSharedStep, kGradients, kUpdate };
  struct StepShape {
    int batch = 0;      // Of this network,
    int mean_over = 0;  // and of all ranks.
    bool backbone = false;
  };
  // All ranks of a step have the same part of the key that is not `batch`, which follows from it:
  // so what one of them captures they all capture, and their sums are asked for alike.
  static int64_t KeyOf(Work work, const StepShape& step) {
    return (((int64_t{step.mean_over} << 20 | step.batch) << 1 | (step.backbone ? 1 : 0)) << 3) |
           static_cast<int64_t>(work);
  }

  template <class U>
  Array<U> New(int64_t count) {
    memory_bytes_ += count * static_cast<int64_t>(sizeof(U));
    return device_.template New<U>(count);
  }
  void AllocateLayers();
  void AllocateGradients();
  void UploadInputs(std::span<const ImageInput> inputs);

  // lane_forward.h. Reads downwards: the images, each convolution with its batch norm, the head.
  void ForwardBackbone(int batch, bool training);
  void ForwardLayer(size_t index, int batch, bool training);
  void MakePointwiseInput(size_t index, int batch);
  void FinishNorm(const NetworkLayer& layer, int batch, bool training, int64_t chunks);
  void ForwardHead(int batch, int mean_over, const LaneInput* lanes, float* logits_gradient);

  // lane_backward.h. `exchange`: null where nothing is shared, or not on the card.
  void ComputeGradients(const StepShape& step, GradientExchange* exchange);
  Status SumOnHost(const StepShape& step, GradientExchange& exchange);
  void BackwardHead(int batch, bool backbone);
  void BackwardBackbone(int batch, GradientExchange* exchange);
  void BackwardPointwise(size_t index, int batch);
  void BackwardDepthwise(size_t index, int batch);
  void BackwardStem(int batch);
  template <class Operation>
  void SumAndFinish(const NetworkLayer& layer, int batch, const Operation& operation);
  void MakeDy(const NetworkLayer& layer, int batch, T* dy);
  void MakeWeightGradient(const ProductShape& shape, const T* dy, const T* x, LaneMatrix<float> dw);
  FinishBackward BackwardFinish(const NetworkLayer& layer, int batch);
  void Update();
  void CopyAllWeights();

  // For a SumPass over its output, or a RowPass.
  RowGeometry SumRowsOf(const NetworkLayer& layer, int batch) const {
    return RowGeometry::Of(batch * layer.pixels, layer.shape.out_channels);
  }
  RowGeometry RowsOf(const NetworkLayer& layer, int batch) const {
    RowBlock block;
    block.blocks_max = kRowBlocksMax;
    return RowGeometry::Of(batch * layer.pixels, layer.shape.out_channels, block);
  }
  ChannelFloats Parameter(int64_t at) const { return {parameters_.data() + at, parameter_stride_}; }
  ChannelFloats Gradient(int64_t at) const { return {gradients_.data() + at, parameter_stride_}; }
  ChannelFloats Statistic(int64_t at) const {
    return {statistics_.data() + at, architecture_.statistic_count};
  }
  NormParameters NormOf(const LayerPlace& p) const {
    return {Parameter(p.scale_at), Parameter(p.shift_at), Statistic(p.mean_at),
            Statistic(p.variance_at)};
  }
  // A lane's part of a tensor with so many numbers in each lane.
  template <class U>
  static LaneMatrix<U> Lanes(U* data, int64_t stride) {
    return {data, stride};
  }
  int64_t linear_at() const { return architecture_.backbone_count; }
  int64_t bias_at() const {
    return linear_at() + static_cast<int64_t>(options_.class_count) * architecture_.feature_count;
  }

  Device& device_;
  const NetworkOptions options_;
  const Architecture architecture_;
  const int lanes_;
  const int64_t parameter_stride_;  // Floats from one lane's parameters to the next's: aligned.
  int64_t memory_bytes_ = 0;

  std::vector<NetworkLayer> layers_;
  NormArrays<Device> norm_;
  Array<float> parameters_, gradients_, adam_m_, adam_v_, statistics_;
  Array<T> weights_, stem_weights_;     // As the products read them.
  Array<float> stem_gradient_;          // (lane, out, 32)
  Array<float> weight_gradient_parts_;  // (lane, segment, out, in)

  Array<float> images_;  // (lane, batch, image_size, image_size, 3), normalised.
  Array<T> patches_;
  Array<int64_t> grey_sums_;
  Array<float> pooled_, pooled_gradient_, logits_, logits_gradient_, partial_;
  // Gradients of layers, each used by one at a time; of block ends, dz is needed longer than dy.
  Array<T> depthwise_dz_, wide_dz_, block_dz_[2], block_dy_;
  Array<LaneInput> lane_inputs_;
  Array<ImageInput> image_inputs_;
  Array<ImageResult> results_;
  std::vector<float> host_gradients_;  // Where ranks add them up there.
};

}  // namespace tune::models::cuda

#include "models/cuda/lane_backward.h"
#include "models/cuda/lane_forward.h"
#include "models/cuda/lane_memory.h"
