// The tuner's end of checkpoints that workers send: they become folders below the sweep's artifact
// folder, as a worker that shares the disk would have put them there.
//
//   <root>/<trial>/checkpoint_000005     whole and durable, or not there
//   <root>/<trial>/...                   what its program left in its folder (trial_files.h)
//   <root>/.incoming/<sha256>-<bytes>    the text of one on its way; what broke off is gone on from
//
// What comes is not trusted: names are looked at before anything is written, its size is bounded,
// and there must be room for it on the disk.
//
// Thread rule: as CheckpointDepot says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"

namespace tune {

class ArtifactDepot final : public CheckpointDepot,
                            public std::enable_shared_from_this<ArtifactDepot> {
 public:
  struct Options {
    std::string root;           // <db stem>.artifacts/<sweep>, absolute.
    int64_t bytes_max = 0;      // Of one checkpoint.
    std::string programs = {};  // Where the sweep's programs run here, absolute; empty: nowhere.
    // CheckpointDepot::Sign; null: nothing is signed.
    std::function<Result<std::string>(const SignStoreRequest&)> sign = {};
  };
  // Makes the folder. What comes in keeps the depot alive.
  static Result<std::shared_ptr<ArtifactDepot>> Make(const Options& options);
  // What did not come to its end goes.
  ~ArtifactDepot() override;

  bool Sees(const SeeNonce& see) override;
  Result<std::unique_ptr<IncomingCheckpoint>> Receive(const PutCheckpoint& put) override;
  Result<std::unique_ptr<PackageSource>> Open(const GetCheckpoint& get) override;
  Result<int64_t> TakeLog(const PutLog& put) override;
  Result<std::string> Sign(const SignStoreRequest& request) override {
    return options_.sign ? options_.sign(request) : CheckpointDepot::Sign(request);
  }

  // What came in within the last hour, to the minute.
  int64_t BytesOfLastHour();

 private:
  class Incoming;

  explicit ArtifactDepot(Options options) : options_(std::move(options)) {}
  std::string IncomingFolder() const { return options_.root + "/.incoming"; }
  std::string FolderOf(const AttemptRef& ref) const {
    return options_.root + "/" + std::to_string(ref.trial.value);
  }
  Status CheckTaken(const PutCheckpoint& put) const;
  static Result<std::unique_ptr<PackageSource>> OpenFiles(const std::string& folder);
  static Result<int64_t> AppendToLog(const std::string& path, const PutLog& put);
  static void RemoveUnmoved(const std::string& folder);
  Status CheckRoom(int64_t bytes) const;
  void RemoveStaleParts();
  void End(const std::string& path);
  void Count(int64_t bytes);

  const Options options_;
  std::mutex mutex_;
  std::set<std::string> coming_;  // Parts and logs that are being written.
  std::map<std::chrono::steady_clock::time_point, int64_t> came_;  // By minute.
};

}  // namespace tune
