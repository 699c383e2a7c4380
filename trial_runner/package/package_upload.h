// Packages that come in bit by bit from who submits a sweep from elsewhere, until they are kept
// ones (kept_package.h). What broke off is gone on with, also by another process; it goes with
// TrimKeptPackages, and when its owner sends so much else that all of it is more than one package
// may have. Each owner sends for himself: nobody spoils what is another's.
//
// Thread rule: one thread and one process for each folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "trial_runner/sweep_info.h"

namespace tune {

class PackageUpload {
 public:
  // `owner`: whose; any text.
  PackageUpload(std::string folder, std::string_view owner);

  // How many bytes of it are here; all of them: it is kept.
  int64_t Have(const PackageName& name) const;
  // What follows those; how many are here then. kFailedPrecondition: it does not follow them.
  // kDataLoss: all is here, and is not what was named: it begins anew. kResourceExhausted: the disk
  // is full.
  Result<int64_t> Append(const PackageName& name, int64_t from, std::string_view piece);

 private:
  std::string PartOf(const PackageName& name) const {
    return folder_ + "/.part-" + name.sha256 + ending_;
  }
  // The oldest of the owner's others go until so many bytes more are within the bound.
  void MakeRoom(const PackageName& name) const;

  const std::string folder_;
  const std::string ending_;  // "-" and a hash of the owner.
};

}  // namespace tune
