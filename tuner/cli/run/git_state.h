// Which commit a folder is at. Asks `git`; where that is not there or will not answer (another
// user's folder), reads .git, which does not tell whether files were changed.
//
// Thread rule: any thread.
#pragma once

#include <optional>
#include <string>

#include "tuner/provenance.h"

namespace tune {

// Nothing: the folder is in no repository, or in one without a commit. Never fails.
std::optional<GitState> FindGitState(const std::string& folder);

// The part that needs no `git`.
std::optional<GitState> ReadGitFolder(const std::string& folder);

}  // namespace tune
