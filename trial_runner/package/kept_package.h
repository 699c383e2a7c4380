// Packages that outlive whoever packed them: <folder>/<sha256>, one file each, whole or not there.
//
// Thread rule: any thread; several processes may keep the same one.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/package_source.h"

namespace tune {

// Durable when it returns; nothing is written where it is there already. The folder is made, for
// this user alone. kResourceExhausted: the disk is full.
Status KeepPackage(const PackageSource& package, const std::string& folder);

// Counts as a use of the package, as TouchKeptPackage does. kNotFound: it is not there, or not
// whole.
Result<std::shared_ptr<const PackageSource>> OpenKeptPackage(const std::string& folder,
                                                             const PackageName& name);

// The same without being a use: for what only copies it.
Result<std::shared_ptr<const PackageSource>> FindKeptPackage(const std::string& folder,
                                                             const PackageName& name);

// Notes that the package was used just now. One that is not there is passed over.
void TouchKeptPackage(const std::string& folder, const std::string& sha256);

// Removes all but the `needed` (hashes) and those `others_max` others that were used last, and what
// broke off.
void TrimKeptPackages(const std::string& folder, const std::set<std::string>& needed,
                      size_t others_max);

}  // namespace tune
