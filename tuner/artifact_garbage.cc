#include "tuner/artifact_garbage.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "trial_runner/checkpoint_name.h"
#include "tuner/artifact_path.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kListedDepthMax = 8;
// What lies beside the sweeps' folders: where a living tuner is asked for things, and its keys.
constexpr std::string_view kControlSocket = "control.sock";
constexpr std::string_view kKeys = "tls";

// "food11/3/checkpoint_4" as its parts; `rest` is empty for the trial's folder itself.
struct Parts {
  std::string sweep;
  std::string trial;
  std::string rest;
};

Parts Split(const std::string& path) {
  Parts parts;
  const size_t first = path.find('/');
  parts.sweep = path.substr(0, first);
  if (first == std::string::npos) return parts;
  const size_t second = path.find('/', first + 1);
  parts.trial = path.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  if (second != std::string::npos) parts.rest = path.substr(second + 1);
  return parts;
}

bool IsWithin(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool IsBelowAny(const std::string& path, const std::set<std::string>& folders) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    if (folders.contains(path.substr(0, slash))) return true;
  }
  return false;
}

// Named by a durable row, or around or below what is.
bool IsNeeded(const std::string& within, const KnownTrial& trial) {
  return std::any_of(trial.checkpoints.begin(), trial.checkpoints.end(),
                     [&within](const KnownCheckpoint& checkpoint) {
                       return checkpoint.state == CheckpointState::kDurable &&
                              (checkpoint.within == within || IsWithin(checkpoint.within, within) ||
                               IsWithin(within, checkpoint.within));
                     });
}

// "removed" or "corrupt" when a row names it and gives it up.
const char* GivenUpAs(const std::string& within, const KnownTrial& trial) {
  for (const KnownCheckpoint& checkpoint : trial.checkpoints) {
    if (checkpoint.within == within && checkpoint.state != CheckpointState::kDurable) {
      return CheckpointStateName(checkpoint.state);
    }
  }
  return nullptr;
}

bool IsOver(const KnownTrial& trial) {
  return trial.status == TrialStatus::kTerminated || trial.status == TrialStatus::kError;
}

std::string WhyGarbageOfTrial(const FoundArtifact& found, const std::string& within,
                              const KnownSweep& sweep, const KnownTrial& trial, Instant now) {
  if (sweep.has_tuner && !IsOver(trial)) return std::string();
  if (trial.may_run && now - found.modified < sweep.patience) return std::string();
  if (IsNeeded(within, trial)) return std::string();
  if (const char* const state = GivenUpAs(within, trial)) {
    return std::string("its checkpoint is ") + state;
  }
  if (!found.is_folder || found.is_programs || !IsOwnCheckpoint(within)) return std::string();
  return within.ends_with(".tmp") ? "a checkpoint that was never finished"
                                  : "a checkpoint that no trial told of";
}

// What deletes have set aside, and the sweeps without a row whose folders hold nothing but what
// sweeps leave: trials' folders, and beside some the rest (IsLeftBySweep). Where another process
// holds the database, a new sweep may take such a name at any moment.
std::set<std::string> FindDeletedSweeps(const std::vector<FoundArtifact>& found,
                                        const KnownSweeps& sweeps, bool is_held) {
  std::set<std::string> deleted;
  std::set<std::string> foreign;
  std::set<std::string> with_trials;
  std::set<std::string> with_rest;
  for (const FoundArtifact& artifact : found) {
    const Parts parts = Split(artifact.path);
    if (sweeps.contains(parts.sweep) || parts.sweep == kKeys) continue;
    const bool is_set_aside = IsNameOfDeleted(parts.sweep);
    const bool is_trial =
        TrialNumberOf(parts.trial).has_value() && (!parts.rest.empty() || artifact.is_folder);
    const bool is_rest = IsLeftBySweep(parts.trial);
    const bool is_of_sweep =
        parts.trial.empty() ? artifact.is_folder && artifact.unread.empty() : is_trial || is_rest;
    (is_set_aside || (is_of_sweep && !is_held) ? deleted : foreign).insert(parts.sweep);
    if (is_trial || is_set_aside) with_trials.insert(parts.sweep);
    if (is_rest) with_rest.insert(parts.sweep);
  }
  for (const std::string& name : with_rest) {
    if (!with_trials.contains(name)) foreign.insert(name);
  }
  for (const std::string& name : foreign) deleted.erase(name);
  return deleted;
}

// What makes one thing garbage, or nothing.
std::string WhyGarbage(const FoundArtifact& artifact, const KnownSweeps& sweeps,
                       const std::set<std::string>& deleted, bool is_held, Instant now) {
  const Parts parts = Split(artifact.path);
  if (artifact.path == kControlSocket) return is_held ? "" : "no tuner listens there any more";
  if (deleted.contains(parts.sweep)) {
    return parts.trial.empty() ? "its sweep was deleted" : "";
  }
  const auto sweep = sweeps.find(parts.sweep);
  const std::optional<int64_t> number = TrialNumberOf(parts.trial);
  if (sweep == sweeps.end() || !number) return std::string();
  const auto trial = sweep->second.trials.find(*number);
  if (trial == sweep->second.trials.end()) {
    return parts.rest.empty() && artifact.is_folder ? "there is no such trial" : "";
  }
  if (parts.rest.empty()) return std::string();
  return WhyGarbageOfTrial(artifact, parts.rest, sweep->second, trial->second, now);
}

// Leaves of each trial that may run the newest thing: its worker may have yet to tell of it.
void LeaveNewest(const KnownSweeps& sweeps, std::vector<const FoundArtifact*>& garbage) {
  std::map<std::pair<std::string, std::string>, const FoundArtifact*> newest;  // By trial.
  for (const FoundArtifact* const artifact : garbage) {
    const Parts parts = Split(artifact->path);
    const auto sweep = sweeps.find(parts.sweep);
    const std::optional<int64_t> number = TrialNumberOf(parts.trial);
    if (sweep == sweeps.end() || !number || parts.rest.empty()) continue;
    const auto trial = sweep->second.trials.find(*number);
    if (trial == sweep->second.trials.end() || !trial->second.may_run) continue;
    const FoundArtifact*& so_far = newest[{parts.sweep, parts.trial}];
    if (so_far == nullptr || artifact->modified >= so_far->modified) so_far = artifact;
  }
  std::set<const FoundArtifact*> left;
  for (const auto& [trial, artifact] : newest) left.insert(artifact);
  std::erase_if(garbage, [&left](const FoundArtifact* one) { return left.contains(one); });
}

// What lies in a folder and below it, down to the checkpoints.
class Lister {
 public:
  Lister(std::string artifacts_dir, int depth_of_trials)
      : artifacts_dir_(std::move(artifacts_dir)), depth_of_trials_(depth_of_trials) {}

  // Returns why not all that lies in the folder could be looked at.
  std::error_code List(const fs::path& folder, int depth = 0) {
    std::error_code error;
    std::error_code in_it;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (const std::error_code why = Note(it->path(), depth)) in_it = why;
    }
    return error ? error : in_it;
  }
  std::vector<FoundArtifact> Take() { return std::move(found_); }

 private:
  std::error_code Note(const fs::path& path, int depth) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) {
      const std::error_code why(errno, std::generic_category());
      return IsGone(why) ? std::error_code() : why;
    }
    FoundArtifact artifact;
    artifact.path = path.lexically_relative(artifacts_dir_).generic_string();
    artifact.is_folder = S_ISDIR(info.st_mode);
    artifact.modified = Instant{info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1'000};
    const bool is_checkpoint =
        depth > depth_of_trials_ && IsOwnCheckpoint(path.filename().string());
    artifact.is_programs = is_checkpoint && artifact.is_folder && !IsOwnCheckpointAt(path);
    if (artifact.is_folder && !is_checkpoint && depth < kListedDepthMax) {
      const std::error_code why = List(path, depth + 1);
      if (why && !IsGone(why)) artifact.unread = why.message();
    }
    found_.push_back(std::move(artifact));
    return {};
  }
  // Somebody has removed it since its name was read.
  static bool IsGone(const std::error_code& error) {
    return error == std::errc::no_such_file_or_directory;
  }

  const std::string artifacts_dir_;
  const int depth_of_trials_;
  std::vector<FoundArtifact> found_;
};

}  // namespace

std::vector<Garbage> FindGarbage(const std::vector<FoundArtifact>& found, const KnownSweeps& sweeps,
                                 Instant now, bool is_held) {
  const std::set<std::string> deleted = FindDeletedSweeps(found, sweeps, is_held);
  const auto why = [&](const FoundArtifact& artifact) {
    return WhyGarbage(artifact, sweeps, deleted, is_held, now);
  };
  std::vector<const FoundArtifact*> unneeded;
  for (const FoundArtifact& artifact : found) {
    if (!why(artifact).empty()) unneeded.push_back(&artifact);
  }
  LeaveNewest(sweeps, unneeded);
  std::vector<Garbage> garbage;
  for (const FoundArtifact* const artifact : unneeded) {
    garbage.push_back({artifact->path, why(*artifact)});
  }
  std::sort(garbage.begin(), garbage.end(),
            [](const Garbage& a, const Garbage& b) { return a.path < b.path; });
  std::set<std::string> paths;
  for (const Garbage& item : garbage) paths.insert(item.path);
  std::erase_if(garbage, [&paths](const Garbage& item) { return IsBelowAny(item.path, paths); });
  return garbage;
}

Result<std::vector<FoundArtifact>> ListArtifacts(const std::string& artifacts_dir,
                                                 const std::string& sweep) {
  std::error_code error;
  const fs::path top = sweep.empty() ? fs::path(artifacts_dir) : fs::path(artifacts_dir) / sweep;
  if (!fs::exists(top, error)) return std::vector<FoundArtifact>();
  Lister lister(artifacts_dir, sweep.empty() ? 1 : 0);
  if (const std::error_code why = lister.List(top)) {
    return FailedPrecondition(top.string() + ": cannot be read: " + why.message());
  }
  std::vector<FoundArtifact> found = lister.Take();
  std::sort(found.begin(), found.end(),
            [](const FoundArtifact& a, const FoundArtifact& b) { return a.path < b.path; });
  return found;
}

int64_t MeasureBytes(const std::string& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (fs::is_regular_file(status)) return static_cast<int64_t>(fs::file_size(path, error));
  if (!fs::is_directory(status)) return 0;
  int64_t bytes = 0;
  fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored) || it->is_symlink(ignored)) continue;
    const auto size = it->file_size(ignored);
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

}  // namespace tune
