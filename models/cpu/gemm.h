// Matrix products of one cache tile: C (m, n) = A (m, k) * B (k, n), or C += A * B, in single
// precision.
//
// C stays in registers: MR rows times up to three vectors, one broadcast of A against a few vectors
// of B per step, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), without packing A: A's elements are broadcast one by one, so any strides do. The caller
// keeps its tiles small enough for the second-level cache.
//
// n is a multiple of eight. The columns are cut into panels of 48, 32, 24, 16 or 8 (AVX-512; 24, 16
// or 8 elsewhere), so that a channel count such as 24 or 56 wastes nothing.
//
// Thread rule: pure functions of one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/cpu/prefetch.h"

namespace tune::models::cpu {

// Where B is: rows of `stride` floats, or packed by PackPanels.
struct MatrixB {
  const float* data = nullptr;
  std::ptrdiff_t stride = 0;  // 0: packed panels.
};

struct MatrixA {
  const float* data = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 0;
};

enum class Product { kStore, kAccumulate };

// `prefetch`, unless null, makes a step per block of registers; there are about MultiplySteps(m, n)
// of them.
void MultiplyTile(int m, int n, int k, const MatrixA& a, const MatrixB& b, float* c,
                  std::ptrdiff_t c_stride, Product product, Prefetch* prefetch = nullptr);
int64_t MultiplySteps(int m, int n);

// Packs B (k, n), element (i, j) at source[i * row_stride + j * column_stride], panel after panel
// into k * n floats.
void PackPanels(int k, int n, const float* source, std::ptrdiff_t row_stride,
                std::ptrdiff_t column_stride, float* packed);

}  // namespace tune::models::cpu
