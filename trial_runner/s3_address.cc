#include "trial_runner/s3_address.h"

#include <algorithm>

#include "core/limits.h"
#include "core/utf8.h"

namespace tune {
namespace {

bool IsBucketName(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 3 && name.size() <= 63 && is_letter(name.front()) &&
         is_letter(name.back()) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || c == '.' || c == '-'; });
}

// A folder's name that servers, or proxies before them, take for something else.
bool HasOddPart(std::string_view key) {
  while (!key.empty()) {
    const size_t slash = std::min(key.find('/'), key.size());
    const std::string_view part = key.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return true;
    key.remove_prefix(std::min(slash + 1, key.size()));
  }
  return false;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string S3Address::ToUrl() const {
  return std::string(kS3Scheme) + bucket + (key.empty() ? "" : "/" + key);
}

S3Address S3Address::Below(std::string_view name) const {
  return {bucket, key.empty() ? std::string(name) : key + "/" + std::string(name)};
}

Result<S3Address> ParseS3Url(std::string_view url) {
  const std::string read = "read '" + std::string(url) + "', expected s3://bucket/prefix";
  if (!IsS3Url(url)) return InvalidArgument(read);
  std::string_view rest = url.substr(kS3Scheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  S3Address address;
  address.bucket = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  address.key = rest;
  if (!IsBucketName(address.bucket)) {
    return InvalidArgument(read +
                           ": a bucket's name has 3 to 63 lower-case letters, digits, '.' and '-'");
  }
  if (!IsUtf8(address.key)) return InvalidArgument(read + ": the prefix is not UTF-8");
  if (HasOddPart(address.key)) {
    return InvalidArgument(read + ": no part of the prefix may be empty, '.' or '..'");
  }
  if (address.key.size() > limits::kS3KeyBytesMax) {
    return InvalidArgument(read + ": the prefix has more than " +
                           std::to_string(limits::kS3KeyBytesMax) + " bytes");
  }
  return address;
}

std::string EncodeForUrl(std::string_view text, bool keeps_slashes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~' ||
                          (c == '/' && keeps_slashes);
    if (is_plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

std::string DecodeFromUrl(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool may_be_code = text[i] == '%' && i + 2 < text.size();
    if (may_be_code && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace tune
