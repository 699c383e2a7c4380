// What sweeps keep in object stores, and what of it nobody needs any more (artifact_garbage.h).
//
// Thread rule: any thread; each call waits for the store, until `stop` is requested.
#pragma once

#include <cstdint>
#include <map>
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
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/left_storages.h"
#include "tuner/sqlite/sqlite_store.h"
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

// Those that deleted sweeps have left (left_storages.h).
Result<std::vector<SweepStorage>> ReadLeft(Database& database);
LeftStorage AsLeft(const SweepStorage& storage);

// All that can be known of a store before a sweep begins there; prints what is doubtful. Of a store
// that does not answer it is an error after a while.
Status CheckStorage(const std::string& storage, const std::string& sweep,
                    Duration patience = kStoragePatience);
// Without writing anything: one line about what could be seen there. kUnavailable: nothing, as the
// store does not answer.
Result<std::string> LookAtStorage(const std::string& storage, const std::string& sweep);
// Where the sweep keeps them; nothing: on the tuner's disk.
std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& storage, const std::string& db_path);
// The same, as its space file says.
std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& db_path);
// For a sweep that begins or goes on there: nobody else's is there. Where a new one begins, nothing
// is.
Status ClaimStorage(const SweepStorage& storage, bool is_new, Duration patience = kStoragePatience);
// For one that was just created: it is durable before its mark is there, which would refuse its
// name for ever if a loss of power took its rows. One whose place is another one's goes again, and
// so does one whose store does not answer (kUnavailable); as that may have taken its mark, the
// place counts as left by a deleted sweep then. What a deleted sweep has left in the place goes
// first, or, where `empties` is false since somebody is about it, the place is refused
// (kUnavailable): never do two empty one place, or one that is claimed.
Status ClaimNew(const StoredExperiment& experiment, const std::string& storage,
                const std::string& db_path, SqliteStore& store, bool empties,
                Duration patience = kStoragePatience);

// Of a sweep that runs: writes its mark again where somebody has removed it, and says so in a line.
Result<std::string> KeepClaim(const SweepStorage& storage, const std::stop_token& stop);

// What lies there of one sweep.
struct BucketList {
  struct Entry {
    std::string within;  // "3/checkpoint_000004".
    int64_t bytes = 0;
    Instant modified;                        // The latest of its parts.
    std::map<std::string, int64_t> objects;  // Sizes, by what follows "3/checkpoint_000004/".
    bool is_whole = false;                   // It has a manifest.
  };
  std::vector<Entry> entries;  // Sorted.

  const Entry* Find(const std::string& within) const;
};
// What is not as the manifest says, by the list: "data/x is missing". Empty: nothing.
Result<std::string> CompareWithManifest(const SweepStorage& storage, const BucketList::Entry& entry,
                                        const std::stop_token& stop);

// For FindGarbageOf: what is there with all that its manifest names. Asks the store for manifests;
// a store that does not answer has nothing whole, so that copies stay.
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

// Removes all that the sweep has there, if it is its own, and looks whether it is gone.
// kFailedPrecondition: something is there, and nobody can know whose it is; what a person may do
// stands in the message.
Status EmptyStorage(const SweepStorage& storage, const std::stop_token& stop);
// Of a sweep that has a mark there; 0 where it has none, as what lies there is then nobody's.
Result<int64_t> MeasureStorage(const SweepStorage& storage, const std::stop_token& stop);
// Of a deleted sweep, and then it is known no longer. The caller holds the writer's lock.
Status EmptyLeft(const std::string& db_path, const SweepStorage& storage,
                 const std::stop_token& stop);

// What a backup brought to this disk, and the store has no longer, or not whole, goes there again.
// Returns how many those were.
Result<int64_t> RefillStorage(const std::string& db_path, const SweepStorage& storage,
                              const std::stop_token& stop);

// What nobody needs of a sweep that no tuner runs, there and on this disk, where copies lie of what
// is there; after RefillStorage.
Status CleanUpStored(const std::string& db_path, const SweepStorage& storage, Instant now,
                     const std::stop_token& stop);

}  // namespace tune
