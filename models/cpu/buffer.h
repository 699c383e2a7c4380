// Memory for large arrays of floats, allocated once: aligned to pages, zero at first, and in huge
// pages where the system gives them (a training step walks gigabytes; with small pages a tenth of
// its time goes into address translation).
//
// Thread rule: a value with one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tune::models::cpu {

class Buffer {
 public:
  Buffer() = default;
  // Throws std::bad_alloc.
  explicit Buffer(int64_t floats);

  float* data() const { return data_.get(); }
  int64_t size() const { return size_; }  // Floats.

 private:
  struct Unmap {
    size_t bytes;
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Unmap> data_;
  int64_t size_ = 0;
};

}  // namespace tune::models::cpu
