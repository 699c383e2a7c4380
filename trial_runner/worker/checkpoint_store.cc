#include "trial_runner/worker/checkpoint_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/nameless_file.h"
#include "trial_runner/package/folder_text.h"
#include "trial_runner/package/incoming_text.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// The growing pauses between tries.
class Pauses {
 public:
  explicit Pauses(std::stop_token stop) : stop_(std::move(stop)) {}
  // False: told to stop.
  bool Wait() {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, stop_, std::chrono::milliseconds(pause_ms_), [] { return false; });
    pause_ms_ = std::min(2 * pause_ms_, limits::kReconnectMsMax);
    return !stop_.stop_requested();
  }
  void Restart() { pause_ms_ = limits::kReconnectMs; }

 private:
  const std::stop_token stop_;
  int64_t pause_ms_ = limits::kReconnectMs;
};

Status GivenUp() { return Unavailable("the worker needs it no longer"); }

}  // namespace

Result<KeptCheckpoint> SharedFolderStore::Keep(const AttemptRef& /*ref*/, const std::string& local,
                                               std::stop_token /*stop*/) {
  return KeptCheckpoint{local, {}};
}

Result<CheckpointCopy> SharedFolderStore::Obtain(const AttemptRef& /*ref*/, const std::string& path,
                                                 const CheckpointCopy& /*copy*/,
                                                 std::stop_token /*stop*/) {
  return CheckpointCopy{path, ""};
}

Result<KeptCheckpoint> TunerStore::Keep(const AttemptRef& ref, const std::string& local,
                                        std::stop_token stop) {
  TUNE_ASSIGN_OR_RETURN(const FolderText text, FolderText::Of(local));
  const PutCheckpoint put = {ref, fs::path(local).filename().string(), text.name()};
  Pauses pauses(stop);
  for (int wrong_count = 0;;) {
    Result<std::string> path = link_.Put(put, text, stop);
    if (path.ok()) return KeptCheckpoint{*std::move(path), {local, text.name().sha256}};
    if (stop.stop_requested()) return GivenUp();
    const StatusCode code = path.status().code();
    if (code == StatusCode::kDataLoss && ++wrong_count < limits::kCheckpointTriesMax) continue;
    if (code != StatusCode::kUnavailable) return path.status();
    if (!pauses.Wait()) return GivenUp();
  }
}

Result<CheckpointCopy> TunerStore::Obtain(const AttemptRef& ref, const std::string& path,
                                          const CheckpointCopy& copy, std::stop_token stop) {
  if (!copy.folder.empty()) {
    const Result<FolderText> here = FolderText::Of(copy.folder);
    if (here.ok() && here->name().sha256 == copy.sha256) return copy;
  }
  for (int wrong_count = 0;;) {
    Result<CheckpointCopy> fetched = Fetch(ref, path, stop);
    if (fetched.ok() || stop.stop_requested()) return fetched;
    if (fetched.status().code() != StatusCode::kDataLoss) return fetched;
    if (++wrong_count >= limits::kCheckpointTriesMax) return fetched;
  }
}

// What has come is gone on from after a break. The folder that it is in says whose it is: that
// stays so.
Result<CheckpointCopy> TunerStore::Fetch(const AttemptRef& ref, const std::string& path,
                                         const std::stop_token& stop) {
  const fs::path there(path);
  const std::string name = there.filename().string();
  const std::string parent = artifacts_ + "/" + there.parent_path().filename().string();
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(parent));
  std::optional<IncomingText> text;
  const auto begin = [&](const PackageName& name) -> Status {
    if (text) return text->name() == name ? OkStatus() : DataLoss("the tuner has another one now");
    TUNE_ASSIGN_OR_RETURN(FileDescriptor file, OpenNamelessFile(parent));
    TUNE_ASSIGN_OR_RETURN(IncomingText begun, IncomingText::Begin(name, std::move(file), parent));
    text.emplace(std::move(begun));
    return OkStatus();
  };
  Pauses pauses(stop);
  while (true) {
    const int64_t offset = text ? text->offset() : 0;
    const Status got =
        link_.Get({ref, path, offset},
                  {begin, [&text](std::string_view piece) { return text->Append(piece); }}, stop);
    if (got.ok()) break;
    if (stop.stop_requested()) return GivenUp();
    if (got.code() != StatusCode::kUnavailable) return got;
    if (text && text->offset() > offset) pauses.Restart();
    if (!pauses.Wait()) return GivenUp();
  }
  TUNE_ASSIGN_OR_RETURN(std::string made, text->Unpack(parent, name));
  return CheckpointCopy{std::move(made), text->name().sha256};
}

}  // namespace tune
