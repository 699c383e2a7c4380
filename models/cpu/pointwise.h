// The 1x1 convolution in training: one pass forward and one backward over its rows (a row is a
// pixel's channels), with the batch norm and ReLU6 of the convolution before it applied as its
// input is read.
//
// No activation is stored after its batch norm but the inputs of blocks, which are needed twice;
// the others are computed again from the raw output y of their convolution, cheaper than a trip
// through memory.
//
// Thread rule: pure functions; each call handles the rows [begin, end) and may run beside calls for
// other rows.
#pragma once

#include <cstdint>

#include "models/cpu/rows.h"

namespace tune::models::cpu {

// How the input matrix x (rows, in) comes to be from y, the output of the convolution before:
// relu6(normalised y), or, where a block ended, normalised y plus skip (may be null), kept in
// `block`.
struct PointwiseInput {
  const float* y = nullptr;
  NormFold fold;
  const float* skip = nullptr;
  float* block = nullptr;  // Null: relu6.
};

struct PointwiseForward {
  int in = 0;
  int out = 0;
  PointwiseInput input;
  const float* weights = nullptr;  // Packed (in, out).
  float* y = nullptr;              // (rows, out)
  bool streaming = false;          // y is too large for the caches.
};

// sums (2 * out) += (y, y * y) unless null. scratch: PointwiseScratch(in, out) floats.
void RunPointwiseForward(const PointwiseForward& pass, int64_t begin, int64_t end, float* scratch,
                         double* sums);

struct PointwiseBackward {
  int in = 0;
  int out = 0;
  const float* dz =
      nullptr;  // (rows, out), gradient after this convolution's batch norm (and ReLU6).
  const float* y = nullptr;  // (rows, out), this convolution's output.
  NormGradient gradient;
  const float* weights = nullptr;  // Packed (out, in).
  PointwiseInput input;
  const float* skip_gradient = nullptr;  // (rows, in), added to the input's gradient; may be null.
  float* input_dz = nullptr;             // (rows, in), gradient after the batch norm of the input.
  bool streaming = false;                // input_dz is too large for the caches.
};

// Writes input_dz, adds to input_sums (2 * in: dz, dz * y of the input's convolution) and sets
// weight_gradient (out, in) to the part of these rows.
void RunPointwiseBackward(const PointwiseBackward& pass, int64_t begin, int64_t end, float* scratch,
                          double* input_sums, float* weight_gradient);

// Floats of scratch memory either pass needs.
int64_t PointwiseScratch(int in, int out);

}  // namespace tune::models::cpu
