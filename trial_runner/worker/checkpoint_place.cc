#include "trial_runner/worker/checkpoint_place.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/posix/disk_room.h"
#include "core/posix/durable_folder.h"
#include "core/remove_tree.h"
#include "trial_runner/checkpoint_name.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// <artifacts>/<experiment>/<trial>: each of the three may have been made a moment ago by somebody
// who did not sync it, for a log.
constexpr int kFoldersOfOurs = 3;

std::string FirstName(int64_t iteration) {
  char name[48];
  std::snprintf(name, sizeof name, "checkpoint_%06lld", static_cast<long long>(iteration));
  return name;
}

// The attempt that made a checkpoint of this name, 0 for what is none of that iteration: a program
// may have a checkpoint_000006-ema.
int64_t AttemptOf(std::string_view name, std::string_view first_name) {
  if (!name.starts_with(first_name) || !IsOwnCheckpoint(name)) return 0;
  name.remove_prefix(first_name.size());
  int64_t attempt = 1;
  if (name.starts_with(".")) {
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), attempt);
    if (error != std::errc() || attempt < 2) return 0;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
  }
  // "-2": its name was taken.
  return name.empty() || name.starts_with("-") ? attempt : 0;
}

}  // namespace

int64_t AttemptThatMade(const std::string& path, int64_t iteration) {
  return AttemptOf(fs::path(path).filename().string(), FirstName(iteration));
}

std::string CheckpointPlace::NameOf(int64_t iteration) const {
  return FirstName(iteration) + (attempt_ > 1 ? "." + std::to_string(attempt_) : "");
}

Status CheckpointPlace::Prepare() {
  if (is_prepared_) return OkStatus();
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(folder_));
  fs::path folder = folder_;
  for (int i = 0; i < kFoldersOfOurs && folder.has_relative_path(); ++i) {
    folder = folder.parent_path();
    const Status synced = SyncFolder(folder.string());
    // One that may not be read was not made by us.
    if (!synced.ok() && synced.code() != StatusCode::kInvalidArgument) return synced;
  }
  RemoveAbandonedFolders(folder_, IsOwnCheckpoint);
  is_prepared_ = true;
  return OkStatus();
}

void CheckpointPlace::RemoveEarlierOf(int64_t iteration) const {
  if (attempt_ == 1) return;
  const std::string first_name = FirstName(iteration);
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (!IsOwnCheckpointAt(it->path())) continue;  // A program's own folder.
    const int64_t attempt = AttemptOf(it->path().filename().string(), first_name);
    if (attempt >= config_since_ && attempt < attempt_) found.push_back(it->path());
  }
  for (const fs::path& path : found) RemoveTree(path, error);
}

TrialEnd EndForUnsaved(const std::string& folder, const Status& status) {
  const bool is_of_disk = status.code() == StatusCode::kResourceExhausted || IsDiskReadOnly(folder);
  return {Outcome::kCrashed, "cannot save a checkpoint in " + folder + ": " + status.message(),
          is_of_disk ? EndDetail::kDiskFull : EndDetail::kNone};
}

TrialEnd EndForUnrestored(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kDataLoss:
      return {Outcome::kCrashed, "cannot go on from a checkpoint: " + status.message(),
              EndDetail::kBadCheckpoint};
    case StatusCode::kFailedPrecondition:
      return {Outcome::kBadConfig, "cannot go on from a checkpoint: " + status.message()};
    default:
      return {Outcome::kCrashed, "cannot go on from a checkpoint: " + status.message()};
  }
}

}  // namespace tune
