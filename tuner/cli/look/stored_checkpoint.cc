#include "tuner/cli/look/stored_checkpoint.h"

#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "core/posix/durable_file.h"
#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/s3_address.h"
#include "tuner/cli/look/store_client.h"
#include "tuner/cli/words/scratch_folder.h"

namespace tune {

namespace fs = std::filesystem;

Status BringStored(const std::string& url, const std::string& parent, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(const S3Address there, ParseS3Url(url));
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client, ClientForCommand(there.bucket));
  return BringCheckpoint(*client, {there.key, parent, name}, std::stop_token()).status();
}

Result<StoredHere> StoredHere::Of(const std::string& url, const std::string& copy) {
  std::string folder = (TemporaryFolderPath() / "tune-checkpoint-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return ErrnoStatus("make", folder);
  StoredHere here(folder);
  const Status brought = BringStored(url, folder, "checkpoint");
  if (brought.ok()) return here;
  std::error_code error;
  if (!fs::is_directory(copy, error)) return brought;
  here.path_ = copy;
  return here;
}

StoredHere::~StoredHere() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace tune
