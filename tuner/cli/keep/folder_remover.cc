#include "tuner/cli/keep/folder_remover.h"

#include <utility>

#include "core/posix/threads.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/deleted_folders.h"

namespace tune {

FolderRemover::FolderRemover(const std::string& db_path)
    : db_path_(db_path), artifacts_dir_(ArtifactsDirOf(db_path)) {}

void FolderRemover::GoOn() {
  for (std::string& path : ListSetAside(artifacts_dir_)) Remove(std::move(path));
}

Status FolderRemover::RemoveDeleted(const std::string& sweep) {
  TUNE_RETURN_IF_ERROR(CheckFolderIsOfSweep(db_path_, sweep));
  TUNE_ASSIGN_OR_RETURN(std::string aside, SetDeletedAside(artifacts_dir_, sweep));
  Remove(std::move(aside));
  return OkStatus();
}

Status FolderRemover::MakeWayFor(const std::string& sweep) {
  if (!CheckArtifactsAreOwn(db_path_).ok()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::string aside, SetLeftAside(artifacts_dir_, sweep));
  if (aside.empty()) return OkStatus();
  const std::lock_guard lock(mutex_);
  lines_.push_back(DescribeLeft(sweep, aside));
  return OkStatus();
}

void FolderRemover::Remove(std::string path) {
  if (path.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    paths_.push_back(std::move(path));
  }
  if (!thread_.joinable()) {
    thread_ = BeginThread<std::jthread>([this](const std::stop_token& stop) { Work(stop); });
  }
  has_work_.notify_all();
}

void FolderRemover::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (has_work_.wait(lock, stop, [this] { return !paths_.empty(); })) {
    const std::string path = std::move(paths_.front());
    paths_.pop_front();
    lock.unlock();
    const Status removed = RemoveFolder(path, stop);
    lock.lock();
    if (stop.stop_requested()) return;
    if (!removed.ok()) lines_.push_back("warning: " + removed.message() + "; tune gc tries again");
  }
}

std::vector<std::string> FolderRemover::TakeLines() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

}  // namespace tune
