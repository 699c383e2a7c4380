#include "trial_runner/package/secret_search.h"

#include <algorithm>

namespace tune {
namespace {

// From "-----BEGIN" to as much of the key as tells it from a text that speaks of keys.
constexpr size_t kKeyBytes = 256;
constexpr size_t kBodyBytesMin = 40;

bool IsBase64(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

// Whether what follows "-----BEGIN " is the rest of a key's first line, and a key: "RSA PRIVATE
// KEY-----", an end of line, which a JSON text writes as \n, and base64 or a header of OpenSSL's or
// PGP's.
bool IsKey(std::string_view text) {
  constexpr std::string_view kName = "PRIVATE KEY";
  constexpr std::string_view kEnd = "-----";
  constexpr size_t kWordsMax = 64;
  const size_t end = text.substr(0, kWordsMax).find(kEnd);
  if (end == std::string_view::npos) return false;
  if (text.substr(0, end).find(kName) == std::string_view::npos) return false;
  text.remove_prefix(end + kEnd.size());
  while (!text.empty() && (text.front() == '\r' || text.front() == '\n')) text.remove_prefix(1);
  while (text.starts_with("\\r") || text.starts_with("\\n")) text.remove_prefix(2);
  for (const std::string_view header : {"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "}) {
    if (text.starts_with(header)) return true;
  }
  const std::string_view body = text.substr(0, kBodyBytesMin);
  return body.size() == kBodyBytesMin && std::all_of(body.begin(), body.end(), IsBase64);
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
  window_ += piece;
  if (HoldsKey(window_)) return "a private key";
  for (const Secret& secret : secrets_) {
    if (window_.find(secret.value) != std::string::npos) return "the value of " + secret.name;
  }
  if (window_.size() > overlap_bytes_) window_.erase(0, window_.size() - overlap_bytes_);
  return std::nullopt;
}

}  // namespace tune
