#include "tuner/cli/keep/artifact_cleanup.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "trial_runner/worker/left_behind.h"
#include "tuner/artifact_path.h"
#include "tuner/artifact_store.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/control/control_socket.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/database_file.h"

namespace tune {

namespace {

bool MayRun(const KnownSweep& sweep) {
  return std::any_of(sweep.trials.begin(), sweep.trials.end(),
                     [](const auto& entry) { return entry.second.may_run; });
}

// By the leases that workers were given which may go on: the sweep's, or their head's.
Status ReadPatience(Database& database, std::optional<Duration> lease, KnownSweeps& sweeps) {
  for (auto& [name, sweep] : sweeps) {
    if (!MayRun(sweep)) continue;
    TUNE_ASSIGN_OR_RETURN(const std::optional<FoundSweep> stored, FindNamed(database, name));
    if (!stored) continue;
    const Result<ExperimentSpec> spec =
        ReadStoredSpec(database, *stored, /*require_trainable=*/false);
    const Duration own = spec.ok() ? spec->limits.lease : Duration{};
    sweep.patience = UnclaimedPatience(std::max(own, lease.value_or(Duration{})));
  }
  return OkStatus();
}

}  // namespace

Result<KnownSweeps> ReadForGarbage(Database& database, const std::string& sweep,
                                   const std::optional<LockHolder>& tuner, const PathTest& is_there,
                                   std::optional<Duration> lease) {
  TUNE_ASSIGN_OR_RETURN(KnownSweeps sweeps, ReadKnownSweeps(database, sweep, is_there));
  TUNE_RETURN_IF_ERROR(ReadPatience(database, lease, sweeps));
  for (auto& [name, known] : sweeps) known.has_tuner = tuner && tuner->MayRun(name);
  return sweeps;
}

Result<GarbageOnDisk> FindGarbageOf(const std::string& db_path, const std::string& sweep,
                                    const std::optional<LockHolder>& tuner, Instant now,
                                    const IsElsewhere& is_elsewhere,
                                    std::optional<Duration> lease) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundArtifact> found,
                        ListArtifacts(ArtifactsDirOf(db_path), sweep));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  const PathTest is_there = [&is_elsewhere](const std::string& path) {
    return !is_elsewhere || !is_elsewhere(path);
  };
  TUNE_ASSIGN_OR_RETURN(const KnownSweeps sweeps,
                        ReadForGarbage(*database, sweep, tuner, is_there, lease));
  GarbageOnDisk on_disk{FindGarbage(found, sweeps, now, tuner.has_value()), {}};
  for (const FoundArtifact& artifact : found) {
    if (!artifact.unread.empty()) on_disk.unread.push_back(artifact);
  }
  return on_disk;
}

std::vector<RemovedGarbage> RemoveGarbage(const std::string& db_path, const GarbageOnDisk& found,
                                          bool dry_run) {
  const std::string artifacts_dir = ArtifactsDirOf(db_path);
  LocalArtifactStore store(artifacts_dir);
  std::vector<RemovedGarbage> removed;
  for (const Garbage& item : found.garbage) {
    const std::string path = artifacts_dir + "/" + item.path;
    std::error_code error;
    // It got its real name since it was listed, or its trial removed it.
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) continue;
    const int64_t bytes = MeasureBytes(path);
    removed.push_back({item, bytes, dry_run ? OkStatus() : store.Remove(path)});
  }
  for (const FoundArtifact& folder : found.unread) {
    const std::string path = artifacts_dir + "/" + folder.path;
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) continue;
    removed.push_back({{folder.path, ""},
                       0,
                       FailedPrecondition(path + ": cannot be read: " + folder.unread +
                                          "; what nobody needs in it stays until you may read it, "
                                          "or remove it")});
  }
  return removed;
}

Status CheckArtifactsAreOwn(const std::string& db_path) {
  namespace fs = std::filesystem;
  const fs::path own(db_path);
  const fs::path folder = own.has_parent_path() ? own.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& other = it->path();
    std::error_code ignored;
    if (other.stem() != own.stem() || other.filename() == own.filename() ||
        !it->is_regular_file(ignored) || !IsTuneDatabase(other.string())) {
      continue;
    }
    return FailedPrecondition(
        db_path + ": " + other.filename().string() +
        " lies beside it, and its artifacts in the same folder, " + ArtifactsDirOf(db_path) +
        "; give one of the two another folder, or a name that differs before its "
        "ending (tune backup copies the artifacts, too)");
  }
  // What is not there is said by who wants to make or open the database.
  const bool is_none =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (!error || is_none) return OkStatus();
  return FailedPrecondition(folder.string() + ": cannot be read: " + error.message() +
                            "; another database whose artifacts lie in the same folder could be "
                            "there");
}

Status CheckFolderIsOfSweep(const std::string& db_path, const std::string& sweep) {
  if (!IsNameOfHead(sweep)) return CheckArtifactsAreOwn(db_path);
  return FailedPrecondition(ArtifactsDirOf(db_path) + "/" + sweep +
                            " has things of a head; the folders of trials in it stay there");
}

Status CleanUpSweep(const std::string& db_path, const std::string& sweep, Instant now,
                    const IsElsewhere& is_elsewhere, std::optional<Duration> lease) {
  if (!CheckArtifactsAreOwn(db_path).ok()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const GarbageOnDisk found,
                        FindGarbageOf(db_path, sweep, std::nullopt, now, is_elsewhere, lease));
  for (const RemovedGarbage& removed : RemoveGarbage(db_path, found, false)) {
    TUNE_RETURN_IF_ERROR(removed.status);
  }
  return OkStatus();
}

Status CleanUpAfterTuner(const std::string& db_path, const std::string& sweep, Instant now,
                         const IsElsewhere& is_elsewhere) {
  if (!CheckArtifactsAreOwn(db_path).ok()) return OkStatus();
  TUNE_RETURN_IF_ERROR(CleanUpSweep(db_path, sweep, now, is_elsewhere));
  RemoveEmptyArtifacts(db_path);
  return OkStatus();
}

std::string EndWhatTrialsLeftBehind(const std::string& db_path) {
  const std::vector<std::string> ended = EndLeftBehind(ArtifactsDirOf(db_path));
  if (ended.empty()) return "";
  std::string line = "ended what trials had left behind when their tuner was killed: process";
  if (ended.size() > 1) line += "es";
  for (size_t i = 0; i < ended.size(); ++i) line += (i == 0 ? " " : ", ") + ended[i];
  return line;
}

void RemoveEmptyArtifacts(const std::string& db_path) {
  std::error_code ignored;
  const std::filesystem::path folder = ArtifactsDirOf(db_path);
  std::filesystem::remove(folder / kControlSocketName, ignored);  // Nobody listens there.
  // Not a person's link to a folder elsewhere, which other sweeps' artifacts lie in.
  rmdir(folder.c_str());
}

}  // namespace tune
