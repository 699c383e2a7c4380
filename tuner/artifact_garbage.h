// What lies in <db stem>.artifacts and nobody needs any more: checkpoints that were given up while
// a tuner died before it could remove them, checkpoints that were never told of, folders of sweeps
// that were deleted. FindGarbage decides and is pure; ListArtifacts looks at the disk; removing is
// artifact_store.h's.
//
// Order: list first, read the database afterwards. A folder that is listed was made before the rows
// were read, so its sweep and its trial are among them.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/transition.h"

namespace tune {

// Something on disk; its path is relative to the artifacts folder: "food11/3/checkpoint_000004".
struct FoundArtifact {
  std::string path;
  bool is_folder = false;
  Instant modified;
  bool is_programs = false;  // A folder that is called as a checkpoint of ours, and is none.
  std::string unread = {};   // "Permission denied": a folder of which not all could be listed.
};

// A worker of another machine goes on for its lease when its tuner dies, and saves what it will
// only tell of later. What its trial does not need is left alone until it is this old, and older
// where leases are longer; the newest checkpoint of these stays however old it is, since clocks
// differ, and a head's lease is not stored.
inline constexpr Duration kUnclaimedPatience = Seconds(600);
inline Duration UnclaimedPatience(Duration lease) {
  return std::max(kUnclaimedPatience, Duration{2 * lease.us});
}

// What the database knows.
struct KnownCheckpoint {
  std::string within;  // Below the trial's folder.
  CheckpointState state = CheckpointState::kDurable;
};
struct KnownTrial {
  TrialStatus status = TrialStatus::kPending;
  bool may_run = false;  // On a worker that outlives its tuner for a while.
  std::vector<KnownCheckpoint> checkpoints;
};
struct KnownSweep {
  bool has_tuner = false;
  Duration patience = kUnclaimedPatience;  // With trials that may run.
  std::map<int64_t, KnownTrial> trials;    // By number.
};
using KnownSweeps = std::map<std::string, KnownSweep>;  // By name.

struct Garbage {
  std::string path;  // As FoundArtifact's.
  std::string reason;
  friend bool operator==(const Garbage&, const Garbage&) = default;
};

// Sorted by path, none below another. Whatever a durable row names stays, and so does what is not
// known to be ours (logs, what trials wrote under other names). Of a sweep that a tuner runs, only
// ended trials are touched. `is_held`: another process holds the database; its
// socket stays, and so do folders of sweeps that are not known, whose names a new one may take.
std::vector<Garbage> FindGarbage(const std::vector<FoundArtifact>& found, const KnownSweeps& sweeps,
                                 Instant now, bool is_held = false);

// All that lies in the folder, or below that of one sweep, down to the checkpoints; sorted by path.
// Nothing when there is no such folder. A folder below it that cannot be entered says so
// (`unread`); an error is the folder's own.
Result<std::vector<FoundArtifact>> ListArtifacts(const std::string& artifacts_dir,
                                                 const std::string& sweep = "");

// The bytes of a file or of all files of a folder.
int64_t MeasureBytes(const std::string& path);

}  // namespace tune
