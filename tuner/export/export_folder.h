// The folder that an export makes: it is there whole or not at all.
//
// Everything is written into "<folder>.partial" beside it, synced, and then takes its name. What a
// killed export left under that name goes with the next one. A lock (flock(2)) tells it from one
// that is being written, and a file in it (.tune-export) from a person's folder of that name.
//
// Thread rule: one thread an object.
#pragma once

#include <string>
#include <utility>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

class ExportFolder {
 public:
  // kInvalidArgument: the folder is there and not empty, or cannot be made, or a person's lies in
  // the place of the partial one; nothing was touched.
  static Result<ExportFolder> Begin(const std::string& folder);
  ExportFolder(ExportFolder&& other) noexcept
      : folder_(std::move(other.folder_)),
        partial_(std::exchange(other.partial_, {})),
        lock_(std::move(other.lock_)) {}
  ExportFolder& operator=(ExportFolder&&) = delete;
  ~ExportFolder();  // What was not committed is removed.

  // Where to write.
  const std::string& path() const { return partial_; }
  // Absolute: where it will be.
  const std::string& target() const { return folder_; }
  // Once, last.
  Status Commit();

 private:
  ExportFolder(std::string folder, std::string partial, FileDescriptor lock)
      : folder_(std::move(folder)), partial_(std::move(partial)), lock_(std::move(lock)) {}

  std::string folder_;
  std::string partial_;  // Empty when there is nothing to remove.
  FileDescriptor lock_;  // On the partial folder.
};

}  // namespace tune
