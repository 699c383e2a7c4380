// Checkpoints that are given up, on their way from this disk in two steps, for who cannot wait
// until a folder of many files is gone.
//
// Thread rule: the first step in the tuner's thread, the second in any.
#pragma once

#include <string>

#include "core/status.h"
#include "tuner/artifact_store.h"

namespace tune {

// Gives a checkpoint of ours the name of one that is not whole, which `tune gc` knows should the
// tuner die before the second step. Returns its path then; empty: nothing is left to remove, as
// what is called otherwise was removed at once. Errors as of LocalArtifactStore::Remove.
Result<std::string> SetCheckpointAside(LocalArtifactStore& store, const std::string& path);

// Removes that folder. What a trial writes under that name meanwhile stays.
Status RemoveSetAside(const std::string& aside);

}  // namespace tune
