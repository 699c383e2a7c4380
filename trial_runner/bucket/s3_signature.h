// The signature of a request to an object store: AWS Signature Version 4 ("Authenticating Requests
// (AWS Signature Version 4)", Amazon S3 API reference).
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"

namespace tune {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // Of such as expire.
  friend bool operator==(const S3Credentials&, const S3Credentials&) = default;
};

using S3Pairs = std::vector<std::pair<std::string, std::string>>;

// What is signed of a request. `path` is encoded, and begins with "/"; `query` is not; `headers`
// have names in small letters, Host among them.
struct S3Request {
  std::string method;
  std::string path;
  S3Pairs query = {};
  S3Pairs headers = {};
  std::string payload_sha256 = {};
};

// Of nothing.
inline constexpr std::string_view kSha256OfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Names sorted and everything encoded, as it stands in the address too: "a=1&b=".
std::string CanonicalQuery(const S3Pairs& query);

// "20130524T000000Z".
std::string AmazonDate(Instant now);

// The query of an address that needs no other authority, for so long: `query` with what signs it.
// Of the headers Host alone is signed, and nothing of the body.
S3Pairs PresignQuery(const S3Request& request, const S3Credentials& credentials,
                     std::string_view region, std::string_view service,
                     std::string_view amazon_date, Duration valid);

// What stands in the header Authorization. The request has its x-amz-date among the headers.
std::string SignRequest(const S3Request& request, const S3Credentials& credentials,
                        std::string_view region, std::string_view service,
                        std::string_view amazon_date);

// In lower hexadecimal digits: the ETag of most objects that were written at once.
std::string Md5Hex(std::string_view bytes);

}  // namespace tune
