// Packing a folder (package_format.h), or only naming what is in it.
//
// Left out: what .tuneignore lists; `.git` and `__pycache__`; each `*.artifacts`; each
// `.tune-*.json`, a space file of the Python module; databases of ours, whatever their names, and
// those that are in use, with what lies beside them; what is neither file, folder nor link; files
// that hold a join token, which are the kept output of a tuner; and the file that is this process's
// standard output or standard error. Two processes that pack the same folder so agree on its name,
// though a sweep runs in it.
//
// What holds a private key, or the value of a secret, is never packed: it would lie on every
// machine that joins.
//
// Thread rule: one thread packs; a PackedFolder may be read by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/package_source.h"
#include "trial_runner/secrets.h"

namespace tune {

// What of the folder is packed has this name. Errors: kNotFound (no such folder),
// kFailedPrecondition (it is larger than `bytes_max`, or holds too much), kInvalidArgument
// (something in it cannot be read), kUnavailable (a file changed meanwhile).
Result<PackageName> NameFolder(const std::string& folder, int64_t bytes_max);

class PackedFolder final : public PackageSource {
 public:
  // Packs into `file`, which is empty and is kept. Errors as above; one that is too large, or holds
  // what must not be sent (kInvalidArgument), is told with what can be done; kResourceExhausted:
  // the disk is full.
  static Result<PackedFolder> Pack(const std::string& folder, FileDescriptor file,
                                   const std::vector<Secret>& secrets = {});

  const PackageName& name() const override { return name_; }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override;
  // Files that were left out because they hold a join token, by their paths in the folder.
  const std::vector<std::string>& with_token() const { return with_token_; }
  // Files in it that by their names hold credentials: .netrc, .env, .aws/credentials.
  const std::vector<std::string>& with_credentials() const { return with_credentials_; }

 private:
  PackedFolder(PackageName name, FileDescriptor file, std::vector<std::string> with_token,
               std::vector<std::string> with_credentials)
      : name_(std::move(name)),
        file_(std::move(file)),
        with_token_(std::move(with_token)),
        with_credentials_(std::move(with_credentials)) {}

  PackageName name_;
  FileDescriptor file_;
  std::vector<std::string> with_token_;
  std::vector<std::string> with_credentials_;
};

}  // namespace tune
