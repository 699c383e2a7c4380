// The working_dir of a sweep whose trials are programs of the user's: packed where workers of other
// machines can come, else only named, so that what `setup` makes is known again.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/package/packed_folder.h"
#include "tuner/experiment_spec.h"
#include "tuner/store.h"

namespace tune {

struct WorkingPackage {
  PackageName name;  // Empty: nobody needs it, or it is too large to name.
  std::shared_ptr<const PackedFolder> packed;  // Null: nobody fetches it.
  std::vector<std::string> warnings;           // Of files that were left out.
};

// Packs into a file without a name beside the database. What has the value of one of `secrets`, or
// of a secret of its environment, is refused. Errors are for the person, at the
// trainable's place in the space file where there is one.
Result<WorkingPackage> PackWorkingFolder(const ExperimentSpec& spec, const std::string& db_path,
                                         bool listens, std::vector<Secret> secrets = {});

// Where a head keeps the packages of its sweeps.
std::string PackagesDirOf(const std::string& db_path);

// Of what is submitted from another machine and runs in its folder, whose package is durable when
// this returns, also where a head was killed before it had synced its name. kInvalidArgument: none
// came with it; kNotFound: it is not here.
Status CheckPackage(const std::string& db_path, const PackageName& package);
// kFailedPrecondition: it was submitted from another machine, and the folder that came with it is
// no longer kept. What lies at its path on this machine is another one.
Status CheckFolderIsKept(const std::string& db_path, const StoredExperiment& experiment);
// kFailedPrecondition: it was submitted from another machine, and runs in the folder that came with
// it, which a head alone has.
Status CheckFolderIsHere(const StoredExperiment& experiment);

}  // namespace tune
