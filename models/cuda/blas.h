// cuBLAS, found at run time: a program that trains on the processor needs none of CUDA's libraries.
//
// Thread rule: as the card that owns it. Errors: kFailedPrecondition where there is no cuBLAS;
// kInternal with the call's name.
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.h"

struct CUstream_st;

namespace tune::models::cuda {

enum class BlasNumber { kFloat, kBf16 };

// A matrix of each lane; rows of `row` numbers follow each other, which cuBLAS reads as columns.
struct BlasMatrix {
  void* data = nullptr;
  int64_t lane_stride = 0;
  int row = 0;
  BlasNumber number = BlasNumber::kFloat;
};

// c (m, n) = op(a) (m, k) op(b) (k, n) in cuBLAS's column-major view.
struct BlasProduct {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int lanes = 1;
};

class Blas {
 public:
  static constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

  // On this stream, with a workspace of that size on the device.
  static Result<std::unique_ptr<Blas>> Open(CUstream_st* stream, void* workspace);
  ~Blas();

  // Sums in float; the same bits each time (no atomics, one stream).
  Status Multiply(const BlasProduct& product, const BlasMatrix& a, const BlasMatrix& b,
                  const BlasMatrix& c);

 private:
  struct Library;
  explicit Blas(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace tune::models::cuda
