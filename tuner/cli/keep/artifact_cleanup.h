// Removing what artifact_garbage.h finds, of a database and its artifacts as they lie on this disk.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/artifact_garbage.h"
#include "tuner/sqlite/artifact_rows.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {

// What the database knows of all sweeps, or of one, for FindGarbage (ReadKnownSweeps). `tuner`: who
// holds the writer's lock, if it is not the caller. `lease`: of the head that runs the sweeps,
// where it is known.
Result<KnownSweeps> ReadForGarbage(Database& database, const std::string& sweep,
                                   const std::optional<LockHolder>& tuner, const PathTest& is_there,
                                   std::optional<Duration> lease = {});

// The garbage of all sweeps, or of one. `tuner`: who holds the writer's lock, if it is not the
// caller; one that has announced no sweep may run any.
// `is_elsewhere`: whether a checkpoint is whole in an object store, by its path, so that a copy
// here may go; null: none is known to be.
using IsElsewhere = std::function<bool(const std::string& path)>;
struct GarbageOnDisk {
  std::vector<Garbage> garbage;
  std::vector<FoundArtifact> unread;  // Folders that may have more, and could not be entered.
};
Result<GarbageOnDisk> FindGarbageOf(const std::string& db_path, const std::string& sweep,
                                    const std::optional<LockHolder>& tuner, Instant now,
                                    const IsElsewhere& is_elsewhere = nullptr,
                                    std::optional<Duration> lease = {});

struct RemovedGarbage {
  Garbage garbage;
  int64_t bytes = 0;
  Status status;  // Whether it could be removed.
};

// With `dry_run` it is only measured. What could not be entered comes last, with its error.
std::vector<RemovedGarbage> RemoveGarbage(const std::string& db_path, const GarbageOnDisk& found,
                                          bool dry_run);

// Artifacts belong to all databases of a folder whose names differ in their ending alone, such as
// tune.db and a copy of it, tune.old: what one of them does not know may be the other's. An error
// that names such another one, or the folder where nobody can see whether there is one.
Status CheckArtifactsAreOwn(const std::string& db_path);
// The same of one sweep's folder; another error where a head keeps its own things in it, as in the
// folder of a sweep that an older build let have such a name.
Status CheckFolderIsOfSweep(const std::string& db_path, const std::string& sweep);

// What nobody needs of a sweep that no tuner runs (nothing where CheckArtifactsAreOwn fails). The
// caller holds the writer's lock. `lease` as of ReadForGarbage.
Status CleanUpSweep(const std::string& db_path, const std::string& sweep, Instant now,
                    const IsElsewhere& is_elsewhere = nullptr, std::optional<Duration> lease = {});

// For a tuner that takes a sweep over, before it gives anything out: what the one before had given
// up and did not come to remove (CleanUpSweep), and the socket where it listened. The caller holds
// the writer's lock.
Status CleanUpAfterTuner(const std::string& db_path, const std::string& sweep, Instant now,
                         const IsElsewhere& is_elsewhere = nullptr);

// Ends the processes that trials of this database left behind when all that watched over them was
// killed (left_behind.h), and returns one line about them; empty: there were none. The caller holds
// the writer's lock.
std::string EndWhatTrialsLeftBehind(const std::string& db_path);

// The socket where a tuner listened that lives no more, and the artifacts' folder if nothing else
// is in it. The caller holds the writer's lock.
void RemoveEmptyArtifacts(const std::string& db_path);

}  // namespace tune
