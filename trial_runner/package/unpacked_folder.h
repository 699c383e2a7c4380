// What lies beside a folder that was unpacked: the heads of its package's entries. With the
// folder's own contents they are the package's text again, so its SHA-256 tells whether the folder
// still has all that came, as it came. What programs added since does not count.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/package/package_format.h"

namespace tune {

// Where the heads of the package in `folder` lie.
std::string EntryListOf(const std::string& folder);

Status WriteEntryList(const std::string& folder, const std::vector<PackageEntry>& entries);

// False also where that cannot be told.
bool IsAsItCame(const std::string& folder, const PackageName& package);

// Whether another folder than the one that was unpacked has all that came, as it came: the folder
// that was packed, in which programs have left something since.
bool HasAllOf(const std::string& unpacked, const std::string& folder, const PackageName& package);

}  // namespace tune
