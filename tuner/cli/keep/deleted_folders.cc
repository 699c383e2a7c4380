#include "tuner/cli/keep/deleted_folders.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/posix/durable_file.h"
#include "tuner/artifact_path.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// A path of this kind that nothing has yet.
std::string FreePath(const std::string& artifacts_dir, std::string_view prefix) {
  std::error_code ignored;
  for (int64_t n = 1;; ++n) {
    std::string path = artifacts_dir + "/" + std::string(prefix) + std::to_string(n);
    if (!fs::exists(fs::symlink_status(path, ignored))) return path;
  }
}

// Its new path; empty: there was no folder.
Result<std::string> SetAside(const std::string& artifacts_dir, const std::string& sweep,
                             std::string_view prefix) {
  const std::string folder = artifacts_dir + "/" + sweep;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return std::string();
  std::string aside = FreePath(artifacts_dir, prefix);
  TUNE_RETURN_IF_ERROR(RenameSynced(folder, aside));
  return aside;
}

Status Cannot(const std::string& doing, const std::string& path, const std::error_code& error) {
  return Unavailable("cannot " + doing + " " + path + ": " + error.message());
}

}  // namespace

Result<std::string> SetDeletedAside(const std::string& artifacts_dir, const std::string& sweep) {
  return SetAside(artifacts_dir, sweep, kDeletedPrefix);
}

Result<std::string> SetLeftAside(const std::string& artifacts_dir, const std::string& sweep) {
  const std::string folder = artifacts_dir + "/" + sweep;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return std::string();
  bool has_trials = false;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    const bool is_trial =
        TrialNumberOf(name).has_value() && fs::is_directory(it->symlink_status(ignored));
    if (!is_trial && !IsLeftBySweep(name)) return std::string();
    has_trials = has_trials || is_trial;
  }
  if (error) return Cannot("read", folder, error);
  return has_trials ? SetAside(artifacts_dir, sweep, kLeftPrefix) : std::string();
}

std::string DescribeLeft(const std::string& sweep, const std::string& aside) {
  return "what another sweep of the name " + sweep + " had left is now in " + aside +
         ", and tune gc removes it";
}

std::vector<std::string> ListSetAside(const std::string& artifacts_dir) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator it(artifacts_dir, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().filename().string().starts_with(kDeletedPrefix))
      paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Status RemoveFolder(const std::string& path, const std::stop_token& stop) {
  std::error_code error;
  // Whoever else removes it may be first.
  const auto status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) return OkStatus();
  if (fs::is_directory(status)) {
    // Some programs make folders that their owner may not change.
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
    fs::directory_iterator it(path, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (stop.stop_requested()) return OkStatus();
      TUNE_RETURN_IF_ERROR(RemoveFolder(it->path().string(), stop));
    }
    if (error && error != std::errc::no_such_file_or_directory) return Cannot("read", path, error);
    if (stop.stop_requested()) return OkStatus();
  }
  fs::remove(path, error);
  if (error && error != std::errc::no_such_file_or_directory) return Cannot("remove", path, error);
  return OkStatus();
}

}  // namespace tune
