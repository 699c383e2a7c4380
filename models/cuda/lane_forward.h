// LaneNetwork's way from images to logits. Included by lane_network.h.
#pragma once

#include "models/cuda/lane_network.h"

namespace tune::models::cuda {

template <class Device, class T>
Status LaneNetwork<Device, T>::Evaluate(std::span<const ImageInput> inputs,
                                        std::span<ImageResult> results, std::span<float> logits) {
  TUNE_CHECK(results.size() == inputs.size());
  const int batch = static_cast<int>(inputs.size()) / lanes_;
  UploadInputs(inputs);
  device_.RunCaptured(KeyOf(Work::kEvaluation, {batch, batch, false}), [&] {
    ForwardBackbone(batch, /*training=*/false);
    ForwardHead(batch, batch, /*lanes=*/nullptr, /*logits_gradient=*/nullptr);
  });
  device_.Download(results_.data(), static_cast<int64_t>(results.size()), results.data());
  device_.Download(logits_.data(), static_cast<int64_t>(logits.size()), logits.data());
  return device_.Finish();
}

template <class Device, class T>
void LaneNetwork<Device, T>::ForwardBackbone(int batch, bool training) {
  const NetworkLayer& stem = layers_.front();
  GatherPatches<T> gather;
  gather.images = images_.data();
  gather.batch = batch;
  gather.size = options_.image_size;
  gather.out_size = stem.shape.out_size;
  gather.patches = patches_.data();
  device_.Launch(gather, gather.LaunchGrid(lanes_));
  for (size_t i = 0; i < layers_.size(); ++i) ForwardLayer(i, batch, training);
}

template <class Device, class T>
void LaneNetwork<Device, T>::ForwardLayer(size_t index, int batch, bool training) {
  NetworkLayer& layer = layers_[index];
  const Convolution& c = layer.shape;
  const int64_t rows = batch * layer.pixels;
  if (c.kind == ConvolutionKind::kDepthwise) {
    const NetworkLayer& before = layers_[index - 1];
    const auto run = [&](auto kernel) {
      kernel.shape = {batch, c.out_channels, c.in_size, c.out_size};
      kernel.g = kernel.shape.ForwardPieces().Geometry(batch, c.out_channels);
      kernel.x = before.y.data();
      kernel.fold = norm_.Fold(before.place);
      kernel.weights = Parameter(layer.place.weight_at);
      kernel.y = layer.y.data();
      kernel.partial = partial_.data();
      device_.Launch(kernel, kernel.g.LaunchGrid(lanes_));
      FinishNorm(layer, batch, training, kernel.g.chunks);
    };
    if (c.stride == 1) return run(DepthwiseForward<T, 1>());
    return run(DepthwiseForward<T, 2>());
  }
  const LaneMatrix<T> y = Lanes(layer.y.data(), rows * c.out_channels);
  if (c.kind == ConvolutionKind::kStem) {
    const int64_t stem_weights = int64_t{c.out_channels} * kPatchStride;
    device_.template Forward<T>({rows, kPatchStride, c.out_channels, lanes_},
                                Lanes<const T>(patches_.data(), rows * kPatchStride),
                                Lanes<const T>(stem_weights_.data(), stem_weights), y);
  } else {
    MakePointwiseInput(index - 1, batch);
    const T* const weights = weights_.data() + layer.place.weight_at;
    device_.template Forward<T>({rows, c.in_channels, c.out_channels, lanes_},
                                Lanes<const T>(layers_[index - 1].x.data(), rows * c.in_channels),
                                Lanes<const T>(weights, parameter_stride_), y);
  }
  const RowGeometry g = SumRowsOf(layer, batch);
  if (training) {
    const Moments<T> moments = {layer.y.data()};
    device_.Launch(SumPass<Moments<T>>{moments, g, partial_.data()}, g.LaunchGrid(lanes_));
  }
  FinishNorm(layer, batch, training, g.chunks);
}

// What the 1x1 convolution after this layer reads.
template <class Device, class T>
void LaneNetwork<Device, T>::MakePointwiseInput(size_t index, int batch) {
  NetworkLayer& layer = layers_[index];
  const RowGeometry g = RowsOf(layer, batch);
  const NormFold fold = norm_.Fold(layer.place);
  if (layer.shape.relu6) {
    const Activate<T> activate = {layer.y.data(), fold, layer.x.data()};
    device_.Launch(RowPass<Activate<T>>{activate, g}, g.LaunchGrid(lanes_));
  } else {
    // The block's own input is the output of the block before it, three convolutions back.
    const T* const skip = layer.shape.residual ? layers_[index - 3].x.data() : nullptr;
    const EndBlock<T> end = {layer.y.data(), fold, skip, layer.x.data()};
    device_.Launch(RowPass<EndBlock<T>>{end, g}, g.LaunchGrid(lanes_));
  }
}

template <class Device, class T>
void LaneNetwork<Device, T>::FinishNorm(const NetworkLayer& layer, int batch, bool training,
                                        int64_t chunks) {
  const NormParameters parameters = NormOf(layer.place);
  const int channels = layer.shape.out_channels;
  if (training) {
    const FinishForward finish = {batch * layer.pixels, parameters, norm_.Fold(layer.place),
                                  norm_.Moments(layer.place)};
    const FinishSums<FinishForward> kernel = {finish, partial_.data(), chunks, channels};
    device_.Launch(kernel, kernel.LaunchGrid(lanes_));
  } else {
    const UseRunning kernel = {parameters, norm_.Fold(layer.place), channels};
    device_.Launch(kernel, kernel.LaunchGrid(lanes_));
  }
}

template <class Device, class T>
void LaneNetwork<Device, T>::ForwardHead(int batch, int mean_over, const LaneInput* lanes,
                                         float* logits_gradient) {
  const NetworkLayer& last = layers_.back();
  const int features = architecture_.feature_count;
  const int classes = options_.class_count;
  PoolForward<T> pool;
  pool.y = last.y.data();
  pool.fold = norm_.Fold(last.place);
  pool.batch = batch;
  pool.pixels = static_cast<int>(last.pixels);
  pool.channels = features;
  pool.lanes = lanes;
  pool.images = image_inputs_.data();
  pool.pooled = pooled_.data();
  device_.Launch(pool, pool.LaunchGrid(lanes_));
  const int64_t feature_stride = int64_t{batch} * features;
  const int64_t logit_stride = int64_t{batch} * classes;
  device_.template Forward<float>(
      {batch, features, classes, lanes_}, Lanes<const float>(pooled_.data(), feature_stride),
      Lanes<const float>(parameters_.data() + linear_at(), parameter_stride_),
      Lanes(logits_.data(), logit_stride));
  CrossEntropy loss;
  loss.batch = batch;
  loss.classes = classes;
  loss.mean_over = mean_over;
  loss.bias = Parameter(bias_at());
  loss.images = image_inputs_.data();
  loss.logits = logits_.data();
  loss.gradient = logits_gradient;
  loss.results = results_.data();
  device_.Launch(loss, loss.LaunchGrid(lanes_));
}

}  // namespace tune::models::cuda
