// What ETags show of bytes.
#include "trial_runner/bucket/etag.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "trial_runner/bucket/s3_signature.h"

namespace tune {
namespace {

// MD5s of RFC 1321's test suite.
TEST(Etag, ShowsBytesThatWereWrittenAtOnce) {
  EXPECT_TRUE(ShowsBytes("\"900150983cd24fb0d6963f7d28e17f72\"", "abc"));
  EXPECT_FALSE(ShowsBytes("\"900150983cd24fb0d6963f7d28e17f72\"", "abd"));
  EXPECT_FALSE(ShowsBytes("", "abc"));
}

TEST(Etag, ShowsBytesThatWereWrittenInParts) {
  constexpr size_t kMebibyte = 1 << 20;
  std::string bytes;
  for (size_t i = 0; bytes.size() < 18 * kMebibyte + 5; ++i) bytes += std::to_string(i);
  const auto etag_of = [&](size_t part) {
    Md5 whole;
    size_t count = 0;
    for (size_t at = 0; at < bytes.size(); at += part, ++count) {
      Md5 hash;
      hash.Add(std::string_view(bytes).substr(at, part));
      whole.Add(hash.Finish());
    }
    return "\"" + HexOf(whole.Finish()) + "-" + std::to_string(count) + "\"";
  };
  for (const size_t part : {5 * kMebibyte, 8 * kMebibyte, 16 * kMebibyte, 7 * kMebibyte}) {
    EXPECT_TRUE(ShowsBytes(etag_of(part), bytes)) << part;
    std::string other = bytes;
    other[other.size() / 2] ^= 1;
    EXPECT_FALSE(ShowsBytes(etag_of(part), other)) << part;
  }
  EXPECT_FALSE(ShowsBytes(etag_of(11 * kMebibyte + 3), bytes)) << "nobody can know that size";
  for (const char* const odd : {"\"-4\"", "\"900150983cd24fb0d6963f7d28e17f72-\"", "\"\"",
                                "\"900150983cd24fb0d6963f7d28e17f72-0\"",
                                "\"900150983cd24fb0d6963f7d28e17f72-99999999999999999999\""}) {
    EXPECT_FALSE(ShowsBytes(odd, bytes)) << odd;
  }
}

}  // namespace
}  // namespace tune
