// LaneNetwork's training step, and its way back from the loss to the weights. Included by
// lane_network.h.
#pragma once

#include <algorithm>

#include "models/cuda/lane_network.h"

namespace tune::models::cuda {

template <class Device, class T>
Status LaneNetwork<Device, T>::Train(std::span<const LaneInput> lanes,
                                     std::span<const ImageInput> inputs,
                                     std::span<ImageResult> results,
                                     const std::optional<BatchShare>& share) {
  TUNE_CHECK(static_cast<int>(lanes.size()) == lanes_ && results.size() == inputs.size());
  TUNE_CHECK(!share || lanes_ == 1);
  const int batch = static_cast<int>(inputs.size()) / lanes_;
  TUNE_CHECK(batch >= 2);
  const bool backbone = std::any_of(lanes.begin(), lanes.end(),
                                    [](const LaneInput& lane) { return lane.train_backbone != 0; });
  device_.Upload(lanes.data(), static_cast<int64_t>(lanes.size()), lane_inputs_.data());
  UploadInputs(inputs);
  const StepShape step = {batch, share ? share->whole_count : batch, backbone};
  if (!share || share->exchange->is_on_card()) {
    device_.RunCaptured(KeyOf(share ? Work::kSharedStep : Work::kStep, step), [&] {
      ComputeGradients(step, share ? share->exchange : nullptr);
      Update();
    });
  } else {
    device_.RunCaptured(KeyOf(Work::kGradients, step), [&] { ComputeGradients(step, nullptr); });
    TUNE_RETURN_IF_ERROR(SumOnHost(step, *share->exchange));
    device_.RunCaptured(KeyOf(Work::kUpdate, {}), [&] { Update(); });
  }
  device_.Download(results_.data(), static_cast<int64_t>(results.size()), results.data());
  return device_.Finish();
}

template <class Device, class T>
void LaneNetwork<Device, T>::ComputeGradients(const StepShape& step, GradientExchange* exchange) {
  ForwardBackbone(step.batch, /*training=*/true);
  ForwardHead(step.batch, step.mean_over, lane_inputs_.data(), logits_gradient_.data());
  BackwardHead(step.batch, step.backbone);
  if (exchange != nullptr) {
    exchange->Begin({gradients_.data(), static_cast<size_t>(gradients_.size())});
    exchange->Ready(linear_at());
  }
  if (step.backbone) BackwardBackbone(step.batch, exchange);
  // An error is the card's, and kept there.
  if (exchange != nullptr) static_cast<void>(exchange->Finish());
}

template <class Device, class T>
Status LaneNetwork<Device, T>::SumOnHost(const StepShape& step, GradientExchange& exchange) {
  const int64_t begin = step.backbone ? 0 : linear_at();
  const int64_t count = gradients_.size() - begin;
  host_gradients_.resize(static_cast<size_t>(gradients_.size()));
  device_.Download(gradients_.data() + begin, count, host_gradients_.data() + begin);
  TUNE_RETURN_IF_ERROR(device_.Finish());
  exchange.Begin(host_gradients_);
  exchange.Ready(begin);
  TUNE_RETURN_IF_ERROR(exchange.Finish());
  device_.Upload(host_gradients_.data() + begin, count, gradients_.data() + begin);
  return OkStatus();
}

template <class Device, class T>
void LaneNetwork<Device, T>::BackwardHead(int batch, bool backbone) {
  const int features = architecture_.feature_count;
  const int classes = options_.class_count;
  const ProductShape shape = {batch, features, classes, lanes_};
  const int64_t feature_stride = int64_t{batch} * features;
  const auto logits_gradient =
      Lanes<const float>(logits_gradient_.data(), int64_t{batch} * classes);
  device_.template WeightGradient<float>(shape, logits_gradient,
                                         Lanes<const float>(pooled_.data(), feature_stride),
                                         Lanes(gradients_.data() + linear_at(), parameter_stride_));
  const BiasGradient bias = {batch, classes, logits_gradient_.data(), Gradient(bias_at())};
  device_.Launch(bias, bias.LaunchGrid(lanes_));
  if (!backbone) return;
  device_.template InputGradient<float>(
      shape, logits_gradient,
      Lanes<const float>(parameters_.data() + linear_at(), parameter_stride_),
      Lanes(pooled_gradient_.data(), feature_stride));
  const DropoutGradient dropout = {batch, features, lane_inputs_.data(), image_inputs_.data(),
                                   pooled_gradient_.data()};
  device_.Launch(dropout, dropout.LaunchGrid(lanes_));
}

template <class Device, class T>
void LaneNetwork<Device, T>::BackwardBackbone(int batch, GradientExchange* exchange) {
  NetworkLayer& last = layers_.back();
  PoolGradient<T> pool;
  pool.y = last.y.data();
  pool.fold = norm_.Fold(last.place);
  pool.pooled_gradient = pooled_gradient_.data();
  pool.batch = batch;
  pool.pixels = static_cast<int>(last.pixels);
  pool.channels = last.shape.out_channels;
  pool.dz = last.dz;
  SumAndFinish(last, batch, pool);
  for (size_t i = layers_.size(); i-- > 0;) {
    switch (layers_[i].shape.kind) {
      case ConvolutionKind::kPointwise:
        BackwardPointwise(i, batch);
        break;
      case ConvolutionKind::kDepthwise:
        BackwardDepthwise(i, batch);
        break;
      case ConvolutionKind::kStem:
        BackwardStem(batch);
        break;
    }
    // Its batch norm's gradients came with the layer after it.
    if (exchange != nullptr) exchange->Ready(layers_[i].place.weight_at);
  }
}

// The pass that makes a layer's dz and its sums, and the batch norm's gradient from them.
template <class Device, class T>
template <class Operation>
void LaneNetwork<Device, T>::SumAndFinish(const NetworkLayer& layer, int batch,
                                          const Operation& operation) {
  const RowGeometry g = SumRowsOf(layer, batch);
  device_.Launch(SumPass<Operation>{operation, g, partial_.data()}, g.LaunchGrid(lanes_));
  const FinishSums<FinishBackward> finish = {BackwardFinish(layer, batch), partial_.data(),
                                             g.chunks, layer.shape.out_channels};
  device_.Launch(finish, finish.LaunchGrid(lanes_));
}

template <class Device, class T>
FinishBackward LaneNetwork<Device, T>::BackwardFinish(const NetworkLayer& layer, int batch) {
  return {batch * layer.pixels,           Parameter(layer.place.scale_at),
          norm_.Moments(layer.place),     Gradient(layer.place.scale_at),
          Gradient(layer.place.shift_at), norm_.Gradient(layer.place)};
}

template <class Device, class T>
void LaneNetwork<Device, T>::MakeDy(const NetworkLayer& layer, int batch, T* dy) {
  const RowGeometry g = RowsOf(layer, batch);
  const NormBackward<T> pass = {layer.y.data(), norm_.Gradient(layer.place), layer.dz, dy};
  device_.Launch(RowPass<NormBackward<T>>{pass, g}, g.LaunchGrid(lanes_));
}

// dw = dy' x, of dy (lanes, rows, out) and x (lanes, rows, in).
template <class Device, class T>
void LaneNetwork<Device, T>::MakeWeightGradient(const ProductShape& shape, const T* dy, const T* x,
                                                LaneMatrix<float> dw) {
  const int64_t segments = SegmentsOf(shape.rows, shape.in, shape.out);
  const int64_t rows = shape.rows / segments;
  const int64_t count = int64_t{shape.in} * shape.out;
  device_.template WeightGradient<T>(
      {rows, shape.in, shape.out, lanes_ * static_cast<int>(segments)},
      Lanes<const T>(dy, rows * shape.out), Lanes<const T>(x, rows * shape.in),
      segments == 1 ? dw : Lanes(weight_gradient_parts_.data(), count));
  if (segments == 1) return;
  const SumSegments sum = {weight_gradient_parts_.data(), segments, count, dw.data, dw.stride};
  device_.Launch(sum, sum.LaunchGrid(lanes_));
}

// From this convolution's dz to that of the one before, whose activated output or whose block it
// reads.
template <class Device, class T>
void LaneNetwork<Device, T>::BackwardPointwise(size_t index, int batch) {
  NetworkLayer& layer = layers_[index];
  NetworkLayer& before = layers_[index - 1];
  const Convolution& c = layer.shape;
  const int64_t rows = batch * layer.pixels;
  // The dz of a block's end is read once more, where the block began, if it is residual.
  T* const dy = c.relu6 ? layer.dz : block_dy_.data();
  MakeDy(layer, batch, dy);
  const ProductShape shape = {rows, c.in_channels, c.out_channels, lanes_};
  const int64_t in = rows * c.in_channels, out = rows * c.out_channels;
  MakeWeightGradient(shape, dy, before.x.data(),
                     Lanes(gradients_.data() + layer.place.weight_at, parameter_stride_));
  const T* const weights = weights_.data() + layer.place.weight_at;
  device_.template InputGradient<T>(shape, Lanes<const T>(dy, out),
                                    Lanes<const T>(weights, parameter_stride_),
                                    Lanes(before.dz, in));
  if (before.shape.relu6) {
    SumAndFinish(before, batch,
                 MaskedSums<T>{before.y.data(), norm_.Fold(before.place), before.dz});
  } else {
    // The convolution that begins a residual block: its input's gradient comes by the residual
    // connection too.
    const bool residual = index + 2 < layers_.size() && layers_[index + 2].shape.residual;
    const T* const skip = residual ? layers_[index + 2].dz : nullptr;
    SumAndFinish(before, batch, BlockGradient<T>{before.y.data(), skip, before.dz});
  }
}

template <class Device, class T>
void LaneNetwork<Device, T>::BackwardDepthwise(size_t index, int batch) {
  NetworkLayer& layer = layers_[index];
  NetworkLayer& before = layers_[index - 1];
  const Convolution& c = layer.shape;
  const RowGeometry g = RowsOf(layer, batch);
  const MaskedNormBackward<T> make_dy = {layer.y.data(), norm_.Fold(layer.place),
                                         norm_.Gradient(layer.place), layer.dz};
  device_.Launch(RowPass<MaskedNormBackward<T>>{make_dy, g}, g.LaunchGrid(lanes_));
  const auto run = [&](auto kernel) {
    kernel.shape = {batch, c.out_channels, c.in_size, c.out_size};
    kernel.g = kernel.shape.BackwardPieces(c.stride).Geometry(batch, c.out_channels);
    kernel.dy = layer.dz;
    kernel.weights = Parameter(layer.place.weight_at);
    kernel.x = before.y.data();
    kernel.fold = norm_.Fold(before.place);
    kernel.dz = before.dz;
    kernel.partial = partial_.data();
    device_.Launch(kernel, kernel.g.LaunchGrid(lanes_));
    using Finish = FinishDepthwise<FinishBackward>;
    const FinishSums<Finish> finish = {
        Finish{BackwardFinish(before, batch), Gradient(layer.place.weight_at)}, partial_.data(),
        kernel.g.chunks, c.out_channels, kDepthwiseSums};
    device_.Launch(finish, finish.LaunchGrid(lanes_));
  };
  if (c.stride == 1) return run(DepthwiseBackward<T, 1>());
  return run(DepthwiseBackward<T, 2>());
}

template <class Device, class T>
void LaneNetwork<Device, T>::BackwardStem(int batch) {
  NetworkLayer& stem = layers_.front();
  MakeDy(stem, batch, stem.dz);
  const int out = stem.shape.out_channels;
  const int64_t rows = batch * stem.pixels;
  MakeWeightGradient({rows, kPatchStride, out, lanes_}, stem.dz, patches_.data(),
                     Lanes(stem_gradient_.data(), int64_t{out} * kPatchStride));
  const UnpackStemGradient unpack = {stem_gradient_.data(), out,
                                     gradients_.data() + stem.place.weight_at, parameter_stride_};
  device_.Launch(unpack, unpack.LaunchGrid(lanes_));
}

template <class Device, class T>
void LaneNetwork<Device, T>::Update() {
  const Adam adam = {architecture_.parameter_count,
                     architecture_.backbone_count,
                     parameter_stride_,
                     lane_inputs_.data(),
                     gradients_.data(),
                     adam_m_.data(),
                     adam_v_.data(),
                     parameters_.data()};
  device_.Launch(adam, adam.LaunchGrid(lanes_));
  CopyAllWeights();
}

template <class Device, class T>
void LaneNetwork<Device, T>::CopyAllWeights() {
  const CopyWeights<T> copy = {architecture_.parameter_count,
                               int64_t{layers_.front().shape.out_channels} * kPatch,
                               parameter_stride_,
                               parameters_.data(),
                               weights_.data(),
                               stem_weights_.data()};
  device_.Launch(copy, copy.LaunchGrid(lanes_));
}

}  // namespace tune::models::cuda
