#include "tuner/cli/keep/kept_artifacts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/counted.h"
#include "core/limits.h"
#include "core/posix/threads.h"
#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/s3_address.h"
#include "tuner/cli/keep/removed_checkpoint.h"

namespace tune {
namespace {

constexpr auto kLookAgainEvery = std::chrono::seconds(10);
constexpr auto kErrandPause = std::chrono::milliseconds(limits::kReconnectMsMax);

}  // namespace

KeptArtifacts::~KeptArtifacts() {
  thread_.request_stop();
  has_errands_.notify_all();
}

Status KeptArtifacts::Remove(const std::string& path) {
  if (!IsS3Url(path)) {
    TUNE_ASSIGN_OR_RETURN(std::string aside, SetCheckpointAside(local_, path));
    if (aside.empty()) return OkStatus();
    if (!remover_.joinable()) {
      auto begun = TryThread<std::jthread>(
          [this](const std::stop_token& stop) { RemoveAside(stop); }, [] { return false; });
      if (!begun) return RemoveSetAside(aside);
      remover_ = *std::move(begun);
    }
    const std::lock_guard lock(mutex_);
    aside_.push_back(std::move(aside));
    has_aside_.notify_all();
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(S3Address there, ParseS3Url(path));
  const std::string bucket = there.bucket;
  DoLater(bucket, [this, there = std::move(there)](const std::stop_token& stop) -> Status {
    TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client, ClientOf(there.bucket));
    return RemoveCheckpoint(*client, there.key, stop);
  });
  return OkStatus();
}

void KeptArtifacts::RemoveAside(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (has_aside_.wait(lock, stop, [this] { return !aside_.empty(); })) {
    const std::string aside = std::move(aside_.front());
    aside_.pop_front();
    is_removing_ = true;
    lock.unlock();
    const Status removed = RemoveSetAside(aside);
    lock.lock();
    is_removing_ = false;
    if (!removed.ok()) lines_.push_back("warning: " + removed.message() + "; tune gc tries again");
    is_settled_.notify_all();
  }
}

Result<std::shared_ptr<S3Client>> KeptArtifacts::ClientOf(const std::string& bucket) {
  std::shared_ptr<S3Client>& client = clients_[bucket];
  if (client == nullptr) {
    TUNE_ASSIGN_OR_RETURN(client, S3Client::Make(bucket));
    // Who waits for all to be done need not wait for a store that hangs.
    client->SetOnTrouble([this](const Status&) {
      const std::lock_guard lock(mutex_);
      is_in_trouble_ = true;
      is_settled_.notify_all();
    });
  }
  return client;
}

void KeptArtifacts::DoLater(const std::string& store, Errand errand) {
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back({store, std::move(errand)});
  }
  if (!thread_.joinable()) {
    thread_ = BeginThread<std::jthread>([this](const std::stop_token& stop) { Work(stop); });
  }
  has_errands_.notify_all();
}

void KeptArtifacts::LookNowAndThen(const std::string& name, Look look) {
  const std::lock_guard lock(mutex_);
  if (look) {
    looks_[name] = {std::move(look), std::chrono::steady_clock::now() + kLookAgainEvery};
  } else {
    looks_.erase(name);
  }
}

// A store that is away, or refuses, is told of by the errands.
void KeptArtifacts::LookAround(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::string> due;
  for (const auto& [name, looked] : looks_) {
    if (now >= looked.due) due.push_back(name);
  }
  for (const std::string& name : due) {
    const auto found = looks_.find(name);
    if (found == looks_.end()) continue;
    found->second.due = now + kLookAgainEvery;
    const Look look = found->second.look;
    lock.unlock();
    const Result<std::string> line = look(stop);
    lock.lock();
    if (line.ok() && !line->empty()) lines_.push_back(*line);
  }
}

std::list<KeptArtifacts::Kept>::iterator KeptArtifacts::NextErrand() {
  const auto now = std::chrono::steady_clock::now();
  return std::find_if(errands_.begin(), errands_.end(), [&](const Kept& kept) {
    const auto away = away_.find(kept.store);
    return away == away_.end() || now >= away->second;
  });
}

void KeptArtifacts::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (has_errands_.wait(lock, stop, [this] { return !errands_.empty(); })) {
    if (stop.stop_requested()) return;
    const auto next = NextErrand();
    if (next == errands_.end()) {  // All stores rest.
      has_errands_.wait_for(lock, stop, kErrandPause,
                            [this] { return NextErrand() != errands_.end(); });
      continue;
    }
    Kept kept = std::move(*next);
    errands_.erase(next);
    is_busy_ = true;
    busy_store_ = kept.store;
    lock.unlock();
    const Status done = kept.errand(stop);
    lock.lock();
    const bool is_left = stop.stop_requested();
    if (done.ok() && !is_left) LookAround(lock, stop);
    is_busy_ = false;
    is_in_trouble_ = false;
    const bool may_pass = done.code() == StatusCode::kUnavailable;
    const bool was_failing = away_.erase(kept.store) > 0;
    if (!done.ok() && !was_failing && !stop.stop_requested()) {
      const bool is_persons = done.code() == StatusCode::kFailedPrecondition;
      lines_.push_back("warning: " + done.message() +
                       (may_pass     ? "; it is tried again"
                        : is_persons ? ""
                                     : "; tune gc tries again"));
    }
    if (may_pass) {
      away_.emplace(kept.store, std::chrono::steady_clock::now() + kErrandPause);
      errands_.push_front(std::move(kept));  // The first of its store still.
    }
    is_settled_.notify_all();
  }
}

bool KeptArtifacts::IsAllDoneButAway() const {
  if (is_busy_ && !away_.contains(busy_store_)) return false;
  return std::all_of(errands_.begin(), errands_.end(),
                     [this](const Kept& kept) { return away_.contains(kept.store); });
}

void KeptArtifacts::Finish(Duration patience) {
  std::unique_lock lock(mutex_);
  is_settled_.wait_for(lock, std::chrono::microseconds(patience.us),
                       [this] { return aside_.empty() && !is_removing_; });
  const bool is_done =
      is_settled_.wait_for(lock, std::chrono::microseconds(patience.us),
                           [this] { return IsAllDoneButAway() || is_in_trouble_; }) &&
      errands_.empty() && !is_busy_;
  if (is_done) return;
  lines_.push_back(
      Counted(static_cast<int64_t>(errands_.size() + (is_busy_ ? 1 : 0)), "checkpoint") +
      " could not be removed from the object store; tune gc tries again");
}

std::vector<std::string> KeptArtifacts::TakeLines() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

}  // namespace tune
