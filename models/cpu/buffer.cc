#include "models/cpu/buffer.h"

#include <sys/mman.h>

#include <new>

namespace tune::models::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// Large buffers begin at a huge page; the system hands them out zeroed.
size_t MappedBytes(int64_t floats) {
  const int64_t bytes = floats * int64_t{sizeof(float)};
  const int64_t page = bytes >= kHugePage ? kHugePage : 4096;
  return static_cast<size_t>((bytes + page - 1) / page * page);
}

}  // namespace

Buffer::Buffer(int64_t floats) : data_(nullptr, Unmap{MappedBytes(floats)}), size_(floats) {
  if (floats == 0) return;
  const size_t bytes = MappedBytes(floats);
  const bool huge = bytes % kHugePage == 0;
  // With room to align, of which the rest is given back.
  const size_t spare = huge ? kHugePage : 0;
  void* const mapped =
      mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(mapped);
  if (huge) {
    const size_t ahead = (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage) % kHugePage;
    if (ahead > 0) munmap(begin, ahead);
    begin += ahead;
    if (spare > ahead) munmap(begin + bytes, spare - ahead);
    // Advice: where the system declines, small pages do.
    (void)madvise(begin, bytes, MADV_HUGEPAGE);
  }
  data_.reset(reinterpret_cast<float*>(begin));
}

void Buffer::Unmap::operator()(float* data) const { munmap(data, bytes); }

}  // namespace tune::models::cpu
