// Packages that come in bit by bit from who submits a sweep from elsewhere, until they are kept
// ones (kept_package.h). What broke off is gone on with, also by another process; it goes with
// TrimKeptPackages.
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
  explicit PackageUpload(std::string folder) : folder_(std::move(folder)) {}

  // How many bytes of it are here; all of them: it is kept.
  int64_t Have(const PackageName& name) const;
  // What follows those; how many are here then. kFailedPrecondition: it does not follow them.
  // kDataLoss: all is here, and is not what was named: it begins anew. kResourceExhausted: the disk
  // is full.
  Result<int64_t> Append(const PackageName& name, int64_t from, std::string_view piece);

 private:
  std::string PartOf(const PackageName& name) const { return folder_ + "/.part-" + name.sha256; }

  const std::string folder_;
};

}  // namespace tune
