// What a program writes beside its code, where that is a copy of the folder in a worker's cache:
// others run in the copy too, and nothing of it goes to the tuner.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

// What a file's stamp would be that is written now.
Instant FileClockNow();

// A line for a person about what was written there after that stamp; empty: nothing was, or
// `folder` is no copy. Hidden files and compiled Python are passed over, and so is all of a folder
// with more than some thousand entries. `known`: files with metrics, as the space file names them,
// which are read here.
std::string NoteOfFilesInCopy(const WorkPlace& place, const std::string& folder, Instant since,
                              const std::vector<std::string>& known);

}  // namespace tune
