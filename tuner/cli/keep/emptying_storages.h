// What deleted sweeps have left in object stores goes beside a head's loop, which waits for no
// store; the database knows of it until it is gone (left_storages.h).
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/kept_artifacts.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {

class EmptyingStorages {
 public:
  using Empty = std::function<Status(const SweepStorage&, const std::stop_token&)>;
  // `artifacts` outlives it.
  explicit EmptyingStorages(KeptArtifacts& artifacts, Empty empty = EmptyStorage)
      : artifacts_(artifacts), empty_(std::move(empty)) {}

  // Of a sweep whose rows are gone.
  void Begin(const SweepStorage& storage);
  // With all that the head's last life did not come to.
  Status GoOn(const std::string& db_path);
  // Now and then: what is empty by now need not be known any more. What a store has refused, and
  // what a full disk does not let the database forget, is tried again after a while.
  Status Look(SqliteStore& store, Instant now);

 private:
  struct Done {
    SweepStorage storage;
    bool is_empty = false;
  };
  struct AllDone {
    std::mutex mutex;
    std::vector<Done> list;
  };

  KeptArtifacts& artifacts_;
  const Empty empty_;
  const std::shared_ptr<AllDone> done_ = std::make_shared<AllDone>();  // Since the last look.
  std::vector<std::pair<Instant, SweepStorage>> refused_;  // And when it is tried again.
};

}  // namespace tune
