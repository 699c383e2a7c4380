#include "trial_runner/package/secret_search.h"

#include <algorithm>
#include <utility>

namespace tune {
namespace {

// From "-----BEGIN" to as much of the key as tells it from a text that speaks of keys.
constexpr size_t kKeyBytes = 256;
constexpr size_t kBodyBytesMin = 40;

bool IsBase64(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

// Without the ends of lines, also as JSON and program texts write them, what a line is indented by
// or commented out with, and the quotes and signs between the lines of a text in a program.
std::string_view AfterLineEnd(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n#/*>|;,.+()'\"`\\";
  constexpr size_t kBetweenMax = 100;
  size_t at = 0;
  while (at < text.size() && at < kBetweenMax) {
    if (text.substr(at, 2) == "\\r" || text.substr(at, 2) == "\\n") {
      at += 2;
    } else if (kBetween.find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return text.substr(at);
}

// Whether what follows "-----BEGIN " is the rest of a key's first line, and a key: "RSA PRIVATE
// KEY-----", an end of line, and base64 or a header of OpenSSL's or PGP's.
bool IsKey(std::string_view text) {
  constexpr std::string_view kName = "PRIVATE KEY";
  constexpr std::string_view kEnd = "-----";
  constexpr size_t kWordsMax = 64;
  const size_t end = text.substr(0, kWordsMax).find(kEnd);
  if (end == std::string_view::npos) return false;
  if (text.substr(0, end).find(kName) == std::string_view::npos) return false;
  text = AfterLineEnd(text.substr(end + kEnd.size()));
  for (const std::string_view header : {"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "}) {
    if (text.starts_with(header)) return true;
  }
  const std::string_view body = text.substr(0, kBodyBytesMin);
  return body.size() == kBodyBytesMin && std::all_of(body.begin(), body.end(), IsBase64);
}

bool IsCapitalOrDigit(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool IsBase64Url(char c) {
  return IsCapitalOrDigit(c) || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
}

// Whether `begin` stands in the text and as much of a key behind it, in its letters.
bool HoldsBehind(std::string_view text, std::string_view begin, bool (*is_part)(char)) {
  for (size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    const std::string_view body = text.substr(at + begin.size(), kBodyBytesMin);
    if (body.size() == kBodyBytesMin && std::all_of(body.begin(), body.end(), is_part)) return true;
  }
  return false;
}

// As a join token has it (tls/join_token.h).
bool HoldsToken(std::string_view text) { return HoldsBehind(text, "tune1_", IsBase64Url); }

// Of age, in Bech32's letters.
bool HoldsAgeKey(std::string_view text) {
  return HoldsBehind(text, "AGE-SECRET-KEY-1", IsCapitalOrDigit);
}

// PuTTY's files say so in words of their own, and of which version they are; programs that look for
// such files have the words alone.
bool IsPuttyKey(std::string_view text) {
  constexpr std::string_view kBegin = "PuTTY-User-Key-File-";
  for (size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::string_view version = text.substr(at + kBegin.size(), 2);
    if (version.size() == 2 && version[0] >= '0' && version[0] <= '9' && version[1] == ':') {
      return true;
    }
  }
  return false;
}

// The private part of a key in JSON (RFC 7518, section 6): "d": "base64url".
bool HoldsPrivatePartOfJsonKey(std::string_view text) {
  constexpr std::string_view kBegin = "\"d\"";
  constexpr std::string_view kBetween = " \t\r\n:";
  for (size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    std::string_view rest = text.substr(at + kBegin.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (!rest.starts_with('"')) continue;
    const std::string_view body = rest.substr(1, kBodyBytesMin);
    if (body.size() == kBodyBytesMin && std::all_of(body.begin(), body.end(), IsBase64Url)) {
      return true;
    }
  }
  return false;
}

// Where the content of the DER sequence at `at` begins; nothing: there is none.
std::optional<size_t> IntoSequence(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != '\x30') return std::nullopt;
  const auto length = static_cast<unsigned char>(text[at + 1]);
  const size_t content = at + (length < 0x80 ? 2 : 2 + (length & 0x7f));
  if (content > at + 6) return std::nullopt;
  return content;
}

// A key that a password protects, without a text around it: what PKCS #8's (RFC 5958) and PKCS
// #12's (RFC 7292) begin with.
bool BeginsAsProtectedKey(std::string_view text) {
  constexpr std::string_view kVersion3("\x02\x01\x03", 3);
  constexpr std::string_view kPkcs("\x2a\x86\x48\x86\xf7\x0d\x01", 7);
  const std::optional<size_t> outer = IntoSequence(text, 0);
  if (!outer) return false;
  const bool is_store = text.substr(*outer).starts_with(kVersion3);
  const auto inner = IntoSequence(text, *outer + (is_store ? kVersion3.size() : 0));
  // The number of what follows: its tag, its length, PKCS, and which of PKCS's.
  if (!inner || text.substr(*inner, 1) != "\x06") return false;
  const std::string_view number = text.substr(std::min(*inner + 2, text.size()));
  if (!number.starts_with(kPkcs) || number.size() == kPkcs.size()) return false;
  const char part = number[kPkcs.size()];
  return is_store ? part == '\x07' : part == '\x05' || part == '\x0c';
}

// A key without a text around it (DER) is the whole of a file: what RSA's, EC's and PKCS #8's begin
// with, a sequence that holds the version and then the key.
bool BeginsAsDerKey(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const std::optional<size_t> content = IntoSequence(text, 0);
  if (!content) return false;
  const size_t head = *content;
  if (byte(head) != 0x02 || byte(head + 1) != 0x01 || byte(head + 2) > 1) return false;
  // RSA: the modulus; EC: the key, of 28 to 66 bytes; PKCS #8: the algorithm, which begins with its
  // number.
  const unsigned next = byte(head + 3);
  const bool is_rsa = next == 0x02 && byte(head + 4) >= 0x81;
  const bool is_ec = next == 0x04 && byte(head + 4) >= 28 && byte(head + 4) <= 66;
  const bool is_pkcs8 = next == 0x30 && byte(head + 5) == 0x06;
  return is_rsa || is_ec || is_pkcs8;
}

bool HoldsKey(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    if (IsKey(text.substr(at + kBegin.size()))) return true;
  }
  return false;
}

}  // namespace

SecretSearch::SecretSearch(const std::vector<Secret>& secrets) : overlap_bytes_(kKeyBytes) {
  for (const Secret& secret : secrets) {
    if (secret.value.size() < kSecretBytesMin) continue;
    secrets_.push_back(secret);
    overlap_bytes_ = std::max(overlap_bytes_, secret.value.size());
  }
}

std::optional<std::string> SecretSearch::Add(std::string_view piece) {
  if (std::exchange(is_begin_, false)) {
    if (BeginsAsDerKey(piece) || BeginsAsProtectedKey(piece)) return "a private key";
    is_utf16_ = piece.starts_with("\xff\xfe") || piece.starts_with("\xfe\xff");
  }
  window_ += piece;
  if (is_utf16_) std::erase(window_, '\0');  // All that is looked for is ASCII.
  if (HoldsKey(window_) || IsPuttyKey(window_) || HoldsAgeKey(window_)) return "a private key";
  has_json_key_type_ = has_json_key_type_ || window_.find("\"kty\"") != std::string::npos;
  has_private_part_ = has_private_part_ || HoldsPrivatePartOfJsonKey(window_);
  if (has_json_key_type_ && has_private_part_) return "a private key";
  if (HoldsToken(window_)) return std::string(kJoinToken);
  for (const Secret& secret : secrets_) {
    if (window_.find(secret.value) != std::string::npos) return "the value of " + secret.name;
  }
  if (window_.size() > overlap_bytes_) window_.erase(0, window_.size() - overlap_bytes_);
  return std::nullopt;
}

}  // namespace tune
