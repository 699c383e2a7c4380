#include "trial_runner/bucket/s3_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "core/check.h"
#include "trial_runner/package/sha256.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

std::string HmacSha256(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  const bool is_made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                            digest, &bytes) != nullptr;
  TUNE_CHECK(is_made);
  return std::string(reinterpret_cast<const char*>(digest), bytes);
}

std::string Sha256Of(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Finish();
}

// Without spaces around it, and one where several stand.
std::string Squeezed(std::string_view value) {
  std::string squeezed;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (is_space && (squeezed.empty() || squeezed.back() == ' ')) continue;
    squeezed += is_space ? ' ' : c;
  }
  while (squeezed.ends_with(' ')) squeezed.pop_back();
  return squeezed;
}

}  // namespace

std::string CanonicalQuery(const S3Pairs& query) {
  S3Pairs encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(EncodeForUrl(name, false), EncodeForUrl(value, false));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += (text.empty() ? "" : "&") + name + "=" + value;
  }
  return text;
}

std::string AmazonDate(Instant now) {
  std::string text = FormatInstant(now).substr(0, 19) + "Z";  // 2013-05-24T00:00:00Z
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

namespace {

struct Scope {
  std::string text;     // "20130524/us-east-1/s3/aws4_request".
  std::string headers;  // "host;x-amz-date", those that are signed.
  std::string signature;
};

S3Pairs SortedHeaders(const S3Request& request) {
  S3Pairs headers = request.headers;
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return headers;
}

// "host;x-amz-date".
std::string NamesOf(const S3Pairs& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

Scope Sign(const S3Request& request, const S3Credentials& credentials, std::string_view region,
           std::string_view service, std::string_view amazon_date) {
  const S3Pairs headers = SortedHeaders(request);
  Scope scope;
  scope.headers = NamesOf(headers);
  std::string canonical_headers;
  for (const auto& [name, value] : headers) {
    canonical_headers += name + ":" + Squeezed(value) + "\n";
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                CanonicalQuery(request.query) + "\n" + canonical_headers + "\n" +
                                scope.headers + "\n" + request.payload_sha256;
  const std::string day(amazon_date.substr(0, 8));
  scope.text = day + "/" + std::string(region) + "/" + std::string(service) + "/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + std::string(amazon_date) + "\n" + scope.text +
                              "\n" + Sha256Of(canonical);
  std::string key = HmacSha256("AWS4" + credentials.secret_key, day);
  key = HmacSha256(key, region);
  key = HmacSha256(key, service);
  key = HmacSha256(key, "aws4_request");
  scope.signature = HexOf(HmacSha256(key, to_sign));
  return scope;
}

}  // namespace

std::string SignRequest(const S3Request& request, const S3Credentials& credentials,
                        std::string_view region, std::string_view service,
                        std::string_view amazon_date) {
  const Scope scope = Sign(request, credentials, region, service, amazon_date);
  return "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + "/" + scope.text +
         ", SignedHeaders=" + scope.headers + ", Signature=" + scope.signature;
}

S3Pairs PresignQuery(const S3Request& request, const S3Credentials& credentials,
                     std::string_view region, std::string_view service,
                     std::string_view amazon_date, Duration valid) {
  S3Request whole = request;
  if (whole.payload_sha256.empty()) whole.payload_sha256 = "UNSIGNED-PAYLOAD";
  const std::string day(amazon_date.substr(0, 8));
  whole.query.emplace_back("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  whole.query.emplace_back("X-Amz-Credential", credentials.access_key + "/" + day + "/" +
                                                   std::string(region) + "/" +
                                                   std::string(service) + "/aws4_request");
  whole.query.emplace_back("X-Amz-Date", amazon_date);
  whole.query.emplace_back("X-Amz-Expires", std::to_string(valid.us / Seconds(1).us));
  whole.query.emplace_back("X-Amz-SignedHeaders", NamesOf(SortedHeaders(request)));
  if (!credentials.session_token.empty()) {
    whole.query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  }
  whole.query.emplace_back("X-Amz-Signature",
                           Sign(whole, credentials, region, service, amazon_date).signature);
  return whole.query;
}

struct Md5::State {
  State() { TUNE_CHECK(context != nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
};

Md5::Md5() : state_(std::make_unique<State>()) {
  TUNE_CHECK(EVP_DigestInit_ex(state_->context, EVP_md5(), nullptr) == 1);
}
Md5::~Md5() = default;

void Md5::Add(std::string_view bytes) {
  TUNE_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Md5::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  TUNE_CHECK(EVP_DigestFinal_ex(state_->context, digest, &length) == 1);
  return {reinterpret_cast<const char*>(digest), length};
}

std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

std::string Md5Hex(std::string_view bytes) {
  Md5 hash;
  hash.Add(bytes);
  return HexOf(hash.Finish());
}

}  // namespace tune
