// Memory for large arrays of floats, allocated once: aligned, zero at first, and in huge pages
// where the system gives them (a training step walks gigabytes; with small pages a tenth of its
// time goes into address translation).
//
// Thread rule: a value with one owner.
#pragma once

#include <cstdint>
#include <memory>

namespace tune::models::cpu {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t floats);

  float* data() const { return data_.get(); }
  int64_t size() const { return size_; }  // Floats.

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

}  // namespace tune::models::cpu
