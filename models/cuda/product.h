// The matrix products of a 1x1 convolution, for all lanes in one call. Rows are row-major: x (rows,
// in), y (rows, out), weights (out, in). A device offers, for T float or Bf16,
//   Forward:         y = x weights'
//   InputGradient:   dx = dy weights
//   WeightGradient:  dw = dy' x, in float
// each summed in float.
//
// Thread rule: values.
#pragma once

#include <cstdint>

namespace tune::models::cuda {

struct ProductShape {
  int64_t rows = 0;  // Of one lane.
  int in = 0;
  int out = 0;
  int lanes = 1;
};

// A matrix of each lane.
template <class T>
struct LaneMatrix {
  T* data = nullptr;   // Lane 0's.
  int64_t stride = 0;  // From one lane to the next.
};

}  // namespace tune::models::cuda
