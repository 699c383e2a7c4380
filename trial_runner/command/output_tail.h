// The end of what a program printed: what a person is told when it fails.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>

namespace tune {

// As much of a line as fits a message.
std::string ShownLine(std::string_view line);

class OutputTail {
 public:
  void Add(std::string_view piece);

  // The last line that holds more than blanks, cut to what fits a message; may be empty.
  std::string LastLine() const;
  // Why a program that failed did, as far as it says so: what its Python traceback ends with, where
  // few lines stand behind it ("Set the environment variable HYDRA_FULL_ERROR=1 ..."), and not that
  // of a program that ran it; above the stack or the last words of other languages their error;
  // else the last line.
  std::string Cause() const;
  // What has been printed so far is of what went well: an error in it was caught.
  void Mark() { marked_ = text_.size(); }
  // An error among the last lines since the mark, of a program whose status says nothing of it: the
  // end of a Python traceback with a few lines behind it, or a line such as "Training failed: no
  // data" with at most two behind it.
  struct Complaint {
    std::string line;         // Empty: there is none.
    std::string behind = {};  // What was printed after it.
  };
  Complaint LastComplaint() const;
  // Whether it speaks of a device or of the machine without memory, in the words of CUDA, PyTorch
  // or TensorFlow, or of Python and C++.
  bool SpeaksOfDeviceMemory() const;
  bool SpeaksOfMemory() const;
  // Of another rank that is gone, cannot be reached or does not come, in the words of the C
  // library, Gloo, NCCL and PyTorch; the latter; of that port, which another program has.
  bool SpeaksOfLostRank() const;
  bool SpeaksOfVainWait() const;
  bool SpeaksOfPort(int64_t port) const;
  // Of a full disk or quota, in the words of the C library (ENOSPC, EDQUOT).
  bool SpeaksOfFullDisk() const;
  // Of one that may only be read (EROFS), as its complaint: programs also warn of such and go on.
  bool SpeaksOfReadOnlyDisk() const;

 private:
  static constexpr size_t kBytesMax = 8u << 10;

  std::string CauseAbove() const;
  bool HoldsAny(std::initializer_list<std::string_view> texts) const;

  std::string text_;
  size_t marked_ = 0;
};

}  // namespace tune
