#include "models/cpu/gemm.h"

#include "core/check.h"
#include "models/cpu/simd.h"

namespace tune::models::cpu {
namespace {

// C's MR x (NV vectors) corner at `c`. The loops over MR and NV unroll completely and `sum` lives
// in registers.
template <class V, int NV, int MR>
inline void MultiplyBlock(int k, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_column,
                          const float* b, std::ptrdiff_t b_row, float* c, std::ptrdiff_t c_row,
                          Product product) {
  V sum[MR][NV] = {};
  for (int i = 0; i < k; ++i) {
    V row[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) row[v] = Load<V>(b + v * kLanesOf<V>);
#pragma GCC unroll 32
    for (int r = 0; r < MR; ++r) {
      const V scalar = Splat<V>(a[r * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sum[r][v] += scalar * row[v];
    }
    a += a_column;
    b += b_row;
  }
#pragma GCC unroll 32
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      float* target = c + r * c_row + v * kLanesOf<V>;
      if (product == Product::kAccumulate) sum[r][v] += Load<V>(target);
      Store(target, sum[r][v]);
    }
  }
}

// One panel: all m rows, MR at a time, then the rest by halves.
template <class V, int NV, int MR>
void MultiplyPanel(int m, int k, const MatrixA& a, const float* b, std::ptrdiff_t b_row, float* c,
                   std::ptrdiff_t c_row, Product product, Prefetch* prefetch) {
  int r = 0;
  for (; r + MR <= m; r += MR) {
    MultiplyBlock<V, NV, MR>(k, a.data + r * a.row_stride, a.row_stride, a.column_stride, b, b_row,
                             c + r * c_row, c_row, product);
    if (prefetch != nullptr) prefetch->Step();
  }
  if constexpr (MR > 1) {
    if (r < m) {
      const MatrixA rest = {a.data + r * a.row_stride, a.row_stride, a.column_stride};
      MultiplyPanel<V, NV, MR / 2>(m - r, k, rest, b, b_row, c + r * c_row, c_row, product,
                                   prefetch);
    }
  }
}

// The width of the panel that begins where `left` columns remain.
int PanelWidth(int left) {
  TUNE_CHECK(left >= 8 && left % 8 == 0);
  if (kLanes == 16) {
    if (left % 16 == 8) return left == 8 ? 8 : 24;
    if (left == 64 || left == 32) return 32;
    return left >= 48 ? 48 : 16;
  }
  if (left == 32 || left == 16) return 16;
  return left >= 24 ? 24 : 8;
}

}  // namespace

void MultiplyTile(int m, int n, int k, const MatrixA& a, const MatrixB& b, float* c,
                  std::ptrdiff_t c_stride, Product product, Prefetch* prefetch) {
  for (int j = 0; j < n;) {
    const int width = PanelWidth(n - j);
    const bool packed = b.stride == 0;
    const float* panel = b.data + (packed ? static_cast<std::ptrdiff_t>(j) * k : j);
    const std::ptrdiff_t row = packed ? width : b.stride;
    switch (width) {
      case 48:
        MultiplyPanel<Vec, 3, 8>(m, k, a, panel, row, c + j, c_stride, product, prefetch);
        break;
      case 32:
        MultiplyPanel<Vec, 2, 8>(m, k, a, panel, row, c + j, c_stride, product, prefetch);
        break;
      case 24:
        MultiplyPanel<Vec8, 3, kLanes / 2>(m, k, a, panel, row, c + j, c_stride, product, prefetch);
        break;
      case 16:
        MultiplyPanel<Vec, 16 / kLanes, kLanes == 16 ? 16 : 4>(m, k, a, panel, row, c + j, c_stride,
                                                               product, prefetch);
        break;
      default:
        MultiplyPanel<Vec8, 1, kLanes>(m, k, a, panel, row, c + j, c_stride, product, prefetch);
    }
    j += width;
  }
}

int64_t MultiplySteps(int m, int n) {
  int64_t steps = 0;
  for (int j = 0; j < n;) {
    const int width = PanelWidth(n - j);
    steps += m / (width == 16 || width == 8 ? 16 : 8);
    j += width;
  }
  return steps;
}

void PackPanels(int k, int n, const float* source, std::ptrdiff_t row_stride,
                std::ptrdiff_t column_stride, float* packed) {
  for (int j = 0; j < n;) {
    const int width = PanelWidth(n - j);
    for (int i = 0; i < k; ++i) {
      const float* from = source + i * row_stride + j * column_stride;
      for (int x = 0; x < width; ++x) packed[x] = from[x * column_stride];
      packed += width;
    }
    j += width;
  }
}

}  // namespace tune::models::cpu
