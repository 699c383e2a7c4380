// The signature of a request to an object store: AWS Signature Version 4 ("Authenticating Requests
// (AWS Signature Version 4)", Amazon S3 API reference).
//
// Thread rule: pure functions.
#pragma once

#include <memory>
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
// All the request's headers are signed, so that it must come with them; of the body nothing where
// its SHA-256 is empty.
S3Pairs PresignQuery(const S3Request& request, const S3Credentials& credentials,
                     std::string_view region, std::string_view service,
                     std::string_view amazon_date, Duration valid);

// What stands in the header Authorization. The request has its x-amz-date among the headers.
std::string SignRequest(const S3Request& request, const S3Credentials& credentials,
                        std::string_view region, std::string_view service,
                        std::string_view amazon_date);

// MD5 (RFC 1321) of bytes that come piece by piece: what most ETags are made of.
class Md5 {
 public:
  Md5();
  ~Md5();
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;
  void Add(std::string_view bytes);
  // Once, last: sixteen bytes.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// In lower hexadecimal digits.
std::string HexOf(std::string_view bytes);
std::string Md5Hex(std::string_view bytes);

}  // namespace tune
