// The text of a folder (package_format.h) that comes in piece by piece, and becomes the folder once
// it is all here and is what was named: files and folders alone, none of them outside.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/package/sha256.h"

namespace tune {

class IncomingText {
 public:
  // `file`: empty, or with the first of it, which is read; readable and writable. `path`: where it
  // lies, for errors.
  static Result<IncomingText> Begin(PackageName name, FileDescriptor file, std::string path);

  const PackageName& name() const { return name_; }
  int64_t offset() const { return offset_; }
  // kDataLoss: more comes than was named.
  Status Append(std::string_view piece);
  // Once, when all is here. The folder is durable as `parent`/`name`, or under another name where
  // that one is taken (durable_folder.h); returns its path. kDataLoss: what came is not what was
  // named, or no folder that is taken.
  Result<std::string> Unpack(const std::string& parent, const std::string& name);

 private:
  IncomingText(PackageName name, FileDescriptor file, std::string path)
      : name_(std::move(name)), file_(std::move(file)), path_(std::move(path)) {}

  PackageName name_;
  FileDescriptor file_;
  std::string path_;
  int64_t offset_ = 0;
  Sha256 hash_;  // Of what is here.
};

}  // namespace tune
