#include "trial_runner/package/trial_files.h"

#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/posix/durable_file.h"
#include "core/remove_tree.h"
#include "trial_runner/checkpoint_name.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = ".files";

// The names of what lies directly in the folder and is a file of the program's.
Result<std::vector<std::string>> TrialFilesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!IsNoTrialFile(name)) names.push_back(name);
  }
  if (error) return InvalidArgument("cannot read " + folder + ": " + error.message());
  return names;
}

Status Rename(const fs::path& from, const fs::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : ErrnoStatus("write", to);
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::directory;
}

// Before anything is moved: a link of the program's may lead anywhere.
Status CheckPlaces(const std::string& from, const std::string& folder) {
  std::error_code error;
  fs::recursive_directory_iterator it(from, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const fs::path within = it->path().lexically_relative(from);
    if (IsNoTrialFile(within.begin()->string())) {
      return DataLoss(within.string() + " is no file of a trial's program");
    }
    const bool would_follow =
        it->is_directory(error) && fs::is_symlink(fs::symlink_status(folder / within, error));
    if (would_follow) return DataLoss(within.string() + " would lie below a link");
    error.clear();
  }
  return error ? InvalidArgument("cannot read " + from + ": " + error.message()) : OkStatus();
}

Status MoveInto(const fs::path& from, const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> names;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename());
  }
  if (error) return InvalidArgument("cannot read " + from.string() + ": " + error.message());
  for (const fs::path& name : names) {
    const bool is_folder = IsFolder(from / name);
    if (is_folder && IsFolder(folder / name)) {
      TUNE_RETURN_IF_ERROR(MoveInto(from / name, folder / name));
      continue;
    }
    // A file takes a file's place at once; what was a folder and is none now has to go first.
    if (is_folder || IsFolder(folder / name)) RemoveTree(folder / name, error);
    TUNE_RETURN_IF_ERROR(Rename(from / name, folder / name));
  }
  return SyncFolder(folder);
}

}  // namespace

bool IsNoTrialFile(std::string_view name) {
  const bool is_of_attempt =
      name.starts_with("attempt_") && (name.ends_with(".log") || name.ends_with(kAside));
  return is_of_attempt || IsOwnCheckpoint(name) || name.starts_with(kTrialFilesIncoming);
}

bool HasTrialFiles(const std::string& folder) {
  const Result<std::vector<std::string>> names = TrialFilesIn(folder);
  return names.ok() && !names->empty() && *names != std::vector<std::string>{"config.json"};
}

Result<FolderText> TextOfTrialFiles(const std::string& folder) {
  return FolderText::Of(folder, IsNoTrialFile);
}

Status MoveTrialFiles(const std::string& from, const std::string& folder) {
  TUNE_RETURN_IF_ERROR(CheckPlaces(from, folder));
  TUNE_RETURN_IF_ERROR(MoveInto(from, folder));
  std::error_code ignored;
  RemoveTree(from, ignored);
  return OkStatus();
}

Status PutTrialFilesApart(const std::string& folder, const std::string& name) {
  const std::string apart = folder + "/" + name;
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, TrialFilesIn(folder));
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(apart));
  for (const std::string& each : names) {
    if (each != name) TUNE_RETURN_IF_ERROR(Rename(folder + "/" + each, apart + "/" + each));
  }
  return OkStatus();
}

Result<std::string> PutTrialFilesAside(const std::string& folder, const std::string& label) {
  const std::string name = "attempt_" + label + std::string(kAside);
  TUNE_RETURN_IF_ERROR(PutTrialFilesApart(folder, name));
  return folder + "/" + name;
}

}  // namespace tune
