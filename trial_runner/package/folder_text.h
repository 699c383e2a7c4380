// A folder that nobody changes, as one text (package_format.h), read in place: all that is in it,
// whatever it is called.
//
// Thread rule: any thread, several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/package_source.h"

namespace tune {

class FolderText final : public PackageSource {
 public:
  // Reads all of it, to name it. Errors: kNotFound (no such folder), kInvalidArgument (it holds
  // what is neither file nor folder, or cannot be read), kFailedPrecondition (too many files, or
  // too deep), kUnavailable (it changes).
  static Result<FolderText> Of(const std::string& folder);

  const PackageName& name() const override { return name_; }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override;

 private:
  // A piece of the text: `head`, then a file's content.
  struct Part {
    int64_t begin = 0;
    std::string head;
    std::string file;  // Empty: there is no content.
    int64_t bytes = 0;
  };
  Status AddFolder(const std::string& within, int depth);
  Status AddPart(std::string head, std::string file, int64_t bytes);
  Result<std::string> Hash() const;
  Result<std::string> ReadPart(const Part& part, int64_t offset, size_t bytes_max) const;
  Result<FileDescriptor> Open(const Part& part) const;
  Result<size_t> ReadAt(const Part& part, const FileDescriptor& file, int64_t offset,
                        std::span<char> bytes) const;

  std::string root_;
  std::vector<Part> parts_;
  PackageName name_;
};

}  // namespace tune
