#include "trial_runner/worker/checkpoint_store.h"

#include <filesystem>
#include <utility>

#include "trial_runner/package/folder_text.h"
#include "trial_runner/package/incoming_text.h"
#include "trial_runner/worker/transfers.h"

namespace tune {

namespace fs = std::filesystem;

Result<KeptCheckpoint> TunerStore::Keep(const AttemptRef& ref, const std::string& local,
                                        std::stop_token stop) {
  TUNE_ASSIGN_OR_RETURN(const FolderText text, FolderText::Of(local));
  const PutCheckpoint put = {ref, fs::path(local).filename().string(), text.name()};
  TUNE_ASSIGN_OR_RETURN(std::string path, PutText(link_, put, text, stop));
  return KeptCheckpoint{std::move(path), {local, text.name().sha256}};
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
    if (!IsWorthAnotherTry(fetched.status(), wrong_count)) return fetched;
  }
}

// The folder that it is in says whose it is: that stays so.
Result<CheckpointCopy> TunerStore::Fetch(const AttemptRef& ref, const std::string& path,
                                         const std::stop_token& stop) {
  const fs::path there(path);
  const std::string parent = artifacts_ + "/" + there.parent_path().filename().string();
  TUNE_ASSIGN_OR_RETURN(IncomingText text, GetText(link_, ref, path, parent, stop));
  TUNE_ASSIGN_OR_RETURN(std::string made, text.Unpack(parent, there.filename().string()));
  return CheckpointCopy{std::move(made), text.name().sha256};
}

}  // namespace tune
