// Whose is what lies below a prefix: one sweep's, which says so in <prefix>/<sweep>/owner.json
// before it writes anything else there, by a conditional write.
//
// Thread rule: any thread; each call waits for the store.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/s3_client.h"

namespace tune {

// A sweep of a database, wherever that is moved to.
struct BucketOwner {
  std::string sweep;
  std::string database;  // For people: host and path, where it was begun.
  Instant begun;
  uint64_t seed = 0;

  std::string id() const;
};

// Whether below the sweep's key there can be written, read, listed and removed, with an object that
// is removed again; should the caller be killed meanwhile, it stays until the sweep is deleted.
// Returns a warning, or nothing: the store takes no notice of conditional writes. Errors say what a
// person is to do. `nonce`: no other's.
Result<std::string> CheckBucket(S3Client& client, const std::string& key, const std::string& nonce,
                                const std::stop_token& stop);

// Without writing anything: kFailedPrecondition where a new sweep could not claim it now.
Status CheckMayBegin(S3Client& client, const std::string& key, const std::stop_token& stop);
// `key`: the sweep's. kFailedPrecondition: it belongs to another one, which is named; or the sweep
// is new, and objects are there that are nobody's.
Status ClaimBucket(S3Client& client, const std::string& key, const BucketOwner& owner, bool is_new,
                   const std::stop_token& stop);
// Whether it does belong to that one. kNotFound: to nobody.
Status CheckOwner(S3Client& client, const std::string& key, const BucketOwner& owner,
                  const std::stop_token& stop);

inline std::string OwnerKey(const std::string& key) { return key + "/owner.json"; }
// What the keys of CheckBucket's objects begin with.
inline std::string ProbeKeys(const std::string& key) { return key + "/.tune-probe-"; }

}  // namespace tune
