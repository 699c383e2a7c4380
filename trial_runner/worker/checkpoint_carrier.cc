#include "trial_runner/worker/checkpoint_carrier.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "core/posix/folder_lock.h"
#include "core/posix/threads.h"
#include "core/remove_tree.h"
#include "trial_runner/checkpoint_name.h"
#include "trial_runner/package/trial_files.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/worker/bucket_store.h"
#include "trial_runner/worker/output_log.h"
#include "trial_runner/worker/transfers.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLeavePatience(500);

// Begins the names of folders beside the trials': what is in them is to be removed.
constexpr std::string_view kAsidePrefix = ".cleared-";

// Such a folder, which is made when something comes into it.
class Aside {
 public:
  explicit Aside(const std::string& artifacts)
      : path_(artifacts + "/" + std::string(kAsidePrefix) + "XXXXXX") {}

  // It is not at its path any more. What cannot be moved is removed now.
  void Take(const fs::path& path) {
    if (!is_made_) is_made_ = mkdtemp(path_.data()) != nullptr;
    std::error_code error;
    if (is_made_ && Move(path)) return;
    RemoveTree(path, error);
  }
  const std::string& path() const { return path_; }
  bool is_made() const { return is_made_; }

 private:
  bool Move(const fs::path& path) {
    const fs::path to = fs::path(path_) / std::to_string(count_++);
    std::error_code error, ignored;
    fs::rename(path, to, error);
    const bool may_be_read_only = error == std::errc::permission_denied &&
                                  fs::is_directory(fs::symlink_status(path, ignored));
    if (may_be_read_only) {
      fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
      fs::rename(path, to, error);
    }
    return !error;
  }

  std::string path_;
  bool is_made_ = false;
  int64_t count_ = 0;
};

// What a trial's program left in its folder, but for its logs.
void MoveFilesOfTrial(const std::string& folder, bool with_checkpoints, Aside& aside) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    const bool is_kept = IsOwnCheckpoint(name) ? !with_checkpoints : IsNoTrialFile(name);
    if (!is_kept) found.push_back(it->path());
  }
  for (const fs::path& path : found) aside.Take(path);
}

// Of all trials, and what a worker that was killed did not come to remove.
std::vector<std::string> MoveFilesOfAll(const std::string& artifacts) {
  Aside aside(artifacts);
  std::vector<std::string> to_remove;
  std::vector<std::string> trials;
  std::error_code error;
  for (fs::directory_iterator it(artifacts, error), end; !error && it != end; it.increment(error)) {
    const bool is_aside = it->path().filename().string().starts_with(kAsidePrefix);
    (is_aside ? to_remove : trials).push_back(it->path());
  }
  for (const std::string& trial : trials) MoveFilesOfTrial(trial, /*with_checkpoints=*/true, aside);
  if (aside.is_made()) to_remove.push_back(aside.path());
  return to_remove;
}

}  // namespace

CheckpointCarrier::CheckpointCarrier(CheckpointLink& link, Answers answers)
    : link_(link), answers_(std::move(answers)) {}

CheckpointCarrier::~CheckpointCarrier() {
  while (!places_.empty()) Leave(places_.begin()->first);
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  for (const auto& [way, queue] : queues_) {
    if (way.second != Way::kDisk) continue;
    for (const Job& job : queue.jobs) job.run({});
  }
}

void CheckpointCarrier::Settle(ExperimentId sweep, const FoundPlace& found) {
  const auto known = places_.find(sweep);
  const bool is_other_package = known != places_.end() &&
                                known->second.artifacts == found.artifacts &&
                                known->second.bucket == found.bucket;
  if (is_other_package) return;
  Leave(sweep);
  Place& place = places_[sweep];
  place.artifacts = found.artifacts;
  place.bucket = found.bucket;
  const Result<S3Address> bucket = ParseS3Url(found.bucket);
  if (bucket.ok()) {
    place.store = std::make_shared<BucketStore>(*bucket, found.artifacts, answers_.waits,
                                                found.lends_credentials ? &link_ : nullptr);
  } else if (found.storage == CheckpointStorage::kTuner) {
    place.store = std::make_shared<TunerStore>(link_, found.artifacts);
  }
  if (found.storage != CheckpointStorage::kTuner) return;
  std::vector<std::string> to_remove;
  {
    const std::lock_guard lock(mutex_);  // What was left before is not cleared meanwhile.
    place.own_folder = found.artifacts;
    place.hold = OpenFolder(place.own_folder);
    to_remove = Clear(place);
    LockFolder(place.hold, LOCK_SH);
  }
  for (const std::string& folder : to_remove) Drop(folder);
}

void CheckpointCarrier::Leave(ExperimentId sweep) {
  auto left = places_.extract(sweep);
  if (left.empty()) return;
  {
    std::unique_lock lock(mutex_);
    for (auto& [way, queue] : queues_) {
      if (way.first == sweep) queue.jobs.clear();
    }
    std::erase_if(queues_, [](const auto& entry) {
      return entry.second.jobs.empty() && entry.second.at_work == 0;
    });
    std::erase_if(began_without_, [sweep](const AttemptRef& ref) { return ref.sweep == sweep; });
    for (auto& [ref, stop] : running_) {
      if (ref.sweep == sweep) stop.request_stop();
    }
    const bool is_done =
        has_ended_one_.wait_for(lock, kLeavePatience, [this, sweep] { return !IsAtWork(sweep); });
    if (!is_done) return left_.push_back({sweep, std::move(left.mapped())});
  }
  for (const std::string& folder : Clear(left.mapped())) Drop(folder);
}

std::vector<std::string> CheckpointCarrier::Clear(const Place& place) {
  const bool is_ours =
      !place.own_folder.empty() && LockFolder(place.hold, LOCK_EX) == FolderLock::kOurs;
  return is_ours ? MoveFilesOfAll(place.own_folder) : std::vector<std::string>();
}

bool CheckpointCarrier::IsAtWork(ExperimentId sweep) const {
  return std::any_of(running_.begin(), running_.end(),
                     [sweep](const auto& job) { return job.first.sweep == sweep; });
}

void CheckpointCarrier::ClearLeft(ExperimentId sweep) {
  if (IsAtWork(sweep)) return;
  std::erase_if(left_, [this, sweep](const Left& left) {
    if (left.sweep != sweep) return false;
    for (const std::string& folder : Clear(left.place)) {
      queues_[{{}, Way::kDisk}].jobs.push_back(RemovalOf(folder));
    }
    return true;
  });
}

void CheckpointCarrier::Keep(const KeepCheckpoint& keep) {
  const Place& place = places_.at(keep.ref.sweep);
  if (place.store == nullptr) return answers_.kept(keep.ref, KeptCheckpoint{keep.folder, {}});
  Put({keep.ref, place.way(), [this, keep, store = place.store](std::stop_token stop) {
         Result<KeptCheckpoint> kept = store->Keep(keep.ref, keep.folder, stop);
         if (!stop.stop_requested()) answers_.kept(keep.ref, std::move(kept));
       }});
}

void CheckpointCarrier::Obtain(const ObtainCheckpoint& obtain) {
  const Place& place = places_.at(obtain.ref.sweep);
  if (place.store == nullptr) {
    return answers_.obtained(obtain.ref, CheckpointCopy{obtain.path, ""});
  }
  const Way way = obtain.path.empty() ? Way::kTuner : place.way();
  Put({obtain.ref, way, [this, obtain, store = place.store](std::stop_token stop) {
         Result<CheckpointCopy> copy = Bring(*store, obtain, stop);
         if (!stop.stop_requested()) answers_.obtained(obtain.ref, std::move(copy));
       }});
}

Result<CheckpointCopy> CheckpointCarrier::Bring(CheckpointStore& store,
                                                const ObtainCheckpoint& obtain,
                                                const std::stop_token& stop) {
  if (!obtain.files_path.empty()) {
    TUNE_ASSIGN_OR_RETURN(
        const std::string line,
        ObtainTrialFiles(link_, obtain.ref, obtain.files_path, obtain.files_folder, stop));
    if (!line.empty()) {
      OutputLog(obtain.log_path).Append(line + "\n");
      const std::lock_guard lock(mutex_);
      began_without_.insert(obtain.ref);
    }
  }
  if (obtain.path.empty()) return CheckpointCopy{};
  return store.Obtain(obtain.ref, obtain.path, obtain.copy, stop);
}

void CheckpointCarrier::SendFiles(const SendLog& last) {
  Put({last.ref, Way::kTuner, [this, last](std::stop_token stop) {
         const std::string line =
             SendTrialFiles(link_, last.ref, last.folder, BeganWithout(last.ref), stop);
         if (stop.stop_requested()) return;
         if (!line.empty()) OutputLog(last.path).Append(line + "\n");
         answers_.files_sent(last);
       }});
}

bool CheckpointCarrier::BeganWithout(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  return began_without_.contains(ref);
}

void CheckpointCarrier::GiveUp(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  for (auto& [way, queue] : queues_) {
    std::erase_if(queue.jobs, [&ref](const Job& job) { return job.ref == ref; });
  }
  const auto [begin, end] = running_.equal_range(ref);
  for (auto it = begin; it != end; ++it) it->second.request_stop();
}

CheckpointCarrier::Job CheckpointCarrier::RemovalOf(const std::string& folder) {
  return {AttemptRef{}, Way::kDisk, [folder](std::stop_token /*stop*/) {
            std::error_code ignored;
            RemoveTree(folder, ignored);
          }};
}

void CheckpointCarrier::Drop(const std::string& folder) { Put(RemovalOf(folder)); }

void CheckpointCarrier::ClearTrial(const std::string& folder) {
  Aside aside(std::filesystem::path(folder).parent_path());
  MoveFilesOfTrial(folder, /*with_checkpoints=*/false, aside);
  if (aside.is_made()) Drop(aside.path());
}

void CheckpointCarrier::Put(Job job) {
  {
    const std::lock_guard lock(mutex_);
    queues_[{job.ref.sweep, job.way}].jobs.push_back(std::move(job));
    BeginThreadIfNeeded();
  }
  has_jobs_.notify_one();
}

size_t CheckpointCarrier::Queue::ready() const {
  return std::min(jobs.size(), static_cast<size_t>(limits::kCheckpointThreadsMax) - at_work);
}

// Where the system has no room for another thread, jobs wait for those that there are.
void CheckpointCarrier::BeginThreadIfNeeded() {
  size_t needed = running_.size();
  for (const auto& [way, queue] : queues_) needed += queue.ready();
  if (threads_.size() >= needed) return;
  const auto work = [this](std::stop_token end) { Work(std::move(end)); };
  if (threads_.empty()) {
    threads_.push_back(BeginThread<std::jthread>(work));
  } else if (auto thread = TryThread<std::jthread>(work, [] { return false; })) {
    threads_.push_back(*std::move(thread));
  }
}

CheckpointCarrier::Queues::iterator CheckpointCarrier::FirstReady() {
  return std::find_if(queues_.begin(), queues_.end(),
                      [](const auto& entry) { return entry.second.ready() > 0; });
}

void CheckpointCarrier::Work(std::stop_token end) {
  LetOthersGoFirst();  // Reports and training.
  std::unique_lock lock(mutex_);
  while (has_jobs_.wait(lock, end, [this] { return FirstReady() != queues_.end(); })) {
    if (end.stop_requested()) return;
    const auto from = FirstReady();
    Queue& queue = from->second;
    const Job job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    ++queue.at_work;
    const auto running = running_.emplace(job.ref, std::stop_source());
    const std::stop_token stop = running->second.get_token();
    lock.unlock();
    job.run(stop);
    lock.lock();
    running_.erase(running);
    --queue.at_work;
    if (queue.jobs.empty() && queue.at_work == 0) queues_.erase(from);
    has_ended_one_.notify_all();
    ClearLeft(job.ref.sweep);
  }
}

}  // namespace tune
