// Processes that a trial's program has started and that outlived everything of ours above them:
// when tuner, worker and tune_trial_command get SIGKILL together, nobody is left to end what has
// left its session.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

namespace tune {

// Ends (SIGKILL) the processes of this user whose environment says TUNE_SOCKET, and a TUNE_DIR
// below `folder`, unless a process of ours lives above them: their trial runs then, under a worker
// that outlived its tuner or belongs to another one. Tries for some seconds, also against what is
// started meanwhile. Ends nothing where this process has such an environment itself: it then runs
// within such a trial. Returns what it ended: "4711 (sleep 100)".
//
// Not found: a process that runs as another user, or that has overwritten its environment.
std::vector<std::string> EndLeftBehind(const std::string& folder);

}  // namespace tune
