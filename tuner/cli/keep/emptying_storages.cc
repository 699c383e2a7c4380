#include "tuner/cli/keep/emptying_storages.h"

#include "tuner/cli/look/sweep_lookup.h"

namespace tune {

namespace {

constexpr Duration kTryStorageEvery = Seconds(600);

}  // namespace

void EmptyingStorages::Begin(const SweepStorage& storage) {
  artifacts_.DoLater(storage.root.bucket,
                     [storage, empty = empty_, done = done_](const std::stop_token& stop) {
                       Status emptied = empty(storage, stop);
                       if (emptied.code() == StatusCode::kUnavailable)
                         return emptied;  // The errand is done again.
                       const std::lock_guard lock(done->mutex);
                       done->list.push_back({storage, emptied.ok()});
                       return emptied;
                     });
}

Status EmptyingStorages::GoOn(const std::string& db_path) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const std::vector<SweepStorage> left, ReadLeft(*database));
  for (const SweepStorage& storage : left) Begin(storage);
  return OkStatus();
}

Status EmptyingStorages::Look(SqliteStore& store, Instant now) {
  std::vector<Done> done;
  {
    const std::lock_guard lock(done_->mutex);
    done.swap(done_->list);
  }
  for (const auto& [storage, is_empty] : done) {
    const Status forgotten = is_empty ? store.ForgetLeft(AsLeft(storage)) : OkStatus();
    const bool has_no_room = forgotten.code() == StatusCode::kResourceExhausted;
    if (!forgotten.ok() && !has_no_room) return forgotten;
    if (!is_empty || has_no_room) refused_.emplace_back(now + kTryStorageEvery, storage);
  }
  for (const auto& [due, storage] : refused_) {
    if (now >= due) Begin(storage);
  }
  std::erase_if(refused_, [now](const auto& entry) { return now >= entry.first; });
  return OkStatus();
}

}  // namespace tune
