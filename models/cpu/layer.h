// A layer of the network on the processor: a convolution, its batch norm, and the memory of both.
//
// Thread rule: as of the network, one thread.
#pragma once

#include <cstdint>

#include "core/check.h"
#include "models/architecture.h"
#include "models/cpu/batch_norm.h"
#include "models/cpu/buffer.h"
#include "models/cpu/depthwise.h"
#include "models/cpu/pointwise.h"
#include "models/cpu/stem.h"

namespace tune::models::cpu {

// A tensor of more bytes than this is written past the caches: most of it would not be there any
// more when it is read again. Measured with a third-level cache of 32 MiB: 4 to 8 MiB are best, by
// a twentieth before 24 MiB.
inline constexpr int64_t kStreamingBytes = int64_t{6} << 20;

// A convolution with its batch norm, and the memory of both.
struct Layer {
  Layer(const Architecture& architecture, const Convolution& convolution, int batch_max, int parts)
      : shape(convolution),
        pixels(static_cast<int64_t>(shape.out_size) * shape.out_size),
        weight_at(architecture.Find(shape.name + ".weight").offset),
        weight_count(architecture.Find(shape.name + ".weight").size()),
        scale_at(architecture.Find(shape.batch_norm_name + ".weight").offset),
        shift_at(architecture.Find(shape.batch_norm_name + ".bias").offset),
        mean_at(architecture.Find(shape.batch_norm_name + ".running_mean").offset),
        variance_at(architecture.Find(shape.batch_norm_name + ".running_var").offset),
        y(batch_max * pixels * shape.out_channels),
        block(shape.relu6 ? 0 : y.size()),
        packed(weight_count),
        packed_backward(shape.kind == ConvolutionKind::kPointwise ? weight_count : 0),
        streaming(y.size() * int64_t{sizeof(float)} > kStreamingBytes &&
                  shape.out_channels % 16 == 0),
        norm(shape.out_channels, parts) {}

  int64_t memory_floats() const {
    return y.size() + block.size() + packed.size() + packed_backward.size();
  }

  const Convolution shape;
  const int64_t pixels;  // Of the output.
  // Offsets in the flat arrays of the state.
  const int64_t weight_at, weight_count, scale_at, shift_at, mean_at, variance_at;
  Buffer y;                // Output before batch norm, (batch, pixels, out_channels).
  Buffer block;            // Where a block ends, its output.
  Buffer packed;           // Weights as the forward pass reads them.
  Buffer packed_backward;  // And the backward pass, if that is another way.
  const bool streaming;
  float* dz =
      nullptr;  // Gradient after batch norm (before ReLU6 where there is one), as large as y.
  BatchNorm norm;
};

inline DepthwiseShape DepthwiseShapeOf(const Convolution& c) {
  return {c.out_channels, c.stride, c.in_size, c.out_size};
}

inline StemShape StemShapeOf(const Convolution& c) {
  return {c.in_size, c.out_size, c.out_channels};
}

// Floats that its passes need beside its tensors.
inline int64_t ScratchFloats(const Convolution& c) {
  switch (c.kind) {
    case ConvolutionKind::kStem:
      return StemScratch(StemShapeOf(c));
    case ConvolutionKind::kDepthwise:
      return DepthwiseScratch(DepthwiseShapeOf(c));
    case ConvolutionKind::kPointwise:
      return PointwiseScratch(c.in_channels, c.out_channels);
  }
  TUNE_CHECK(false);
}

}  // namespace tune::models::cpu
