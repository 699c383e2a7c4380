// Commands that ask an object store, and the person who waits for them.
//
// Thread rule: any thread.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/s3_client.h"

namespace tune {

// How long a command waits for the answer to one request. What is waited for is said after
// kTellAfter.
inline constexpr Duration kStorePatience = Seconds(30);
inline constexpr Duration kTellAfter = Seconds(5);

// It says on standard error, once, that a store does not answer, and gives it up.
Result<std::shared_ptr<S3Client>> ClientForCommand(const std::string& bucket);

// Of what a head was asked: it is the store that does not answer, and not the head, which nobody
// shall ask again and again.
Status OfAwayStore(const Status& status);

}  // namespace tune
