// Folders of deleted sweeps that are still to be removed: <db stem>.artifacts/.deleted-N
// (IsNameOfDeleted). Removing a large folder takes minutes, and a rename takes none: with it the
// sweep's name is free, and a new sweep of that name finds nothing of the old one's. `tune gc`
// removes whatever is left there.
//
// What lies under a new sweep's name though no row knows of it is set aside likewise, as .left-N,
// and removed by `tune gc` alone: a delete that was cut off may have left it, or the database was
// put back to an older state, and then somebody may want it.
//
// A folder is set aside after the sweep's rows are gone, and never before: a crash leaves either
// the sweep with its files, or no sweep.
//
// Thread rule: stateless. Only who holds the writer's lock may set a folder aside.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

// Sets the folder of a deleted sweep aside, whatever is in it. Returns its new path; empty: there
// was no folder. Durable when it returns.
Result<std::string> SetDeletedAside(const std::string& artifacts_dir, const std::string& sweep);

// Sets aside what another sweep of that name has left, before a new sweep takes the name. A folder
// that holds anything but what sweeps leave is a person's, and stays. Returns the new path; empty:
// nothing was left.
Result<std::string> SetLeftAside(const std::string& artifacts_dir, const std::string& sweep);

// What a person is told of it.
std::string DescribeLeft(const std::string& sweep, const std::string& aside);

// The paths of all folders of deleted sweeps.
std::vector<std::string> ListSetAside(const std::string& artifacts_dir);

// Removes a folder with all that is in it, and follows no links. Stops between two files when
// `stop` is requested, and returns ok then.
Status RemoveFolder(const std::string& path, const std::stop_token& stop);

}  // namespace tune
