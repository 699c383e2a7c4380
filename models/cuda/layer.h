// The memory of a network of lanes on a card: each convolution with its batch norm, and what all
// share.
//
// Thread rule: values with one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/architecture.h"
#include "models/cuda/batch_norm.h"
#include "models/cuda/depthwise_backward.h"
#include "models/cuda/rows.h"
#include "models/cuda/segments.h"
#include "models/cuda/stem.h"

namespace tune::models::cuda {

// Where a convolution's numbers lie in the flat arrays of a lane.
struct LayerPlace {
  LayerPlace() = default;
  explicit LayerPlace(const Architecture& architecture, const Convolution& c, int64_t norm_offset)
      : weight_at(architecture.Find(c.name + ".weight").offset),
        scale_at(architecture.Find(c.batch_norm_name + ".weight").offset),
        shift_at(architecture.Find(c.batch_norm_name + ".bias").offset),
        mean_at(architecture.Find(c.batch_norm_name + ".running_mean").offset),
        variance_at(architecture.Find(c.batch_norm_name + ".running_var").offset),
        norm_at(norm_offset) {}

  int64_t weight_at = 0, scale_at = 0, shift_at = 0;  // Parameters.
  int64_t mean_at = 0, variance_at = 0;               // Statistics.
  int64_t norm_at = 0;  // Channels of the batch norms before this one.
};

template <class Device, class T>
struct Layer {
  Convolution shape;
  int64_t pixels = 0;  // Of the output.
  LayerPlace place;
  typename Device::template Array<T> y;  // (lane, batch, pixels, out_channels), before batch norm.
  // What a 1x1 convolution reads after this layer: relu6(normalised y) after a depthwise one, and
  // where a block ends its output. Else empty.
  typename Device::template Array<T> x;
  T* dz = nullptr;  // Gradient after batch norm, before ReLU6; as large as y. Later dy, in place.
};

// The arrays of batch norm: one float for each channel of each layer and lane.
template <class Device>
struct NormArrays {
  typename Device::template Array<float> fold_scale, fold_shift, mean, inverse_deviation, dz_factor,
      y_factor, constant;
  int64_t stride = 0;  // Channels of all layers.

  NormArrays(Device& device, int64_t channels, int lanes)
      : fold_scale(device.template New<float>(channels * lanes)),
        fold_shift(device.template New<float>(channels * lanes)),
        mean(device.template New<float>(channels * lanes)),
        inverse_deviation(device.template New<float>(channels * lanes)),
        dz_factor(device.template New<float>(channels * lanes)),
        y_factor(device.template New<float>(channels * lanes)),
        constant(device.template New<float>(channels * lanes)),
        stride(channels) {}

  NormFold Fold(const LayerPlace& p) const {
    return {{fold_scale.data() + p.norm_at, stride}, {fold_shift.data() + p.norm_at, stride}};
  }
  BatchMoments Moments(const LayerPlace& p) const {
    return {{mean.data() + p.norm_at, stride}, {inverse_deviation.data() + p.norm_at, stride}};
  }
  NormGradient Gradient(const LayerPlace& p) const {
    return {{dz_factor.data() + p.norm_at, stride},
            {y_factor.data() + p.norm_at, stride},
            {constant.data() + p.norm_at, stride}};
  }
};

// Floats of partial sums that any pass over a layer leaves, of one lane.
inline int64_t PartialFloats(const Convolution& c, int batch) {
  const auto floats = [&c](const RowGeometry& g, int count) {
    return g.chunks_max * c.out_channels * count;
  };
  // No batch of up to `batch` images leaves more chunks.
  const int64_t pixels = int64_t{batch} * c.out_size * c.out_size;
  int64_t most = floats(RowGeometry::Of(pixels, c.out_channels), 2);
  if (c.kind == ConvolutionKind::kDepthwise) {
    const DepthwiseShape shape = {batch, c.out_channels, c.in_size, c.out_size};
    const auto geometry = [&](const RowPieces& pieces) {
      return pieces.Geometry(batch, c.out_channels);
    };
    most = std::max(most, floats(geometry(shape.ForwardPieces()), 2));
    most = std::max(most, floats(geometry(shape.BackwardPieces(c.stride)), kDepthwiseSums));
  }
  return most;
}

// Floats of the products that are added up to the gradient of its weights, of one lane.
inline int64_t WeightGradientParts(const Convolution& c, int batch) {
  if (c.kind == ConvolutionKind::kDepthwise) return 0;
  const int in = c.kind == ConvolutionKind::kStem ? kPatchStride : c.in_channels;
  const int64_t rows = int64_t{batch} * c.out_size * c.out_size;
  const int64_t segments = SegmentsAtMost(rows, in, c.out_channels);
  return segments == 1 ? 0 : segments * in * c.out_channels;
}

}  // namespace tune::models::cuda
