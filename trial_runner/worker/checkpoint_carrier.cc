#include "trial_runner/worker/checkpoint_carrier.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
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

// Of all trials.
void ClearFolders(const std::string& artifacts) {
  std::error_code error;
  for (fs::directory_iterator trial(artifacts, error), end; !error && trial != end;
       trial.increment(error)) {
    ClearFolderOfTrial(trial->path(), /*with_checkpoints=*/true);
  }
}

}  // namespace

void ClearFolderOfTrial(const std::string& folder, bool with_checkpoints) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    const bool is_kept = IsOwnCheckpoint(name) ? !with_checkpoints : IsNoTrialFile(name);
    if (!is_kept) found.push_back(it->path());
  }
  for (const fs::path& path : found) RemoveTree(path, error);
}

CheckpointCarrier::CheckpointCarrier(CheckpointLink& link, Answers answers)
    : link_(link), answers_(std::move(answers)) {}

CheckpointCarrier::~CheckpointCarrier() {
  while (!places_.empty()) Leave(places_.begin()->first);
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
  if (found.storage == CheckpointStorage::kTuner) {
    const std::lock_guard lock(mutex_);  // What was left before is not cleared meanwhile.
    place.own_folder = found.artifacts;
    place.hold = OpenFolder(place.own_folder);
    if (LockFolder(place.hold, LOCK_EX) == FolderLock::kOurs) ClearFolders(place.own_folder);
    LockFolder(place.hold, LOCK_SH);
  }
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
  Clear(left.mapped());
}

void CheckpointCarrier::Clear(const Place& place) {
  const bool is_ours =
      !place.own_folder.empty() && LockFolder(place.hold, LOCK_EX) == FolderLock::kOurs;
  if (is_ours) ClearFolders(place.own_folder);
}

bool CheckpointCarrier::IsAtWork(ExperimentId sweep) const {
  return std::any_of(running_.begin(), running_.end(),
                     [sweep](const auto& job) { return job.first.sweep == sweep; });
}

void CheckpointCarrier::ClearLeft(ExperimentId sweep) {
  if (IsAtWork(sweep)) return;
  std::erase_if(left_, [sweep](const Left& left) {
    if (left.sweep == sweep) Clear(left.place);
    return left.sweep == sweep;
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

void CheckpointCarrier::Drop(const std::string& folder) {
  Put({AttemptRef{}, Way::kDisk, [folder](std::stop_token /*stop*/) {
         std::error_code ignored;
         RemoveTree(folder, ignored);
       }});
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
