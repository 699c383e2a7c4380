#include "models/cpu/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tune::models::cpu {
namespace {
constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
}  // namespace

Buffer::Buffer(int64_t floats) : size_(floats) {
  if (floats == 0) return;
  size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
  if (data_ == nullptr) throw std::bad_alloc();
  // Advice: where the system declines, small pages do.
  if (alignment == kHugePage) (void)madvise(data_.get(), bytes, MADV_HUGEPAGE);
  std::memset(data_.get(), 0, bytes);
}

void Buffer::Free::operator()(float* data) const { std::free(data); }

}  // namespace tune::models::cpu
