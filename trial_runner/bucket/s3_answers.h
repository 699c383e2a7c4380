// What an object store answers: its XML, and what kind of failure an answer is.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

// What came back of one request, before anybody has judged it.
struct S3Reply {
  int http_status = 0;      // 0: no answer came.
  std::string broken = {};  // Why, then.
  std::string body = {};
  std::string etag = {}, date = {}, server = {};  // Headers.
  std::string region = {};                        // x-amz-bucket-region.
  int retry_after_s = 0;                          // Retry-After; 0: none was told.
  int64_t content_bytes = -1;
  // It is encrypted with a key of its owner's: its ETag may look like an MD5 and is none.
  bool is_encrypted = false;
};

// What is to be done about a failure.
enum class S3Failure {
  kNone,
  kBroken,      // No answer, or half of one: at once, on another connection.
  kServer,      // 5xx: after a pause.
  kThrottled,   // 503 SlowDown, 429: after a longer one.
  kCredential,  // They are expired: once more with fresh ones.
  kRefused,     // No further try changes it.
};

struct S3Error {
  S3Failure failure = S3Failure::kNone;
  std::string code;     // "NoSuchBucket"; that of the HTTP status where none was said.
  std::string message;  // The store's.
};

S3Error JudgeS3Reply(const S3Reply& reply);
// Whether the body is an error, whatever the status is.
bool HasS3Error(std::string_view body);

// One line for a person: `doing` is "read s3://bucket/key". kNotFound: no such key or upload;
// kDataLoss: the object has not the bytes that were asked for;
// kFailedPrecondition: a condition of the request does not hold; kUnavailable: it may work later;
// kResourceExhausted: there is no room; kInvalidArgument: the person is to do something (no such
// bucket, a wrong key, a wrong clock, no right). `now` is this machine's time.
Status S3ErrorStatus(const S3Error& error, const S3Reply& reply, std::string_view doing,
                     Instant now);

struct S3Object {
  std::string key;
  int64_t bytes = 0;
  Instant modified;
  std::string etag = {};  // With its quotes.
  friend bool operator==(const S3Object&, const S3Object&) = default;
};

struct S3List {
  std::vector<S3Object> objects;
  std::string next;  // Token of the next page; empty: this is the last one.
};
Result<S3List> ParseS3List(std::string_view xml);

struct S3Upload {
  std::string key;
  std::string id;
  Instant begun;
};
struct S3Uploads {
  std::vector<S3Upload> uploads;
  std::string next_key, next_id;  // Of the next page; empty: this is the last one.
};
Result<S3Uploads> ParseS3Uploads(std::string_view xml);

// The UploadId of a multipart upload that was begun.
Result<std::string> ParseS3UploadId(std::string_view xml);

// "2009-10-12T17:50:30.000Z", and "Wed, 12 Oct 2009 17:50:00 GMT".
std::optional<Instant> ParseS3Time(std::string_view text);

}  // namespace tune
