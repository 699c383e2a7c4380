#include "trial_runner/command/output_tail.h"

#include <algorithm>

#include "core/utf8.h"

namespace tune {
namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

}  // namespace

void OutputTail::Add(std::string_view piece) {
  piece = piece.substr(piece.size() - std::min(piece.size(), kBytesMax));
  text_ += piece;
  // Seldom, so that each byte is moved once.
  if (text_.size() > 2 * kBytesMax) text_.erase(0, text_.size() - kBytesMax);
}

std::string OutputTail::LastLine() const {
  constexpr size_t kShownMax = 300;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t begin = rest.find_last_of("\r\n");
    std::string_view line = begin == std::string_view::npos ? rest : rest.substr(begin + 1);
    rest = begin == std::string_view::npos ? std::string_view() : rest.substr(0, begin);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_last_not_of(" \t") - first + 1);
    const bool is_cut = line.size() > kShownMax;
    return ToUtf8(line.substr(0, kShownMax)) + (is_cut ? "..." : "");
  }
  return "";
}

std::string OutputTail::LastException() const {
  const size_t traceback = text_.rfind("Traceback (most recent call last)");
  if (traceback == std::string::npos) return "";
  const std::string line = LastLine();
  const size_t name = line.find_first_of(": ");
  const std::string_view type = std::string_view(line).substr(0, name);
  // What follows a traceback that was caught is no exception's line, and the lines of one are
  // indented but for its last.
  const bool is_type = !type.empty() && type.find_first_not_of(kNameCharacters) == type.npos &&
                       (name == std::string::npos || line[name] == ':');
  const bool is_end = text_.find("\n" + line, traceback) != std::string::npos;
  const bool is_error = type.ends_with("Error") || type.ends_with("Exception") ||
                        type.ends_with("Interrupt") || type.ends_with("Exit");
  return is_type && is_end && is_error ? line : "";
}

bool OutputTail::HoldsAny(std::initializer_list<std::string_view> texts) const {
  return std::any_of(texts.begin(), texts.end(), [this](std::string_view text) {
    return text_.find(text) != std::string::npos;
  });
}

bool OutputTail::SpeaksOfDeviceMemory() const {
  return HoldsAny({"CUDA out of memory", "CUDA error: out of memory", "cudaErrorMemoryAllocation",
                   "CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED",
                   "OutOfMemoryError: HIP", "OOM when allocating tensor"});
}

bool OutputTail::SpeaksOfMemory() const {
  return HoldsAny({"\nMemoryError", "std::bad_alloc", "DefaultCPUAllocator: can't allocate memory",
                   "DefaultCPUAllocator: not enough memory"});
}

bool OutputTail::SpeaksOfFullDisk() const {
  return HoldsAny({"No space left on device", "Disk quota exceeded"});
}

}  // namespace tune
