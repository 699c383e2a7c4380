// A file that is written from front to end, in large pieces.
//
// Thread rule: one thread an object.
#pragma once

#include <string>
#include <string_view>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

class OutputFile {
 public:
  // A new file; the folders above it that are missing are made.
  static Result<OutputFile> Create(const std::string& path);

  // kResourceExhausted: the disk is full.
  Status Append(std::string_view text);
  // What was appended is in the file when it returns ok.
  Status Close();

 private:
  OutputFile(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status Flush();

  std::string path_;
  FileDescriptor file_;
  std::string pending_;
};

// A file of its own with this text.
Status WriteOutputFile(const std::string& path, std::string_view text);

}  // namespace tune
