// A folder that nobody changes, as one text (package_format.h), read in place: all that is in it,
// whatever it is called.
//
// Thread rule: any thread, several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/package_source.h"

namespace tune {

class FolderText final : public PackageSource {
 public:
  // Reads all of it, to name it. Errors: kNotFound (no such folder), kInvalidArgument (it holds
  // what is neither file nor folder, cannot be read, has too many files, or is too deep),
  // kUnavailable (it changes).
  static Result<FolderText> Of(const std::string& folder);
  // Likewise, until `stop` is asked for (kUnavailable).
  static Result<FolderText> Of(const std::string& folder, const std::stop_token& stop);
  // Likewise, without what directly in it has a name of `is_left_out`. What is neither file nor
  // folder is passed over, and counted.
  using NameTest = std::function<bool(std::string_view name)>;
  static Result<FolderText> Of(const std::string& folder, const NameTest& is_left_out);

  const PackageName& name() const override { return name_; }
  bool is_empty() const { return parts_.size() == 2; }  // There is no entry.
  int64_t passed_over() const { return passed_over_; }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override;

 private:
  // A piece of the text: `head`, then a file's content.
  struct Part {
    int64_t begin = 0;
    std::string head;
    std::string file;  // Empty: there is no content.
    int64_t bytes = 0;
  };
  static Result<FolderText> Make(const std::string& folder, const NameTest* is_left_out,
                                 const std::stop_token& stop);
  Status AddFolder(const std::string& within, int depth, const NameTest* is_left_out);
  Status AddEntry(const std::string& path, int depth, const NameTest* is_left_out);
  Status AddPart(std::string head, std::string file, int64_t bytes);
  Result<std::string> Hash(const std::stop_token& stop) const;
  Result<std::string> ReadPart(const Part& part, int64_t offset, size_t bytes_max) const;
  Result<FileDescriptor> Open(const Part& part) const;
  Result<size_t> ReadAt(const Part& part, const FileDescriptor& file, int64_t offset,
                        std::span<char> bytes) const;

  std::string root_;
  std::vector<Part> parts_;
  PackageName name_;
  int64_t passed_over_ = 0;
};

}  // namespace tune
