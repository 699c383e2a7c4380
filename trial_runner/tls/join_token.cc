#include "trial_runner/tls/join_token.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/base64.h"

namespace tune {
namespace {

constexpr std::string_view kPrefix = "tune1_";
constexpr size_t kChecksumBytes = 4;
constexpr size_t kContentBytes = 32 + 4 + 20;
constexpr size_t kBytes = kContentBytes + kChecksumBytes;
static_assert(kBytes % 3 == 0);  // No padding, no spare bits.

std::array<uint8_t, kChecksumBytes> Checksum(const uint8_t* content) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(content, kContentBytes, digest);
  std::array<uint8_t, kChecksumBytes> checksum;
  std::copy_n(digest, kChecksumBytes, checksum.begin());
  return checksum;
}

}  // namespace

std::string JoinToken::id_text() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<JoinToken> DrawJoinToken(const Fingerprint& authority) {
  JoinToken token;
  token.authority = authority;
  if (RAND_bytes(token.id.data(), static_cast<int>(token.id.size())) != 1 ||
      RAND_bytes(token.secret.data(), static_cast<int>(token.secret.size())) != 1) {
    return Internal("no entropy for a join token");
  }
  return token;
}

std::string FormatJoinToken(const JoinToken& token) {
  std::array<uint8_t, kBytes> bytes;
  uint8_t* out = std::copy(token.authority.begin(), token.authority.end(), bytes.begin());
  out = std::copy(token.id.begin(), token.id.end(), out);
  out = std::copy(token.secret.begin(), token.secret.end(), out);
  const auto checksum = Checksum(bytes.data());
  std::copy(checksum.begin(), checksum.end(), out);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(kPrefix) + EncodeBase64(text, Base64::kUrl);
}

Result<JoinToken> ParseJoinToken(std::string_view text) {
  const std::string remedy = "; copy the whole word after --join in the tuner's line";
  if (!text.starts_with(kPrefix)) {
    return InvalidArgument("--join: expected a token that begins with " + std::string(kPrefix) +
                           remedy);
  }
  text.remove_prefix(kPrefix.size());
  constexpr size_t kDigits = kBytes / 3 * 4;
  if (text.size() != kDigits) {
    return InvalidArgument("--join: expected a token of " +
                           std::to_string(kDigits + kPrefix.size()) + " characters, read " +
                           std::to_string(text.size() + kPrefix.size()) + remedy);
  }
  const std::optional<std::string> bytes = DecodeBase64(text, Base64::kUrl);
  const auto* in = bytes ? reinterpret_cast<const uint8_t*>(bytes->data()) : nullptr;
  if (!bytes || !std::equal(in + kContentBytes, in + kBytes, Checksum(in).begin())) {
    return InvalidArgument("--join: the token is mistyped, its checksum does not fit" + remedy);
  }
  JoinToken token;
  std::memcpy(token.authority.data(), in, token.authority.size());
  in += token.authority.size();
  std::memcpy(token.id.data(), in, token.id.size());
  in += token.id.size();
  std::memcpy(token.secret.data(), in, token.secret.size());
  return token;
}

}  // namespace tune
