// What sweeps keep in object stores, and what of it nobody needs any more (artifact_garbage.h).
//
// Thread rule: any thread; each call waits for the store, until `stop` is requested.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/bucket_claim.h"
#include "trial_runner/s3_address.h"
#include "tuner/cli/artifact_cleanup.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/writer_lock.h"
#include "tuner/store.h"

namespace tune {

// How long a command waits for a store.
inline constexpr Duration kStoragePatience = Seconds(120);

// Where a sweep of the database keeps its checkpoints.
struct SweepStorage {
  std::string sweep;
  S3Address root;  // "s3://bucket/prefix/sweep".
  BucketOwner owner;
};

// Those of all sweeps, or of one, that have `checkpoint.storage`.
Result<std::vector<SweepStorage>> ReadStorages(Database& database, const std::string& sweep = "");

// All that can be known of a store before a sweep begins there; prints what is doubtful. Of a store
// that does not answer it is an error after a while.
Status CheckStorage(const std::string& storage, const std::string& sweep,
                    Duration patience = kStoragePatience);
// Where the sweep keeps them; nothing: on the tuner's disk.
std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& storage, const std::string& db_path);
// The same, as its space file says.
std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& db_path);
// For a sweep that begins or goes on there: nobody else's is there. Where a new one begins, nothing
// is.
Status ClaimStorage(const SweepStorage& storage, bool is_new, Duration patience = kStoragePatience);

// What lies there of one sweep.
struct BucketList {
  struct Entry {
    std::string within;  // "3/checkpoint_000004".
    int64_t bytes = 0;
    Instant modified;  // The latest of its parts.
    bool is_whole = false;
  };
  std::vector<Entry> entries;  // Sorted.

  bool HasWhole(const std::string& within) const;
};
// For FindGarbageOf.
IsElsewhere IsWholeIn(const SweepStorage& storage, const BucketList& list);
Result<BucketList> ListStorage(const SweepStorage& storage, const std::stop_token& stop);

struct CleanedStorage {
  std::vector<RemovedGarbage> removed;  // Paths are whole.
  BucketList list;                      // The others.
};
// Removes what nobody needs of it, or measures that alone with `dry_run`. `tuner` as of
// FindGarbageOf.
Result<CleanedStorage> CleanUpStorage(const std::string& db_path, const SweepStorage& storage,
                                      const std::optional<LockHolder>& tuner, Instant now,
                                      bool dry_run, const std::stop_token& stop);

// Removes all that the sweep has there, if it is its own. kFailedPrecondition: something is there,
// and nobody can know whose it is; what a person may do stands in the message.
Status EmptyStorage(const SweepStorage& storage, const std::stop_token& stop);

// What a backup brought to this disk, and the store has no longer, goes there again. Returns how
// many those were.
Result<int64_t> RefillStorage(const std::string& db_path, const SweepStorage& storage,
                              const std::stop_token& stop);

// What nobody needs of a sweep that no tuner runs, there and on this disk, where copies lie of what
// is there; after RefillStorage.
Status CleanUpStored(const std::string& db_path, const SweepStorage& storage, Instant now,
                     const std::stop_token& stop);

}  // namespace tune
