// What a trial process prints, kept in a file.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/posix/file_descriptor.h"

namespace tune {

// The output of a trial process, kept in the log of an attempt that it runs. A log that would
// exceed limits::kAttemptLogBytesMax is cut there.
class OutputLog {
 public:
  explicit OutputLog(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  void Append(std::string_view text);

 private:
  std::string path_;
  FileDescriptor file_;  // Opened, and its folder made, by the first output.
  int64_t bytes_ = 0;
};

}  // namespace tune
