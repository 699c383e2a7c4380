#include "trial_runner/tls/join_token.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace tune {
namespace {

constexpr std::string_view kPrefix = "tune1_";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
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

std::string ToBase64Url(const std::array<uint8_t, kBytes>& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t three = static_cast<uint32_t>(bytes[i]) << 16 |
                           static_cast<uint32_t>(bytes[i + 1]) << 8 | bytes[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) text += kAlphabet[three >> shift & 63];
  }
  return text;
}

std::optional<std::array<uint8_t, kBytes>> FromBase64Url(std::string_view text) {
  if (text.size() != kBytes / 3 * 4) return std::nullopt;
  std::array<uint8_t, kBytes> bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t three = 0;
    for (size_t j = 0; j < 4; ++j) {
      const size_t digit = kAlphabet.find(text[i + j]);
      if (digit == std::string_view::npos) return std::nullopt;
      three = three << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t j = 0; j < 3; ++j) {
      bytes[i / 4 * 3 + j] = static_cast<uint8_t>(three >> (16 - 8 * j));
    }
  }
  return bytes;
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
  return std::string(kPrefix) + ToBase64Url(bytes);
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
  const auto bytes = FromBase64Url(text);
  if (!bytes ||
      !std::equal(bytes->begin() + kContentBytes, bytes->end(), Checksum(bytes->data()).begin())) {
    return InvalidArgument("--join: the token is mistyped, its checksum does not fit" + remedy);
  }
  JoinToken token;
  const uint8_t* in = bytes->data();
  std::memcpy(token.authority.data(), in, token.authority.size());
  in += token.authority.size();
  std::memcpy(token.id.data(), in, token.id.size());
  in += token.id.size();
  std::memcpy(token.secret.data(), in, token.secret.size());
  return token;
}

}  // namespace tune
