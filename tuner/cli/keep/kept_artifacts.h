// What trials left, on this disk or in an object store. It is removed beside the tuner's loop,
// which waits for no network and for no disk that is slow; a store that is away is asked again and
// again.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "trial_runner/bucket/s3_client.h"
#include "tuner/artifact_store.h"

namespace tune {

// How long a tuner that ends waits for what is to be removed.
inline constexpr Duration kStoreExitPatience = Seconds(15);

class KeptArtifacts final : public ArtifactStore {
 public:
  // `root`: LocalArtifactStore's.
  explicit KeptArtifacts(std::string root) : local_(std::move(root)) {}
  // Waits until what was removed from this disk is gone.
  ~KeptArtifacts() override;

  // On this disk it is gone from its path when this returns, in an object store soon.
  Status Remove(const std::string& path) override;
  // Asked of this disk alone.
  bool Has(const std::string& path) const override { return local_.Has(path); }

  // Something else to be done in a store, the bucket of that name, for as long as it may work later
  // (kUnavailable): after what was to be done there before. A store that is away keeps no other one
  // waiting.
  using Errand = std::function<Status(const std::stop_token&)>;
  void DoLater(const std::string& store, Errand errand);
  // Something to be looked at there beside errands, now and then; it gives a line for the person
  // who watches, or none. In place of one of that name; null: no longer.
  using Look = std::function<Result<std::string>(const std::stop_token&)>;
  void LookNowAndThen(const std::string& name, Look look);
  // Waits until all is done, but not for a store that is away, nor longer than that. What is left
  // tune gc does.
  void Finish(Duration patience);
  // Lines for the person who watches, since the last call.
  std::vector<std::string> TakeLines();

 private:
  struct Kept {
    std::string store;
    Errand errand;
  };
  void Work(const std::stop_token& stop);
  // With mutex_ held: the first errand of a store that does not rest.
  std::list<Kept>::iterator NextErrand();
  // With mutex_ held: no errand waits, or is at work, but those of stores that are away.
  bool IsAllDoneButAway() const;
  void RemoveAside(const std::stop_token& stop);
  void LookAround(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  Result<std::shared_ptr<S3Client>> ClientOf(const std::string& bucket);

  LocalArtifactStore local_;
  std::mutex mutex_;
  std::condition_variable_any has_errands_;
  std::condition_variable_any is_settled_;
  std::list<Kept> errands_;
  // Stores whose last errand failed with kUnavailable, and when they are asked again.
  std::map<std::string, std::chrono::steady_clock::time_point> away_;
  struct Looked {
    Look look;
    std::chrono::steady_clock::time_point due;
  };
  std::map<std::string, Looked> looks_;
  bool is_busy_ = false;
  std::string busy_store_;      // The present errand's.
  bool is_in_trouble_ = false;  // The present errand is about to fail.
  std::vector<std::string> lines_;
  std::map<std::string, std::shared_ptr<S3Client>> clients_;  // The thread's.
  std::jthread thread_;                                       // Since the first errand.
  std::deque<std::string> aside_;                             // Folders of this disk.
  std::condition_variable_any has_aside_;
  bool is_removing_ = false;
  std::jthread remover_;  // Since the first of those; comes to the end of them before it ends.
};

}  // namespace tune
