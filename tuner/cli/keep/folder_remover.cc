#include "tuner/cli/keep/folder_remover.h"

#include <utility>

#include "core/posix/threads.h"
#include "tuner/artifact_garbage.h"
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
  LeaveAlone(sweep);
  {
    const std::lock_guard lock(mutex_);
    sizes_.erase(sweep);
  }
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

void FolderRemover::CleanUp(const std::string& sweep, Instant now, Duration lease) {
  const auto clean = [this, sweep, now, lease](const std::stop_token& /*stop*/) {
    return CleanUpSweep(db_path_, sweep, now, nullptr, lease);
  };
  Begin({clean, sweep});
}

void FolderRemover::LeaveAlone(const std::string& sweep) {
  std::unique_lock lock(mutex_);
  std::erase_if(jobs_, [&sweep](const Job& job) { return job.cleaned == sweep; });
  is_done_.wait(lock, [&] { return being_cleaned_ != sweep; });
}

std::optional<int64_t> FolderRemover::SizeOf(const std::string& sweep, Instant ended_at) {
  {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = sizes_.try_emplace(sweep, Measured{ended_at, std::nullopt});
    if (!is_new && known->second.ended_at == ended_at) return known->second.bytes;
    known->second = {ended_at, std::nullopt};
  }
  const auto measure = [this, sweep, ended_at](const std::stop_token& /*stop*/) {
    const int64_t bytes = MeasureBytes(artifacts_dir_ + "/" + sweep);
    const std::lock_guard lock(mutex_);
    const auto asked = sizes_.find(sweep);
    if (asked != sizes_.end() && asked->second.ended_at == ended_at) asked->second.bytes = bytes;
    return OkStatus();
  };
  Begin({measure});
  return std::nullopt;
}

void FolderRemover::Remove(std::string path) {
  if (path.empty()) return;
  Begin(
      {[path = std::move(path)](const std::stop_token& stop) { return RemoveFolder(path, stop); }});
}

void FolderRemover::Begin(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  if (!thread_.joinable()) {
    thread_ = BeginThread<std::jthread>([this](const std::stop_token& stop) { Work(stop); });
  }
  has_work_.notify_all();
}

void FolderRemover::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (has_work_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    being_cleaned_ = job.cleaned;
    lock.unlock();
    const Status done = job.work(stop);
    lock.lock();
    being_cleaned_.clear();
    is_done_.notify_all();
    if (stop.stop_requested()) return;
    if (!done.ok()) lines_.push_back("warning: " + done.message() + "; tune gc tries again");
  }
}

std::vector<std::string> FolderRemover::TakeLines() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

}  // namespace tune
