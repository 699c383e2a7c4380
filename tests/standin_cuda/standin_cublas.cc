// A library in the place of NVIDIA's libcublas.so.13, for tests: the calls that models/cuda/blas.cc
// makes, on the device of standin_cuda.cc. Sums in float; as NVIDIA's may, in another order for one
// matrix than for several.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/standin_cuda/cuda_runtime.h"

namespace {

using cublasStatus_t = int;
constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0;
constexpr cublasStatus_t CUBLAS_STATUS_NOT_INITIALIZED = 1;
constexpr cublasStatus_t CUBLAS_STATUS_INVALID_VALUE = 7;
constexpr cublasStatus_t CUBLAS_STATUS_EXECUTION_FAILED = 13;
constexpr cublasStatus_t CUBLAS_STATUS_NOT_SUPPORTED = 15;
constexpr int CUBLAS_OP_N = 0, CUBLAS_OP_T = 1;
constexpr int CUDA_R_32F = 0, CUDA_R_16BF = 14;
constexpr int CUBLAS_COMPUTE_32F = 68;
constexpr int CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16;

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  bool sums_in_float = false;
};
using cublasHandle_t = cublasContext*;

// Column-major: element (row, column) of a matrix whose columns are `stride` apart.
struct Matrix {
  void* data;
  int type;
  int64_t stride, batch_stride;

  float Get(int batch, int64_t row, int64_t column) const {
    const int64_t at = batch * batch_stride + column * stride + row;
    if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
    return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[at]} << 16);
  }
  void Put(int batch, int64_t row, int64_t column, float value) const {
    const int64_t at = batch * batch_stride + column * stride + row;
    if (type == CUDA_R_32F) {
      static_cast<float*>(data)[at] = value;
      return;
    }
    // To the nearest, ties to even.
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = value != value ? bits | 0x40'0000 : bits + 0x7fff + ((bits >> 16) & 1);
    static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(rounded >> 16);
  }
};

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

// It takes away the workspace, as NVIDIA's does.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->workspace = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode) {
  handle->sums_in_float = mode == CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t /*bytes*/) {
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = workspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, int transa, int transb, int m,
                                          int n, int k, const void* alpha, const void* a,
                                          int a_type, int lda, long long a_stride, const void* b,
                                          int b_type, int ldb, long long b_stride, const void* beta,
                                          void* c, int c_type, int ldc, long long c_stride,
                                          int batch_count, int compute_type, int /*algorithm*/) {
  // Without one of ours it would allocate, which a capture does not allow.
  if (handle->workspace == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!handle->sums_in_float) return CUBLAS_STATUS_NOT_SUPPORTED;  // Not here.
  const bool flips_a = transa == CUBLAS_OP_T, flips_b = transb == CUBLAS_OP_T;
  if ((!flips_a && transa != CUBLAS_OP_N) || (!flips_b && transb != CUBLAS_OP_N) || m <= 0 ||
      n <= 0 || k <= 0 || batch_count <= 0 || lda < (flips_a ? k : m) || ldb < (flips_b ? n : k) ||
      ldc < m || *static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto is_known = [](int type) { return type == CUDA_R_32F || type == CUDA_R_16BF; };
  if (a_type != b_type || !is_known(a_type) || !is_known(c_type) ||
      (a_type == CUDA_R_32F && c_type != CUDA_R_32F) || compute_type != CUBLAS_COMPUTE_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Matrix from_a = {const_cast<void*>(a), a_type, lda, a_stride};
  const Matrix from_b = {const_cast<void*>(b), b_type, ldb, b_stride};
  const Matrix to = {c, c_type, ldc, c_stride};
  const cudaError_t asked = standin_cuda::Enqueue(handle->stream, [=] {
    std::vector<float> sums(static_cast<size_t>(m));
    for (int batch = 0; batch < batch_count; ++batch) {
      for (int64_t column = 0; column < n; ++column) {
        sums.assign(sums.size(), 0.0f);
        for (int64_t step = 0; step < k; ++step) {
          const int64_t i = batch_count == 1 ? step : k - 1 - step;
          const float factor =
              flips_b ? from_b.Get(batch, column, i) : from_b.Get(batch, i, column);
          for (int64_t row = 0; row < m; ++row) {
            sums[static_cast<size_t>(row)] +=
                factor * (flips_a ? from_a.Get(batch, i, row) : from_a.Get(batch, row, i));
          }
        }
        for (int64_t row = 0; row < m; ++row) {
          to.Put(batch, row, column, sums[static_cast<size_t>(row)]);
        }
      }
    }
  });
  return asked == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
