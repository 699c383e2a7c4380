// The depthwise 3x3 convolution in training, padding 1, stride 1 or 2: one pass forward and one
// backward over rows of pixels, with the batch norm and ReLU6 of the convolution before it applied
// as its input is read.
//
// Layout NHWC; weights (9, channels), tap kh * 3 + kw. A band of rows is worked on one vector of
// channels at a time; the rows it needs are prepared once in a ring that stays in the second-level
// cache.
//
// Thread rule: pure functions; each call handles the rows [begin, end) and may run beside calls for
// other rows.
#pragma once

#include <cstdint>

#include "models/cpu/rows.h"

namespace tune::models::cpu {

struct DepthwiseShape {
  int channels = 0;
  int stride = 1;
  int in_size = 0;   // Height and width.
  int out_size = 0;  // (in_size - 1) / stride + 1
};

struct DepthwiseForward {
  DepthwiseShape shape;
  const float* input_y =
      nullptr;  // (batch, in_size, in_size, channels), before batch norm and ReLU6.
  NormFold fold;
  const float* weights = nullptr;
  float* y = nullptr;      // (batch, out_size, out_size, channels)
  bool streaming = false;  // y is too large for the caches.
};

// Output rows [begin, end) of batch * out_size. sums (2 * channels) += (y, y * y) unless null.
void RunDepthwiseForward(const DepthwiseForward& pass, int64_t begin, int64_t end, float* scratch,
                         double* sums);

struct DepthwiseBackward {
  DepthwiseShape shape;
  const float* dz = nullptr;  // Gradient after this convolution's batch norm and ReLU6.
  const float* y = nullptr;   // This convolution's output.
  NormGradient gradient;
  const float* weights = nullptr;
  const float* input_y = nullptr;
  NormFold fold;
  float* input_dz = nullptr;  // Gradient after the batch norm of the input, before its ReLU6.
  bool streaming = false;     // input_dz is too large for the caches.
};

// Input rows [begin, end) of batch * in_size. Writes input_dz, adds to input_sums (2 * channels:
// dz, dz * y of the input's convolution) and sets weight_gradient (9, channels) to the part of
// these rows.
void RunDepthwiseBackward(const DepthwiseBackward& pass, int64_t begin, int64_t end, float* scratch,
                          double* input_sums, float* weight_gradient);

// Floats of scratch memory either pass needs.
int64_t DepthwiseScratch(const DepthwiseShape& shape);

}  // namespace tune::models::cpu
