#include "models/cuda/blas.h"

#include <dlfcn.h>

#include <string>
#include <utility>

namespace tune::models::cuda {
namespace {

// Of cublas_api.h and library_types.h, the same in CUDA 12 and 13; enumerations are passed as int.
constexpr int kNotTransposed = 0, kTransposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int kReal32 = 0, kRealBf16 = 14;          // CUDA_R_32F, CUDA_R_16BF
constexpr int kCompute32 = 68;                      // CUBLAS_COMPUTE_32F
constexpr int kGemmDefault = -1;                    // CUBLAS_GEMM_DEFAULT
// CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: by default partial sums may be kept as bf16.
constexpr int kSumsInFloat = 16;
using Handle = void*;
using CreateFunction = int(Handle*);
using DestroyFunction = int(Handle);
using SetStreamFunction = int(Handle, CUstream_st*);
using SetMathModeFunction = int(Handle, int);
using SetWorkspaceFunction = int(Handle, void*, size_t);
using GemmFunction = int(Handle, int transa, int transb, int m, int n, int k, const void* alpha,
                         const void* a, int a_type, int lda, long long a_stride, const void* b,
                         int b_type, int ldb, long long b_stride, const void* beta, void* c,
                         int c_type, int ldc, long long c_stride, int batch_count, int compute_type,
                         int algorithm);

Status BlasFailure(int status, const char* call) {
  if (status == 0) return OkStatus();
  return Internal(std::string(call) + ": cuBLAS status " + std::to_string(status));
}

int TypeOf(BlasNumber number) { return number == BlasNumber::kFloat ? kReal32 : kRealBf16; }

template <class Function>
Status Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return OkStatus();
  return FailedPrecondition(std::string("cuBLAS has no ") + name);
}

// The library stays loaded: what it holds lives as long as the device's context.
Result<void*> Load() {
  std::string reason;
  for (const char* name :
       {"libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.13", "libcublas.so.12"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (reason.empty()) reason = dlerror();
  }
  return FailedPrecondition("cannot load cuBLAS: " + reason +
                            "; install CUDA's cuBLAS, or use device cpu");
}

}  // namespace

struct Blas::Library {
  ~Library() {
    if (handle != nullptr) destroy(handle);
  }

  CreateFunction* create = nullptr;
  DestroyFunction* destroy = nullptr;
  SetStreamFunction* set_stream = nullptr;
  SetMathModeFunction* set_math_mode = nullptr;
  SetWorkspaceFunction* set_workspace = nullptr;
  GemmFunction* multiply = nullptr;
  Handle handle = nullptr;
};

Blas::Blas(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Blas::~Blas() = default;

Result<std::unique_ptr<Blas>> Blas::Open(CUstream_st* stream, void* workspace) {
  TUNE_ASSIGN_OR_RETURN(void* const library, Load());
  auto found = std::make_unique<Library>();
  TUNE_RETURN_IF_ERROR(Find(library, "cublasCreate_v2", found->create));
  TUNE_RETURN_IF_ERROR(Find(library, "cublasDestroy_v2", found->destroy));
  TUNE_RETURN_IF_ERROR(Find(library, "cublasSetStream_v2", found->set_stream));
  TUNE_RETURN_IF_ERROR(Find(library, "cublasSetMathMode", found->set_math_mode));
  TUNE_RETURN_IF_ERROR(Find(library, "cublasSetWorkspace_v2", found->set_workspace));
  TUNE_RETURN_IF_ERROR(Find(library, "cublasGemmStridedBatchedEx", found->multiply));
  TUNE_RETURN_IF_ERROR(BlasFailure(found->create(&found->handle), "cublasCreate"));
  TUNE_RETURN_IF_ERROR(BlasFailure(found->set_stream(found->handle, stream), "cublasSetStream"));
  TUNE_RETURN_IF_ERROR(
      BlasFailure(found->set_math_mode(found->handle, kSumsInFloat), "cublasSetMathMode"));
  // After the stream, which takes a workspace away.
  TUNE_RETURN_IF_ERROR(BlasFailure(found->set_workspace(found->handle, workspace, kWorkspaceBytes),
                                   "cublasSetWorkspace"));
  return std::unique_ptr<Blas>(new Blas(std::move(found)));
}

Status Blas::Multiply(const BlasProduct& p, const BlasMatrix& a, const BlasMatrix& b,
                      const BlasMatrix& c) {
  const float one = 1, zero = 0;
  const auto operation = [](bool transpose) { return transpose ? kTransposed : kNotTransposed; };
  return BlasFailure(
      library_->multiply(library_->handle, operation(p.transpose_a), operation(p.transpose_b),
                         static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), &one,
                         a.data, TypeOf(a.number), a.row, a.lane_stride, b.data, TypeOf(b.number),
                         b.row, b.lane_stride, &zero, c.data, TypeOf(c.number), c.row,
                         c.lane_stride, p.lanes, kCompute32, kGemmDefault),
      "cublasGemmStridedBatchedEx");
}

}  // namespace tune::models::cuda
