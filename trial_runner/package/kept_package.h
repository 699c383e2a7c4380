// Packages that outlive whoever packed them: <folder>/<sha256>, one file each, whole or not there.
//
// Thread rule: any thread; several processes may keep the same one.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/package_source.h"

namespace tune {

// Durable when it returns; nothing is done where it is there already. The folder is made, for this
// user alone. kResourceExhausted: the disk is full.
Status KeepPackage(const PackageSource& package, const std::string& folder);

// kNotFound: it is not there, or not whole.
Result<std::shared_ptr<const PackageSource>> OpenKeptPackage(const std::string& folder,
                                                             const PackageName& name);

}  // namespace tune
