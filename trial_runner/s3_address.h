// Where things are kept in an object store: s3://bucket/prefix, and the names of keys below it.
//
// Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

inline constexpr std::string_view kS3Scheme = "s3://";
inline bool IsS3Url(std::string_view path) { return path.starts_with(kS3Scheme); }

struct S3Address {
  std::string bucket;
  std::string key;  // Or what keys begin with; no "/" at either end. Empty: the bucket's top.

  std::string ToUrl() const;
  // What lies below: the name may have "/" in it.
  S3Address Below(std::string_view name) const;
  friend bool operator==(const S3Address&, const S3Address&) = default;
};

// kInvalidArgument, one line: what was read and what is wrong with it. The bucket's name is S3's: 3
// to 63 lower-case letters, digits, "." and "-". Keys are any UTF-8 of at
// most limits::kS3KeyBytesMax bytes, without "//", "." or ".." for a folder's name.
Result<S3Address> ParseS3Url(std::string_view url);

// Percent-encoded as RFC 3986 says and signatures want it: all but letters, digits, "-._~", and
// slashes where they stay.
std::string EncodeForUrl(std::string_view text, bool keeps_slashes);
std::string DecodeFromUrl(std::string_view text);

}  // namespace tune
