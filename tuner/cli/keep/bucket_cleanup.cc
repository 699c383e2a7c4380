#include "tuner/cli/keep/bucket_cleanup.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "core/counted.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/posix/host_name.h"
#include "core/posix/real_clock.h"
#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/bucket/checkpoint_manifest.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/bucket/side_by_side.h"
#include "trial_runner/bucket/stop_later.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/checkpoint_on_disk.h"
#include "tuner/cli/look/store_client.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/sqlite/artifact_rows.h"

namespace tune {
namespace {

constexpr std::string_view kManifestEnd = "/manifest.json";
constexpr size_t kRemovedAtOnce = 8;

// "3/checkpoint_000004" of "3/checkpoint_000004/data/x"; empty: it is none of a checkpoint's.
std::string CheckpointOf(std::string_view within) {
  const size_t first = within.find('/');
  if (first == std::string_view::npos) return "";
  const size_t second = within.find('/', first + 1);
  return second == std::string_view::npos ? "" : std::string(within.substr(0, second));
}

SweepStorage StorageBelow(const S3Address& prefix, const std::string& sweep,
                          const std::string& db_path, Instant created, uint64_t seed) {
  std::error_code error;
  const std::string database = std::filesystem::absolute(db_path, error).string();
  return {sweep, prefix.Below(sweep), {sweep, HostName() + ":" + database, created, seed}};
}

}  // namespace

Result<std::vector<SweepStorage>> ReadStorages(Database& database, const std::string& sweep) {
  static constexpr char kStoragesSql[] =
      "SELECT name, json_extract(spec, '$.checkpoint.storage'), created_us, seed"
      " FROM experiment_rows WHERE (?1 = '' OR name = ?1) AND json_valid(spec)"
      " AND json_extract(spec, '$.checkpoint.storage') LIKE 's3://%' ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kStoragesSql));
  row->BindAll(sweep);
  std::vector<SweepStorage> storages;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return storages;
    TUNE_ASSIGN_OR_RETURN(const S3Address prefix, ParseS3Url(row->Text(1)));
    storages.push_back(StorageBelow(prefix, std::string(row->Text(0)), database.path(),
                                    Instant{row->Int(2)}, static_cast<uint64_t>(row->Int(3))));
  }
}

Result<std::vector<SweepStorage>> ReadLeft(Database& database) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<LeftStorage> left, ReadLeftStorages(database));
  std::vector<SweepStorage> storages;
  for (const LeftStorage& one : left) {
    TUNE_ASSIGN_OR_RETURN(const S3Address prefix, ParseS3Url(one.storage));
    storages.push_back(StorageBelow(prefix, one.sweep, database.path(), one.created_at, one.seed));
  }
  return storages;
}

LeftStorage AsLeft(const SweepStorage& storage) {
  return {storage.sweep, "", storage.owner.begun, storage.owner.seed};
}

std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& storage, const std::string& db_path) {
  const Result<S3Address> prefix = ParseS3Url(storage);
  if (!prefix.ok()) return std::nullopt;
  return StorageBelow(*prefix, experiment.name, db_path, experiment.created_at, experiment.seed);
}

std::optional<SweepStorage> StorageOf(const StoredExperiment& experiment,
                                      const std::string& db_path) {
  const Result<Value> spec = ParseJson(experiment.spec);
  const Value* const section = spec.ok() && spec->is_map() ? spec->Find("checkpoint") : nullptr;
  const Value* const storage =
      section != nullptr && section->is_map() ? section->Find("storage") : nullptr;
  if (storage == nullptr || !storage->is_string()) return std::nullopt;
  return StorageOf(experiment, storage->AsString(), db_path);
}

Status CheckStorage(const std::string& storage, const std::string& sweep, Duration wait) {
  if (storage.empty()) return OkStatus();
  constexpr std::string_view kPlace = "checkpoint.storage";
  TUNE_ASSIGN_OR_RETURN(const S3Address prefix, ParseS3Url(storage));
  const Result<std::shared_ptr<S3Client>> client = ClientForCommand(prefix.bucket);
  if (!client.ok()) return client.status().At(kPlace);
  const StopLater patience(wait);
  const Result<std::string> warning =
      CheckBucket(**client, prefix.Below(sweep).key, HashToHex(DrawEntropy()), patience.token());
  if (!warning.ok()) return warning.status().At(kPlace);
  if (!warning->empty()) Tell("warning: checkpoint.storage: " + *warning);
  return OkStatus();
}

Result<std::string> LookAtStorage(const std::string& storage, const std::string& sweep) {
  constexpr std::string_view kPlace = "checkpoint.storage";
  TUNE_ASSIGN_OR_RETURN(const S3Address prefix, ParseS3Url(storage));
  const S3Address root = prefix.Below(sweep);
  const Result<std::shared_ptr<S3Client>> client = ClientForCommand(prefix.bucket);
  if (!client.ok()) return client.status().At(kPlace);
  const StopLater patience(kStorePatience);
  TUNE_RETURN_IF_ERROR(CheckMayBegin(**client, root.key, patience.token()).At(kPlace));
  return root.ToUrl() +
         " can be listed and has no object; that it can be written is seen when the "
         "sweep begins";
}

Result<std::string> KeepClaim(const SweepStorage& storage, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        S3Client::Make(storage.root.bucket));
  client->SetPatience(kStorePatience);
  const Status owned = CheckOwner(*client, storage.root.key, storage.owner, stop);
  if (owned.code() != StatusCode::kNotFound) {
    if (!owned.ok()) return owned;
    return std::string();
  }
  TUNE_RETURN_IF_ERROR(
      ClaimBucket(*client, storage.root.key, storage.owner, /*is_new=*/false, stop));
  return "warning: " + storage.root.ToUrl() +
         "/owner.json was gone and is written again: without it another sweep could begin there";
}

Status ClaimStorage(const SweepStorage& storage, bool is_new, Duration wait) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  const StopLater patience(wait);
  return ClaimBucket(*client, storage.root.key, storage.owner, is_new, patience.token())
      .At("checkpoint.storage");
}

namespace {

// Those of deleted sweeps that had this place.
Result<std::vector<SweepStorage>> LeftAt(const SweepStorage& place, const std::string& db_path) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(std::vector<SweepStorage> left, ReadLeft(*database));
  std::erase_if(
      left, [&place](const SweepStorage& one) { return one.root.ToUrl() != place.root.ToUrl(); });
  return left;
}

Status EmptyForNew(const SweepStorage& place, const std::string& db_path, SqliteStore& store,
                   bool empties, Duration wait) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<SweepStorage> left, LeftAt(place, db_path));
  if (!left.empty() && !empties) {
    return Unavailable("checkpoint.storage: what the deleted sweep " + place.sweep + " has at " +
                       place.root.ToUrl() + " is still being removed; try again in a while");
  }
  for (const SweepStorage& one : left) {
    const StopLater patience(wait);
    TUNE_RETURN_IF_ERROR(EmptyStorage(one, patience.token()).At("checkpoint.storage"));
    TUNE_RETURN_IF_ERROR(store.ForgetLeft(AsLeft(one)));
  }
  return OkStatus();
}

}  // namespace

Status ClaimNew(const StoredExperiment& experiment, const std::string& storage,
                const std::string& db_path, SqliteStore& store, bool empties, Duration patience) {
  const auto place = StorageOf(experiment, storage, db_path);
  if (!place) return OkStatus();
  Status claimed = store.MakeDurable();
  if (claimed.ok()) claimed = EmptyForNew(*place, db_path, store, empties, patience);
  const bool asks = claimed.ok();
  if (asks) claimed = ClaimStorage(*place, /*is_new=*/true, patience);
  if (claimed.ok()) return claimed;
  TUNE_RETURN_IF_ERROR(store.DeleteExperiment(experiment));
  // A store whose answer did not come in time may have taken the mark.
  const bool may_have_it = asks && claimed.code() == StatusCode::kUnavailable;
  if (!may_have_it) TUNE_RETURN_IF_ERROR(store.ForgetLeft(AsLeft(*place)));
  return claimed;
}

const BucketList::Entry* BucketList::Find(const std::string& within) const {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), within,
                       [](const Entry& entry, const auto& name) { return entry.within < name; });
  return found != entries.end() && found->within == within ? &*found : nullptr;
}

Result<std::string> CompareWithManifest(const SweepStorage& storage, const BucketList::Entry& entry,
                                        const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  TUNE_ASSIGN_OR_RETURN(const std::string text,
                        client->Get(ManifestKey(storage.root.Below(entry.within).key), stop));
  const Result<CheckpointManifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return manifest.status().message();
  for (const ManifestFile& file : manifest->files) {
    const std::string name = DataKey("", file.path).substr(1);
    const auto object = entry.objects.find(name);
    if (object == entry.objects.end()) return name + " is missing";
    if (object->second == file.bytes) continue;
    return name + " has " + Counted(object->second, "byte") + ", the manifest says " +
           std::to_string(file.bytes);
  }
  return std::string();
}

Result<BucketList> ListStorage(const SweepStorage& storage, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  const std::string prefix = storage.root.key + "/";
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Upload> uploads, client->ListUploads(prefix, stop));
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Object> objects, client->List(prefix, stop));
  std::map<std::string, BucketList::Entry> found;
  const auto entry_of = [&](const std::string& key, Instant modified) -> BucketList::Entry* {
    const std::string within = CheckpointOf(std::string_view(key).substr(prefix.size()));
    if (within.empty()) return nullptr;
    BucketList::Entry& entry = found[within];
    entry.within = within;
    entry.modified = std::max(entry.modified, modified);
    return &entry;
  };
  for (const S3Object& object : objects) {
    BucketList::Entry* const entry = entry_of(object.key, object.modified);
    if (entry == nullptr) continue;
    entry->bytes += object.bytes;
    entry->objects[object.key.substr(prefix.size() + entry->within.size() + 1)] = object.bytes;
    if (object.key == prefix + entry->within + std::string(kManifestEnd)) entry->is_whole = true;
  }
  for (const S3Upload& upload : uploads) (void)entry_of(upload.key, upload.begun);
  BucketList list;
  for (auto& [within, entry] : found) list.entries.push_back(std::move(entry));
  return list;
}

namespace {

// With all that its manifest names.
Result<bool> HasAll(const SweepStorage& storage, const BucketList& list, const std::string& within,
                    const std::stop_token& stop) {
  const BucketList::Entry* const entry = list.Find(within);
  if (entry == nullptr || !entry->is_whole) return false;
  const Result<std::string> wrong = CompareWithManifest(storage, *entry, stop);
  if (wrong.status().code() == StatusCode::kNotFound) return false;
  if (!wrong.ok()) return wrong.status();
  return wrong->empty();
}

}  // namespace

IsElsewhere IsWholeIn(const SweepStorage& storage, const BucketList& list) {
  return [storage, list](const std::string& path) {
    const std::string root = storage.root.ToUrl() + "/";
    if (!path.starts_with(root)) return false;
    const Result<bool> has_all = HasAll(storage, list, path.substr(root.size()), {});
    return has_all.ok() && *has_all;
  };
}

// Listed first, read afterwards, as artifact_garbage.h wants it.
Result<CleanedStorage> CleanUpStorage(const std::string& db_path, const SweepStorage& storage,
                                      const std::optional<LockHolder>& tuner, Instant now,
                                      bool dry_run, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  const Status owned = CheckOwner(*client, storage.root.key, storage.owner, stop);
  if (owned.code() == StatusCode::kNotFound) return CleanedStorage();
  TUNE_RETURN_IF_ERROR(owned);
  CleanedStorage cleaned;
  TUNE_ASSIGN_OR_RETURN(cleaned.list, ListStorage(storage, stop));
  std::vector<FoundArtifact> found;
  std::map<std::string, int64_t> bytes;
  for (const BucketList::Entry& entry : cleaned.list.entries) {
    const std::string path = storage.sweep + "/" + entry.within;
    found.push_back({path, true, entry.modified});
    bytes[path] = entry.bytes;
  }
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const KnownSweeps sweeps,
                        ReadForGarbage(*database, storage.sweep, tuner,
                                       [](const std::string& path) { return IsS3Url(path); }));
  // One that was deleted meanwhile is whoever deletes it's.
  if (!sweeps.contains(storage.sweep)) return cleaned;
  for (Garbage& item : FindGarbage(found, sweeps, now)) {
    const std::string within = item.path.substr(storage.sweep.size() + 1);
    const S3Address there = storage.root.Below(within);
    RemovedGarbage one{{there.ToUrl(), item.reason}, bytes[item.path], {}};
    if (!dry_run) one.status = RemoveCheckpoint(*client, there.key, stop);
    std::erase_if(cleaned.list.entries,
                  [&within](const BucketList::Entry& entry) { return entry.within == within; });
    cleaned.removed.push_back(std::move(one));
  }
  return cleaned;
}

namespace {

// "p/mine/theirs/" of "p/mine/theirs/owner.json": sweeps that an older build let begin there. What
// a checkpoint holds lies below "data/".
std::vector<std::string> PlacesOfOthers(const std::vector<S3Object>& objects,
                                        const std::string& root) {
  const std::string_view end = "/owner.json";
  std::vector<std::string> places;
  for (const S3Object& object : objects) {
    const bool is_other = object.key.ends_with(end) && object.key != OwnerKey(root) &&
                          object.key.find("/data/", root.size()) == std::string::npos;
    if (is_other) places.push_back(object.key.substr(0, object.key.size() - end.size() + 1));
  }
  return places;
}

}  // namespace

Result<int64_t> MeasureStorage(const SweepStorage& storage, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  const Status owned = CheckOwner(*client, storage.root.key, storage.owner, stop);
  const bool is_its = owned.ok();
  if (!is_its && owned.code() != StatusCode::kNotFound &&
      owned.code() != StatusCode::kFailedPrecondition) {
    return owned;
  }
  if (!is_its) return 0;
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Object> objects,
                        client->List(storage.root.key + "/", stop));
  int64_t bytes = 0;
  for (const S3Object& object : objects) bytes += object.bytes;
  return bytes;
}

Status EmptyStorage(const SweepStorage& storage, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client,
                        ClientForCommand(storage.root.bucket));
  const Status owned = CheckOwner(*client, storage.root.key, storage.owner, stop);
  // It never came to save anything there, where nothing is or another sweep's.
  if (owned.code() == StatusCode::kFailedPrecondition) return OkStatus();
  if (owned.code() == StatusCode::kNotFound) {
    TUNE_RETURN_IF_ERROR(RemoveAllBelow(*client, ProbeKeys(storage.root.key), stop));
    // Nobody knows whose it is; nothing is there where the sweep never began.
    TUNE_ASSIGN_OR_RETURN(const std::vector<S3Object> left,
                          client->List(storage.root.key + "/", stop));
    if (left.empty()) return OkStatus();
    return FailedPrecondition(
        storage.root.ToUrl() + " has no owner.json any more, and " +
        Counted(static_cast<int64_t>(left.size()), "object") +
        ", which may be another sweep's: they stay; if they are this one's: aws "
        "s3 rm --recursive " +
        storage.root.ToUrl());
  }
  TUNE_RETURN_IF_ERROR(owned);
  const std::string below = storage.root.key + "/";
  TUNE_ASSIGN_OR_RETURN(std::vector<S3Object> objects, client->List(below, stop));
  const std::vector<std::string> others = PlacesOfOthers(objects, storage.root.key);
  const auto is_others = [&others](const std::string& key) {
    return std::any_of(others.begin(), others.end(),
                       [&key](const std::string& place) { return key.starts_with(place); });
  };
  // Who it belongs to last.
  const std::string owner = OwnerKey(storage.root.key);
  std::erase_if(objects, [&](const S3Object& object) {
    return object.key == owner || is_others(object.key);
  });
  TUNE_RETURN_IF_ERROR(SideBySide(
      objects.size(), kRemovedAtOnce, stop,
      [&](size_t i, const std::stop_token& end) { return client->Delete(objects[i].key, end); }));
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Upload> uploads, client->ListUploads(below, stop));
  for (const S3Upload& upload : uploads) {
    if (is_others(upload.key)) continue;
    TUNE_RETURN_IF_ERROR(client->AbortUpload(upload.key, upload.id, stop));
  }
  TUNE_RETURN_IF_ERROR(client->Delete(owner, stop));
  // Some stores say that they have removed what they have not.
  TUNE_ASSIGN_OR_RETURN(std::vector<S3Object> left, client->List(below, stop));
  std::erase_if(left, [&](const S3Object& object) { return is_others(object.key); });
  if (left.empty()) return OkStatus();
  return Unavailable(storage.root.ToUrl() + ": the store says that all is removed, and has " +
                     Counted(static_cast<int64_t>(left.size()), "object") + " there, " +
                     left.front().key + " among them");
}

Status EmptyLeft(const std::string& db_path, const SweepStorage& storage,
                 const std::stop_token& stop) {
  TUNE_RETURN_IF_ERROR(EmptyStorage(storage, stop));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        Database::Open(db_path, Access::kWrite));
  return ForgetLeftStorage(*database, AsLeft(storage));
}

Result<int64_t> RefillStorage(const std::string& db_path, const SweepStorage& storage,
                              const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const auto durable, ReadDurableCheckpoints(*database));
  std::optional<BucketList> list;
  std::shared_ptr<S3Client> client;
  int64_t count = 0;
  for (const DurableCheckpoint& row : durable) {
    if (row.sweep != storage.sweep || !IsS3Url(row.path)) continue;
    const auto within = WithinTrialFolder(row.path, row.sweep, row.trial);
    if (!within) continue;
    const std::string here =
        TrialFolder(ArtifactsDirOf(db_path), row.sweep, row.trial) + "/" + *within;
    std::error_code error;
    if (!std::filesystem::is_directory(here, error)) continue;
    if (!list) {
      TUNE_ASSIGN_OR_RETURN(client, ClientForCommand(storage.root.bucket));
      TUNE_ASSIGN_OR_RETURN(list, ListStorage(storage, stop));
    }
    const std::string below = std::to_string(row.trial) + "/" + *within;
    TUNE_ASSIGN_OR_RETURN(const bool has_all, HasAll(storage, *list, below, stop));
    if (has_all) continue;
    const CheckpointLook look = LookAtCheckpoint(here, row.bytes, row.checksum);
    if (look.state != CheckpointOnDisk::kWhole) continue;  // A copy that is damaged helps nobody.
    CheckpointUpload upload(client, storage.root.Below(below).key, here);
    TUNE_RETURN_IF_ERROR(upload.Run(stop).status());
    ++count;
  }
  return count;
}

Status CleanUpStored(const std::string& db_path, const SweepStorage& storage, Instant now,
                     const std::stop_token& stop) {
  TUNE_RETURN_IF_ERROR(RefillStorage(db_path, storage, stop).status());
  TUNE_ASSIGN_OR_RETURN(const CleanedStorage cleaned,
                        CleanUpStorage(db_path, storage, std::nullopt, now, false, stop));
  for (const RemovedGarbage& one : cleaned.removed) TUNE_RETURN_IF_ERROR(one.status);
  return CleanUpAfterTuner(db_path, storage.sweep, now, IsWholeIn(storage, cleaned.list));
}

}  // namespace tune
