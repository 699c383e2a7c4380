// LaneNetwork's memory, and the way of states and images to the card and back. Included by
// lane_network.h.
#pragma once

#include "core/check.h"
#include "models/cuda/lane_network.h"

namespace tune::models::cuda {

inline int64_t NormChannels(const Architecture& architecture) {
  int64_t channels = 0;
  for (const Convolution& c : architecture.convolutions) channels += c.out_channels;
  return channels;
}

template <class Device, class T>
LaneNetwork<Device, T>::LaneNetwork(Device& device, const NetworkOptions& options, int lanes)
    : device_(device),
      options_(options),
      architecture_(BuildArchitecture(options)),
      lanes_(lanes),
      // Every tensor but the last has a multiple of eight numbers; so has the distance of lanes.
      parameter_stride_(CeilDivide(architecture_.parameter_count, 8) * 8),
      norm_(device, NormChannels(architecture_), lanes) {
  TUNE_CHECK(lanes > 0);
  memory_bytes_ += 7 * norm_.stride * lanes * static_cast<int64_t>(sizeof(float));
  const int64_t all = parameter_stride_ * lanes;
  const int64_t images = static_cast<int64_t>(lanes) * options.batch_max;
  const int64_t features = images * architecture_.feature_count;
  const int64_t logits = images * options.class_count;
  for (Array<float>* array : {&parameters_, &gradients_, &adam_m_, &adam_v_}) {
    *array = New<float>(all);
  }
  statistics_ = New<float>(architecture_.statistic_count * lanes);
  weights_ = New<T>(all);
  images_ = New<float>(images * options.image_size * options.image_size * 3);
  grey_sums_ = New<int64_t>(images * kImageChunks);
  for (Array<float>* array : {&pooled_, &pooled_gradient_}) *array = New<float>(features);
  for (Array<float>* array : {&logits_, &logits_gradient_}) *array = New<float>(logits);
  lane_inputs_ = New<LaneInput>(lanes);
  image_inputs_ = New<ImageInput>(images);
  results_ = New<ImageResult>(images);
  AllocateLayers();
  AllocateGradients();
}

template <class Device, class T>
void LaneNetwork<Device, T>::AllocateLayers() {
  const int64_t images = static_cast<int64_t>(lanes_) * options_.batch_max;
  int64_t norm_at = 0, partial = 0, parts = 0;
  const auto& convolutions = architecture_.convolutions;
  for (size_t i = 0; i < convolutions.size(); ++i) {
    const Convolution& c = convolutions[i];
    const int64_t pixels = static_cast<int64_t>(c.out_size) * c.out_size;
    const int64_t size = images * pixels * c.out_channels;
    const bool product_follows =
        i + 1 < convolutions.size() && convolutions[i + 1].kind == ConvolutionKind::kPointwise;
    layers_.push_back({c, pixels, LayerPlace(architecture_, c, norm_at), New<T>(size),
                       New<T>(product_follows ? size : 0), nullptr});
    norm_at += c.out_channels;
    partial = std::max(partial, PartialFloats(c, options_.batch_max));
    parts = std::max(parts, WeightGradientParts(c, options_.batch_max));
  }
  weight_gradient_parts_ = New<float>(parts * lanes_);
  partial_ = New<float>(partial * lanes_);
  const NetworkLayer& stem = layers_.front();
  const int64_t stem_floats = int64_t{lanes_} * stem.shape.out_channels * kPatchStride;
  patches_ = New<T>(images * stem.pixels * kPatchStride);
  stem_weights_ = New<T>(stem_floats);
  stem_gradient_ = New<float>(stem_floats);
  device_.Zero(stem_weights_.data(), stem_floats);
  // Ranks add up what lies behind the only lane's gradients, too.
  device_.Zero(gradients_.data() + architecture_.parameter_count,
               parameter_stride_ - architecture_.parameter_count);
}

template <class Device, class T>
void LaneNetwork<Device, T>::AllocateGradients() {
  int64_t depthwise = 0, wide = 0, block = 0;
  for (const NetworkLayer& layer : layers_) {
    int64_t& largest = !layer.shape.relu6                                ? block
                       : layer.shape.kind == ConvolutionKind::kDepthwise ? depthwise
                                                                         : wide;
    largest = std::max(largest, layer.y.size());
  }
  depthwise_dz_ = New<T>(depthwise);
  wide_dz_ = New<T>(wide);
  for (Array<T>* array : {&block_dz_[0], &block_dz_[1], &block_dy_}) *array = New<T>(block);
  int block_count = 0;
  for (NetworkLayer& layer : layers_) {
    layer.dz = !layer.shape.relu6 ? block_dz_[block_count++ % 2].data()
               : layer.shape.kind == ConvolutionKind::kDepthwise ? depthwise_dz_.data()
                                                                 : wide_dz_.data();
  }
}

template <class Device, class T>
Status LaneNetwork<Device, T>::SetState(int lane, const NetworkState& state) {
  TUNE_CHECK(lane >= 0 && lane < lanes_);
  const int64_t count = architecture_.parameter_count;
  const int64_t at = lane * parameter_stride_;
  device_.Upload(state.parameters.data(), count, parameters_.data() + at);
  device_.Upload(state.adam_m.data(), count, adam_m_.data() + at);
  device_.Upload(state.adam_v.data(), count, adam_v_.data() + at);
  const int64_t statistics = architecture_.statistic_count;
  device_.Upload(state.statistics.data(), statistics, statistics_.data() + lane * statistics);
  CopyAllWeights();
  return device_.Finish();
}

template <class Device, class T>
Status LaneNetwork<Device, T>::ReadState(int lane, NetworkState* state) {
  TUNE_CHECK(lane >= 0 && lane < lanes_);
  const int64_t count = architecture_.parameter_count;
  const int64_t at = lane * parameter_stride_;
  device_.Download(parameters_.data() + at, count, state->parameters.data());
  device_.Download(adam_m_.data() + at, count, state->adam_m.data());
  device_.Download(adam_v_.data() + at, count, state->adam_v.data());
  const int64_t statistics = architecture_.statistic_count;
  device_.Download(statistics_.data() + lane * statistics, statistics, state->statistics.data());
  return device_.Finish();
}

template <class Device, class T>
Result<std::vector<float>> LaneNetwork<Device, T>::ReadGradients(int lane) {
  TUNE_CHECK(lane >= 0 && lane < lanes_);
  const int64_t count = architecture_.parameter_count;
  std::vector<float> gradients(static_cast<size_t>(count));
  device_.Download(gradients_.data() + lane * parameter_stride_, count, gradients.data());
  TUNE_RETURN_IF_ERROR(device_.Finish());
  return gradients;
}

template <class Device, class T>
void LaneNetwork<Device, T>::UploadImages(std::span<const float> images) {
  TUNE_CHECK(static_cast<int64_t>(images.size()) <= images_.size());
  device_.Upload(images.data(), static_cast<int64_t>(images.size()), images_.data());
}

template <class Device, class T>
void LaneNetwork<Device, T>::UploadInputs(std::span<const ImageInput> inputs) {
  TUNE_CHECK(!inputs.empty() && static_cast<int64_t>(inputs.size()) <= image_inputs_.size());
  TUNE_CHECK(inputs.size() % static_cast<size_t>(lanes_) == 0);
  for (const ImageInput& input : inputs) {
    TUNE_CHECK(input.label >= 0 && input.label < options_.class_count);
  }
  device_.Upload(inputs.data(), static_cast<int64_t>(inputs.size()), image_inputs_.data());
}

template <class Device, class T>
void LaneNetwork<Device, T>::MakeImages(const uint8_t* set, std::span<const ImageInput> inputs) {
  UploadInputs(inputs);
  AugmentImages<ImageInput> images;
  images.set = set;
  images.inputs = image_inputs_.data();
  images.batch = static_cast<int>(inputs.size()) / lanes_;
  images.size = options_.image_size;
  images.grey_sums = grey_sums_.data();
  images.out = images_.data();
  device_.Launch(SumGrey<ImageInput>{images}, images.LaunchGrid(lanes_));
  device_.Launch(ApplyChanges<ImageInput>{images}, images.LaunchGrid(lanes_));
}

}  // namespace tune::models::cuda
