// Checkpoints in an object store: folders that go up and come down, whole or not at all
// (checkpoint_manifest.h).
//
// Thread rule: a CheckpointUpload belongs to one thread; the functions: any thread. All wait for
// the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/bucket/checkpoint_manifest.h"
#include "trial_runner/bucket/s3_client.h"

namespace tune {

// A folder that nobody changes any more, on its way up. What was sent stays sent: after an error
// that may pass, Run goes on from there.
class CheckpointUpload {
 public:
  // `key`: the checkpoint's, in the client's bucket.
  CheckpointUpload(std::shared_ptr<S3Client> client, std::string key, std::string folder);

  // The manifest's SHA-256, once all is durable. kInvalidArgument: such a folder is not taken (it
  // holds what is neither file nor folder, names that are too long or no UTF-8); kDataLoss: it
  // cannot be read; others are the store's.
  Result<std::string> Run(const std::stop_token& stop);
  // Whether the last error was of the folder, and not of the store.
  bool is_folder_bad() const { return is_folder_bad_; }
  // What was sent in parts goes. Best effort.
  void Abort(const std::stop_token& stop);

 private:
  struct Progress {                   // Of a file.
    std::string upload;               // Of one in parts.
    std::map<int64_t, S3Part> parts;  // Those that are there, by index.
    bool is_there = false;
  };
  Status Look();
  Status LookAt(const std::string& within, int depth);
  Status Send(size_t file, int64_t part, const std::stop_token& stop);
  Status Finish(size_t file, const std::stop_token& stop);

  const std::shared_ptr<S3Client> client_;
  const std::string key_;
  const std::string folder_;
  std::mutex mutex_;  // Of what parts that go side by side write.
  bool has_looked_ = false;
  bool is_folder_bad_ = false;
  CheckpointManifest manifest_;
  std::vector<Progress> progress_;
};

// Whether a folder has just what the manifest says.
bool IsFolderOf(const CheckpointManifest& manifest, const std::string& folder);

struct BroughtCheckpoint {
  std::string folder;
  std::string sha256;  // Of the manifest.
};
// It becomes `parent`/`name`, durable, or with a number behind where that is taken. `copy`: a
// folder that may be it already, and is used then; may be empty. kNotFound: there is none;
// kDataLoss: it is damaged there; of this machine's disk: ErrnoStatus's.
struct BringOrder {
  std::string key;
  std::string parent;
  std::string name;
  std::string copy = {};
};
Result<BroughtCheckpoint> BringCheckpoint(S3Client& client, const BringOrder& order,
                                          const std::stop_token& stop);

// The manifest first, so that it does not exist by halves. One that is not there is no error.
Status RemoveCheckpoint(S3Client& client, const std::string& key, const std::stop_token& stop);
// All keys that begin so, and what is on its way there in parts.
Status RemoveAllBelow(S3Client& client, const std::string& prefix, const std::stop_token& stop);

}  // namespace tune
