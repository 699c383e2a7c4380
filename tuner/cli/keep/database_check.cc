#include "tuner/cli/keep/database_check.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/json.h"
#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/s3_address.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/stored_ask_tell.h"
#include "tuner/cli/look/checkpoint_on_disk.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/recovery.h"
#include "tuner/replay_lines.h"
#include "tuner/sqlite/artifact_rows.h"
#include "tuner/sqlite/integrity.h"
#include "tuner/sqlite/schema.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/stored_lines.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kToldCheckpointsMax = 5;
constexpr char kKeepCopy[] = "keep a copy of it, and go on from an earlier tune backup";

// SQLite looks for the WAL beside the name that it was given.
Finding CheckNames(const std::string& db_path) {
  std::error_code error;
  const uintmax_t count = fs::hard_link_count(db_path, error);
  if (error || count <= 1) return Ok("database", db_path);
  return Warning("database",
                 db_path + ": the file has " + std::to_string(count) +
                     " names (hard links), and under another one what stands in its WAL is missing",
                 "keep one name; a second place to reach it by is a symbolic link");
}

Finding CheckSteps(Database& database) {
  const Status status = CheckNothingIsMissing(database);
  if (status.ok()) return Ok("steps", "none that was committed is missing");
  return Problem("steps", Printable(status.message()), "");
}

Finding CheckLock(const std::string& db_path) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (holder) {
    return Ok("tuner", "pid " + std::to_string(holder->pid) + " on " + holder->host + ", since " +
                           FormatInstant(holder->since) +
                           (holder->is_head              ? ", a head"
                            : holder->experiment.empty() ? ""
                                                         : ", runs " + holder->experiment));
  }
  std::error_code error;
  if (!fs::exists(db_path + ".lock", error)) return Ok("tuner", "none lives");
  return Ok("tuner", "none lives; the last one was killed (tune gc removes what it left)");
}

// The rows of a PRAGMA that lists what is wrong; it answers "ok", or nothing, when all is well.
Finding CheckByPragma(Database& database, const char* pragma, const char* item) {
  Result<Statement> statement = database.Prepare(pragma);
  if (!statement.ok()) return Problem(item, statement.status().message(), kKeepCopy);
  std::string first;
  int64_t count = 0;
  for (;;) {
    const Result<bool> has_row = statement->Step();
    if (!has_row.ok()) return Problem(item, has_row.status().message(), kKeepCopy);
    if (!*has_row) break;
    const std::string text(statement->Text(0));
    if (text == "ok") continue;
    if (++count == 1) first = text;
  }
  if (count == 0) return Ok(item, "whole");
  return Problem(item, std::to_string(count) + " complaints, the first: " + Printable(first),
                 kKeepCopy);
}

Finding CheckClock(Database& database, Instant now) {
  const Result<int64_t> latest =
      database.QueryInt("SELECT coalesce(max(created_us), 0) FROM trial_rows");
  if (!latest.ok()) return Problem("times", latest.status().message(), kKeepCopy);
  if (now.us >= *latest) return Ok("times", "none is in the future");
  return Warning("times",
                 "the newest trial is of " + FormatInstant(Instant{*latest}) + ", now is " +
                     FormatInstant(now),
                 "set the clock");
}

// ---- checkpoints

// A tuner that lives may have given it up since it was read.
bool IsStillDurable(Database& database, const DurableCheckpoint& row) {
  static constexpr char kStateSql[] =
      "SELECT 1 FROM checkpoint_rows WHERE trial = ?1 AND iteration = ?2 AND path = ?3"
      " AND state = 'durable'";
  const Result<KeptStatement> statement = database.Kept(kStateSql);
  if (!statement.ok()) return true;
  (*statement)->BindAll(row.trial_id, row.iteration, row.path);
  const Result<bool> is_there = (*statement)->Step();
  (*statement)->Reset();
  return !is_there.ok() || *is_there;
}

// By the list, and by its manifest. What the store does not tell just now is not wrong.
std::string WhatIsWrong(const SweepStorage& storage, const BucketList& list,
                        const DurableCheckpoint& row, const std::stop_token& stop) {
  const std::string root = storage.root.ToUrl() + "/";
  const BucketList::Entry* const entry =
      row.path.starts_with(root) ? list.Find(row.path.substr(root.size())) : nullptr;
  if (entry == nullptr || !entry->is_whole) return "is missing";
  const Result<std::string> wrong = CompareWithManifest(storage, *entry, stop);
  if (wrong.ok()) return *wrong;
  return wrong.status().code() == StatusCode::kNotFound ? "is missing" : "";
}

// Of one that is wrong in its store: what a backup brought of it may be whole.
std::string RemedyOfStored(const std::string& db_path, const DurableCheckpoint& row) {
  const auto within = WithinTrialFolder(row.path, row.sweep, row.trial);
  const std::string here =
      TrialFolder(ArtifactsDirOf(db_path), row.sweep, row.trial) + "/" + within.value_or("");
  if (within && LookAtCheckpoint(here, row.bytes, row.checksum).state == CheckpointOnDisk::kWhole) {
    return here + " is whole: tune resume " + Printable(row.sweep) + " puts it back";
  }
  return "restore it from a backup; without it trial " + Printable(row.sweep) + "/" +
         std::to_string(row.trial) + " goes on from an earlier one";
}

// Those that are in object stores, by what their stores list.
Findings CheckStored(Database& database, const std::vector<DurableCheckpoint>& rows) {
  Findings findings;
  const Result<std::vector<SweepStorage>> storages = ReadStorages(database);
  if (!storages.ok()) return {Problem("storage", storages.status().message(), kKeepCopy)};
  for (const SweepStorage& storage : *storages) {
    const auto is_its = [&storage](const DurableCheckpoint& row) {
      return row.sweep == storage.sweep;
    };
    if (std::none_of(rows.begin(), rows.end(), is_its)) continue;
    const StopLater patience(kStoragePatience);
    const Result<BucketList> list = ListStorage(storage, patience.token());
    if (!list.ok()) {
      findings.push_back(Warning("storage", list.status().message(), "look at it again later"));
      continue;
    }
    for (const DurableCheckpoint& row : rows) {
      if (!is_its(row)) continue;
      const std::string wrong = WhatIsWrong(storage, *list, row, patience.token());
      if (wrong.empty() || !IsStillDurable(database, row)) continue;
      findings.push_back(
          Problem("checkpoint", row.path + ": " + wrong, RemedyOfStored(database.path(), row)));
    }
  }
  return findings;
}

Findings CheckCheckpoints(Database& database) {
  const Result<std::vector<DurableCheckpoint>> rows = ReadDurableCheckpoints(database);
  if (!rows.ok()) return {Problem("checkpoints", rows.status().message(), kKeepCopy)};
  Findings findings;
  size_t wrong_count = 0;
  std::vector<DurableCheckpoint> in_stores;
  for (const DurableCheckpoint& row : *rows) {
    const std::string path = FindArtifact(row.path, database.path(), row.sweep, row.trial);
    if (IsS3Url(path)) {
      in_stores.push_back(row);
      continue;
    }
    const CheckpointLook look = LookAtCheckpoint(path, row.bytes, row.checksum);
    if (look.state == CheckpointOnDisk::kWhole || !IsStillDurable(database, row)) continue;
    if (++wrong_count > kToldCheckpointsMax) continue;
    findings.push_back(
        Problem("checkpoint",
                path + ": " + (look.state == CheckpointOnDisk::kMissing ? "is missing" : look.what),
                "restore it from a backup; without it trial " + Printable(row.sweep) + "/" +
                    std::to_string(row.trial) + " goes on from an earlier one"));
  }
  const std::string counted =
      std::to_string(rows->size()) + " durable" +
      (in_stores.empty() ? "" : " (" + std::to_string(in_stores.size()) + " in an object store)");
  if (Findings stored = CheckStored(database, in_stores); !stored.empty()) {
    findings.insert(findings.end(), stored.begin(), stored.end());
    if (wrong_count == 0) return findings;
  }
  if (wrong_count == 0) return {Ok("checkpoints", counted + ", all as they were reported")};
  findings.insert(
      findings.begin(),
      Problem("checkpoints", counted + ", " + std::to_string(wrong_count) + " missing or damaged",
              ""));
  return findings;
}

// ---- journals

Result<std::optional<std::string>> CompareWithJournal(const StoredExperiment& experiment,
                                                      Store& store, Database& tables) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ExperimentController> controller,
                        FreshController(experiment, ArtifactsDirOf(tables.path()), store));
  TUNE_ASSIGN_OR_RETURN(const SweepLines replayed, ReplayLines(store, experiment.id, *controller));
  TUNE_ASSIGN_OR_RETURN(const SweepLines stored, ReadStoredLines(tables, experiment.id.value));
  return FirstDifference(stored, replayed);
}

Finding CheckJournal(const StoredExperiment& experiment, SqliteStore& store, Database& tables) {
  const std::string item = "journal of " + Printable(experiment.name);
  if (!IsKnownDecisionVersion(experiment.decision_version)) {
    return Warning(item,
                   "decided by version " + std::to_string(experiment.decision_version) +
                       " of the decision code, this program has version " +
                       std::to_string(kDecisionVersion),
                   "resume it with the program that began it");
  }
  const Result<Value> spec = ParseJson(experiment.spec);
  if (spec.ok() && IsAskTell(*spec)) {
    const Status status = StoredAskTell::CheckJournal(store, experiment);
    return status.ok() ? Ok(item, "can be gone on with")
                       : Problem(item, status.message(), kKeepCopy);
  }
  const Result<std::optional<std::string>> difference =
      CompareWithJournal(experiment, store, tables);
  if (!difference.ok()) {
    std::string message = difference.status().message();
    // The copy's path says nothing to anybody.
    if (message.starts_with(tables.path() + ": ")) message.erase(0, tables.path().size() + 2);
    // Its own rows are as they were.
    if (message.starts_with("from: ")) {
      return Warning(item, "not looked at: " + Printable(message),
                     "its results can be read; to go on, begin a new sweep");
    }
    const bool has_remedy = message.find("go on from a backup") != std::string::npos;
    return Problem(item, Printable(message), has_remedy ? "" : kKeepCopy);
  }
  if (difference->has_value()) return Problem(item, Printable(**difference), kKeepCopy);
  return Ok(item, "comes to the same trials, attempts, reports and decisions as the tables");
}

// On a copy: a tuner may be writing, and a store takes the writer's lock.
Findings CheckJournals(Database& database) {
  const ScratchFolder folder("tune-doctor-");
  const std::string copy = folder.path() + "/copy.db";
  const Status copied = folder.path().empty() ? Unavailable("no temporary folder can be made")
                                              : database.CopyTo(copy);
  if (!copied.ok()) {
    return {Warning("journals", "not looked at: " + copied.message(),
                    "name a folder with room in TMPDIR")};
  }
  const auto store = SqliteStore::Open(copy, Access::kWrite, Instant{0});
  if (!store.ok()) return {Problem("journals", store.status().message(), kKeepCopy)};
  const auto tables = Database::Open(copy, Access::kRead);
  if (!tables.ok()) return {Problem("journals", tables.status().message(), kKeepCopy)};
  const Result<std::vector<StoredExperiment>> experiments = (*store)->ListExperiments();
  if (!experiments.ok()) return {Problem("journals", experiments.status().message(), kKeepCopy)};
  Findings findings;
  for (const StoredExperiment& experiment : *experiments) {
    findings.push_back(CheckJournal(experiment, **store, **tables));
  }
  return findings;
}

}  // namespace

Findings CheckDatabase(const std::string& db_path, Instant now) {
  const auto database = Database::Open(db_path, Access::kRead);
  if (database.status().code() == StatusCode::kNotFound) {
    return {Ok("database", database.status().message() + "; tune run makes one")};
  }
  if (!database.ok()) return {Problem("database", database.status().message(), "see above")};
  if (const Status s = CheckSchema(**database); !s.ok()) {
    return {Problem("database", s.message(), "name another with --db")};
  }
  Findings findings = {CheckNames(db_path)};
  findings.push_back(CheckLock(db_path));
  findings.push_back(CheckByPragma(**database, "PRAGMA integrity_check", "pages"));
  if (findings.back().state == FindingState::kProblem) return findings;
  findings.push_back(CheckByPragma(**database, "PRAGMA foreign_key_check", "keys"));
  findings.push_back(CheckSteps(**database));
  findings.push_back(CheckClock(**database, now));
  for (Finding& finding : CheckCheckpoints(**database)) findings.push_back(std::move(finding));
  for (Finding& finding : CheckJournals(**database)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace tune
