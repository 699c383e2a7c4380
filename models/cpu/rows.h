// Element-wise passes over a tile of rows, (rows, channels) with channels contiguous: batch norm
// and ReLU6 applied, undone and summed while the tile is in cache, between two matrix products.
//
// Sums go to `sums`, two doubles per channel: sums[c] and sums[channels + c]. Within a tile they
// are added in single precision, row after row; the tiles of a thread in double, in order.
//
// Thread rule: pure functions of one thread.
#pragma once

#include <cstdint>

namespace tune::models::cpu {

// Normalised value of channel c: scale[c] * y + shift[c].
struct NormFold {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

// Gradient before batch norm, from that after it: dz_factor[c] * dz + y_factor[c] * y +
// constant[c].
struct NormGradient {
  const float* dz_factor = nullptr;
  const float* y_factor = nullptr;
  const float* constant = nullptr;
};

// x = relu6(normalised y).
void ActivateRows(int64_t rows, int channels, const float* y, const NormFold& fold, float* x);

// x = normalised y, plus skip unless that is null.
void JoinRows(int64_t rows, int channels, const float* y, const NormFold& fold, const float* skip,
              float* x);

// sums += (y, y * y).
void SumRows(int64_t rows, int channels, const float* y, double* sums);

// target = y past the caches, and sums += (y, y * y) unless sums is null.
void StreamRows(int64_t rows, int channels, const float* y, float* target, double* sums);

// dy = gradient before batch norm.
void NormGradientRows(int64_t rows, int channels, const float* dz, const float* y,
                      const NormGradient& gradient, float* dy);

// From dx, the gradient of x = relu6(u), u = normalised y: dz = gradient of u, x again, sums +=
// (dz, dz * y). dz may be past the caches (`streaming`).
void Relu6GradientRows(int64_t rows, int channels, const float* dx, const float* y,
                       const NormFold& fold, float* dz, float* x, double* sums, bool streaming);

// Where a block's input is: dz = dx plus skip_gradient unless that is null, sums += (dz, dz * y).
void JoinGradientRows(int64_t rows, int channels, const float* dx, const float* skip_gradient,
                      const float* y, float* dz, double* sums);

}  // namespace tune::models::cpu
