#include "tuner/cli/look/store_client.h"

#include <atomic>

#include "tuner/cli/words/complain.h"

namespace tune {

Result<std::shared_ptr<S3Client>> ClientForCommand(const std::string& bucket) {
  TUNE_ASSIGN_OR_RETURN(std::shared_ptr<S3Client> client, S3Client::Make(bucket));
  client->SetPatience(kStorePatience);
  const auto is_told = std::make_shared<std::atomic_flag>();
  const auto tell = [is_told](const Status& trouble) {
    if (!is_told->test_and_set()) Tell("waiting for the object store: " + trouble.message());
  };
  client->SetOnTrouble(tell, kTellAfter);
  return client;
}

Status OfAwayStore(const Status& status) {
  if (status.code() != StatusCode::kUnavailable) return status;
  return FailedPrecondition(status.message() + "; submit it again when the store answers");
}

}  // namespace tune
