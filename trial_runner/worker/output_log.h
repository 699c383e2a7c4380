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
// exceed limits::kAttemptLogBytesMax is cut there. A log is no result: a program whose output the
// disk does not take (it is full) goes on, and the log says how many bytes of it are missing, where
// they are missing, as soon as it can.
class OutputLog {
 public:
  explicit OutputLog(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Whether what was opened lies at the path no more: its sweep was deleted, and another one may
  // have the name by now.
  bool is_elsewhere() const;
  void Append(std::string_view text);
  // Bytes are missing, and the log does not say so yet.
  bool has_untold_loss() const { return lost_bytes_ > 0; }
  // Says it now, if the disk takes it.
  void TellLoss();

 private:
  bool Open();
  size_t Write(std::string_view text);

  std::string path_;
  FileDescriptor file_;  // Opened, and its folder made, by the first output.
  int64_t bytes_ = 0;    // That the file has.
  bool is_cut_ = false;
  int64_t lost_bytes_ = 0;
};

}  // namespace tune
