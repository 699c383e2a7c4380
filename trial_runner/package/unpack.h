// From the text of a folder (package_format.h) on this disk back to the folder.
//
// Thread rule: stateless; a MappedFile may be read by any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "trial_runner/package/package_format.h"

namespace tune {

// A file's bytes as they lie on the disk. We have written them, and nobody else does.
class MappedFile {
 public:
  // `path` is for errors.
  static Result<MappedFile> Of(int fd, const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view text() const { return {static_cast<const char*>(start_), bytes_}; }

 private:
  MappedFile(void* start, size_t bytes) : start_(start), bytes_(bytes) {}

  void* start_;
  size_t bytes_;
};

// Makes what the entry is, at `path`, where nothing is. Not synced.
Status MakeEntry(const PackageEntry& entry, const std::string& path);

// All entries below `folder`, which is there and empty; each file and folder is synced, but for
// `folder` itself.
Status MakeEntriesSynced(const std::vector<PackageEntry>& entries, const std::string& folder);

}  // namespace tune
