// The end of what a program printed: what a person is told when it fails.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>

namespace tune {

class OutputTail {
 public:
  void Add(std::string_view piece);

  // The last line that holds more than blanks, cut to what fits a message; may be empty.
  std::string LastLine() const;
  // The last line, where it is the end of one of Python's tracebacks; empty: it is not.
  std::string LastException() const;
  // Whether it speaks of a device or of the machine without memory, in the words of CUDA, PyTorch
  // or TensorFlow, or of Python and C++.
  bool SpeaksOfDeviceMemory() const;
  bool SpeaksOfMemory() const;
  // Of a full disk or quota, in the words of the C library (ENOSPC, EDQUOT).
  bool SpeaksOfFullDisk() const;

 private:
  static constexpr size_t kBytesMax = 8u << 10;

  bool HoldsAny(std::initializer_list<std::string_view> texts) const;

  std::string text_;
};

}  // namespace tune
