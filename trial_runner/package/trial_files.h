// What a trial's program wrote into its folder ($TUNE_DIR), on its way between a worker that does
// not see the tuner's disk and its tuner. It travels as a checkpoint does (checkpoint_transfer.h),
// under the name kTrialFiles, and becomes what a worker that shares the disk would have left there.
//
// Logs and checkpoints lie in the same folder and travel by themselves.
//
// Thread rule: pure functions, and such as work on files.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "trial_runner/package/folder_text.h"

namespace tune {

inline constexpr std::string_view kTrialFiles = "files";
// Begins the name of what has come and is not moved yet.
inline constexpr std::string_view kTrialFilesIncoming = ".files-incoming";

// Of something directly in a trial's folder: whether it is no file of the program's.
bool IsNoTrialFile(std::string_view name);

// Whether there is any. The configuration alone, which each program is given there, is none.
bool HasTrialFiles(const std::string& folder);

// All files of the program's. Links, sockets and the like are passed over. Errors as of
// FolderText::Of.
Result<FolderText> TextOfTrialFiles(const std::string& folder);

// What lies in `from` comes into `folder`, on the same disk, in the place of what has its name;
// each file is there whole, as it was before or as it came. `from` goes. kDataLoss: something in it
// is no file of a program's, or would lie below a link; nothing is moved then.
Status MoveTrialFiles(const std::string& from, const std::string& folder);

// They lie in a folder of this name from now on, one of theirs: sent so, they take the place of
// nothing that earlier attempts left.
Status PutTrialFilesApart(const std::string& folder, const std::string& name);

// What could not be sent is put aside, so that nothing writes over it; returns where it lies.
// `label` tells it apart from others of the trial.
Result<std::string> PutTrialFilesAside(const std::string& folder, const std::string& label);

}  // namespace tune
