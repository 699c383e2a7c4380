// The checkpoint of a user's program, as a folder:
//
//   <artifacts>/<experiment>/<trial>/checkpoint_000005/
//     data/model.pt      what the program named: a file, or a folder with all that is in it
//     manifest.json      its name, each file's size and XXH64, and the manifest's own
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/checkpoint_place.h"

namespace tune {

// Durable when it returns. kNotFound, kInvalidArgument: there is nothing at `source` that can be
// copied; kResourceExhausted: the disk is full. Nothing is left behind then.
Result<CheckpointRef> CopyProgramCheckpoint(CheckpointPlace& place, int64_t iteration,
                                            const std::string& source);

// What the program named, in the folder of a checkpoint, after each file was looked at. kNotFound:
// there is no such checkpoint; kDataLoss: it is not what was written.
Result<std::string> VerifyProgramCheckpoint(const std::string& folder);

}  // namespace tune
