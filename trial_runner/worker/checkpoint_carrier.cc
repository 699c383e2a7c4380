#include "trial_runner/worker/checkpoint_carrier.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "core/posix/folder_lock.h"
#include "core/posix/threads.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// All checkpoints of all trials; the logs stay.
void RemoveCheckpoints(const std::string& artifacts) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator trial(artifacts, error), end; !error && trial != end;
       trial.increment(error)) {
    std::error_code ignored;
    for (fs::directory_iterator it(trial->path(), ignored); !ignored && it != end;
         it.increment(ignored)) {
      if (it->path().filename().string().starts_with("checkpoint_")) found.push_back(it->path());
    }
  }
  for (const fs::path& path : found) fs::remove_all(path, error);
}

}  // namespace

CheckpointCarrier::CheckpointCarrier(CheckpointLink& link, Answers answers)
    : link_(link), answers_(std::move(answers)) {}

CheckpointCarrier::~CheckpointCarrier() { End(); }

void CheckpointCarrier::End() {
  {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    for (auto& [ref, stop] : running_) stop.request_stop();
  }
  threads_.clear();  // Asks them to end, and waits.
  if (own_folder_.empty()) return;
  if (LockFolder(hold_, LOCK_EX) == FolderLock::kOurs) RemoveCheckpoints(own_folder_);
  own_folder_.clear();
}

void CheckpointCarrier::Settle(const FoundPlace& found) {
  if (store_ != nullptr && artifacts_ == found.artifacts) return;  // Another package of the sweep.
  End();
  artifacts_ = found.artifacts;
  if (found.storage == CheckpointStorage::kSharedFolder) {
    store_ = std::make_unique<SharedFolderStore>();
  } else {
    store_ = std::make_unique<TunerStore>(link_, found.artifacts);
    own_folder_ = found.artifacts;
    hold_ = OpenFolder(own_folder_);
    if (LockFolder(hold_, LOCK_EX) == FolderLock::kOurs) RemoveCheckpoints(own_folder_);
    LockFolder(hold_, LOCK_SH);
  }
  for (int i = 0; i < limits::kCheckpointThreadsMax; ++i) {
    threads_.push_back(
        BeginThread<std::jthread>([this](std::stop_token end) { Work(std::move(end)); }));
  }
}

void CheckpointCarrier::Keep(const KeepCheckpoint& keep) {
  Put({keep.ref, [this, keep](std::stop_token stop) {
         Result<KeptCheckpoint> kept = store_->Keep(keep.ref, keep.folder, stop);
         if (!stop.stop_requested()) answers_.kept(keep.ref, std::move(kept));
       }});
}

void CheckpointCarrier::Obtain(const ObtainCheckpoint& obtain) {
  Put({obtain.ref, [this, obtain](std::stop_token stop) {
         Result<CheckpointCopy> copy = store_->Obtain(obtain.ref, obtain.path, obtain.copy, stop);
         if (!stop.stop_requested()) answers_.obtained(obtain.ref, std::move(copy));
       }});
}

void CheckpointCarrier::GiveUp(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [&ref](const Job& job) { return job.ref == ref; });
  const auto [begin, end] = running_.equal_range(ref);
  for (auto it = begin; it != end; ++it) it->second.request_stop();
}

void CheckpointCarrier::Drop(const std::string& folder) {
  Put({AttemptRef{}, [folder](std::stop_token /*stop*/) {
         std::error_code ignored;
         fs::remove_all(folder, ignored);
       }});
}

void CheckpointCarrier::Put(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  has_jobs_.notify_one();
}

void CheckpointCarrier::Work(std::stop_token end) {
  LetOthersGoFirst();  // Reports and training.
  std::unique_lock lock(mutex_);
  while (has_jobs_.wait(lock, end, [this] { return !jobs_.empty(); })) {
    if (end.stop_requested()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const auto running = running_.emplace(job.ref, std::stop_source());
    const std::stop_token stop = running->second.get_token();
    lock.unlock();
    job.run(stop);
    lock.lock();
    running_.erase(running);
  }
}

}  // namespace tune
