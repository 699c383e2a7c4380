// A sweep's own copy of a package's folder, below a worker's cache:
//
//   copies/<hash>   of the package and of whose it is; programs run in it, and what they leave
//   stays
//
// What one sweep's programs, or a job's, leave beside their code no other's finds: a program that
// goes on from what lies there would go on from another person's. The sweep's workers of one
// machine share it, and find it again when they are started anew. Of those that no worker holds the
// latest used stay (limits::kPackagesKeptMax).
//
// Thread rule: any thread, any number of processes.
#pragma once

#include <string>

#include "core/status.h"
#include "trial_runner/package/package_store.h"

namespace tune {

// `pristine`: the package's folder, as it came. `whose`: of no other sweep. Copied where it is not
// there, or where what came is not in it as it came. Errors: of this machine's disk.
Result<HeldPackage> ObtainOwnCopy(const std::string& cache, const PackageName& package,
                                  const HeldPackage& pristine, const std::string& whose);

}  // namespace tune
