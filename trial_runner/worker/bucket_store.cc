#include "trial_runner/worker/bucket_store.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/worker/transfers.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kAbortPatience = Seconds(2);

}  // namespace

class BucketStore::Asking {
 public:
  Asking(BucketStore& store, const AttemptRef& ref) : store_(store), ref_(ref) {
    const std::lock_guard lock(store_.asking_mutex_);
    store_.asking_.insert(ref_);
  }
  ~Asking() {
    const std::lock_guard lock(store_.asking_mutex_);
    store_.asking_.erase(store_.asking_.find(ref_));
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  BucketStore& store_;
  const AttemptRef ref_;
};

void BucketStore::TellAll(const std::string& why) {
  const std::lock_guard lock(asking_mutex_);
  for (const AttemptRef& ref : asking_) on_wait_(ref, why);
}

Result<std::shared_ptr<S3Client>> BucketStore::Client(const AttemptRef& ref) {
  const auto tell = [this](const Status& failed) { TellAll(failed.message()); };
  if (signer_ != nullptr) {
    // The tuner signs for a lease.
    const auto sign = [this, ref](const S3ToSign& request, const std::stop_token& stop) {
      return signer_->Sign({ref, request.method, request.key, request.query, request.sha256}, stop);
    };
    TUNE_ASSIGN_OR_RETURN(std::shared_ptr<S3Client> client,
                          S3Client::MakeWithout(root_.bucket, sign));
    client->SetOnTrouble(tell);
    return client;
  }
  const std::lock_guard lock(mutex_);
  if (client_ == nullptr) {
    TUNE_ASSIGN_OR_RETURN(client_, S3Client::Make(root_.bucket));
    client_->SetOnTrouble(tell);
  }
  return client_;
}

Result<KeptCheckpoint> BucketStore::Keep(const AttemptRef& ref, const std::string& local,
                                         std::stop_token stop) {
  const S3Address there =
      root_.Below(std::to_string(ref.trial.value) + "/" + fs::path(local).filename().string());
  std::optional<CheckpointUpload> upload;
  const Asking asking(*this, ref);
  Result<std::shared_ptr<S3Client>> client = Client(ref);
  for (TransferPauses pauses(stop);;) {
    if (!client.ok()) client = Client(ref);
    Status failed = client.status();
    if (client.ok()) {
      if (!upload) upload.emplace(*client, there.key, local);
      Result<std::string> sha256 = upload->Run(stop);
      if (sha256.ok()) return KeptCheckpoint{there.ToUrl(), {local, *std::move(sha256)}};
      if (upload->is_folder_bad()) return InvalidArgument(sha256.status().message());
      failed = sha256.status();
      // The tuner, and no store, says that the lease is over.
      const bool is_over = failed.code() == StatusCode::kFailedPrecondition;
      if (signer_ != nullptr && is_over && !stop.stop_requested()) return failed;
    }
    if (!stop.stop_requested()) on_wait_(ref, failed.message());
    if (pauses.Wait()) continue;
    if (upload) upload->Abort(StopLater(kAbortPatience).token());
    return Unavailable("the worker needs it no longer");
  }
}

Result<CheckpointCopy> BucketStore::Obtain(const AttemptRef& ref, const std::string& path,
                                           const CheckpointCopy& copy, std::stop_token stop) {
  const Result<S3Address> there = ParseS3Url(path);
  const bool is_ours =
      there.ok() && there->bucket == root_.bucket && there->key.starts_with(root_.key + "/");
  if (!is_ours) return NotFound(path + ": is not below " + root_.ToUrl());
  const fs::path key(there->key);
  const Asking asking(*this, ref);
  const BringOrder order = {there->key, artifacts_ + "/" + key.parent_path().filename().string(),
                            key.filename().string(), copy.folder};
  for (TransferPauses pauses(stop);;) {
    const Result<std::shared_ptr<S3Client>> client = Client(ref);
    Status failed = client.status();
    if (client.ok()) {
      Result<BroughtCheckpoint> brought = BringCheckpoint(**client, order, stop);
      if (brought.ok()) {
        return CheckpointCopy{std::move(brought->folder), std::move(brought->sha256)};
      }
      failed = brought.status();
      const StatusCode code = failed.code();
      if (signer_ != nullptr && code == StatusCode::kFailedPrecondition) return failed;
      if (code == StatusCode::kNotFound || code == StatusCode::kDataLoss) {
        return NotFound(path + ": " + failed.message());
      }
      const bool is_of_disk =
          code == StatusCode::kResourceExhausted || code == StatusCode::kInternal;
      if (is_of_disk) return failed;
    }
    if (!stop.stop_requested()) on_wait_(ref, failed.message());
    if (!pauses.Wait()) return Unavailable("the worker needs it no longer");
  }
}

}  // namespace tune
