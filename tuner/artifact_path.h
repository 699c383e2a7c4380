// Where what trials left on disk lies: <db stem>.artifacts/<experiment>/<trial number>/...
//
// Paths in the database are those of the machine and folder where they were made. A database may be
// moved or copied with its artifacts, so a stored path means its end below
// .../<experiment>/<trial>/ and everybody asks here where that is now.
//
// Thread rule: pure functions; ArtifactsDirOf also reads the current folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

// <db stem>.artifacts, absolute.
std::string ArtifactsDirOf(const std::string& db_path);

// Where a head keeps the folders that came with its sweeps, below the artifacts.
inline constexpr char kPackagesFolder[] = "packages";

// The part of `path` that lies below .../<experiment>/<trial>/; nothing when none does, or when it
// would lead out of there ("..").
std::optional<std::string> WithinTrialFolder(std::string_view path, std::string_view experiment,
                                             int64_t trial);

// What the names of folders begin with that are set aside (cli/keep/deleted_folders.h), and that
// `tune gc` removes: <db stem>.artifacts/.deleted-3 of a deleted sweep, .left-3 of what no row knew
// of. No sweep may have such a name.
inline constexpr std::string_view kDeletedPrefix = ".deleted-";
inline constexpr std::string_view kLeftPrefix = ".left-";
inline bool IsNameOfDeleted(std::string_view name) {
  return name.starts_with(kDeletedPrefix) || name.starts_with(kLeftPrefix);
}

// What a sweep leaves beside its trials' folders: what its tuner said in the background, event
// files, what a worker was sending, and what `setup` made.
inline bool IsLeftBySweep(std::string_view name) {
  return name == "tuner.log" || name == "tensorboard" || name == ".incoming" ||
         name.starts_with("setup-");
}

// The trial whose folder has this name; nothing: no trial's has.
std::optional<int64_t> TrialNumberOf(std::string_view name);

// The trial in whose folder a checkpoint lies, .../<trial>/<checkpoint>; nothing: in none.
std::optional<int64_t> TrialOfCheckpoint(std::string_view path);

// The folder of a trial.
std::string TrialFolder(const std::string& artifacts_dir, const std::string& experiment,
                        int64_t trial);

// Where a stored path lies below the present artifacts folder; the path itself when it was never
// below a trial's, or is in an object store.
std::string PresentPath(const std::string& path, const std::string& artifacts_dir,
                        const std::string& experiment, int64_t trial);

}  // namespace tune
