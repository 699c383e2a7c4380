#include "core/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tune {
namespace {

TEST(Base64, IsThatOfRfc4648) {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, padded] : pairs) {
    std::string bare = padded;
    bare.resize(bare.find_last_not_of('=') + 1);
    EXPECT_EQ(EncodeBase64(bytes, Base64::kPadded), padded);
    EXPECT_EQ(EncodeBase64(bytes, Base64::kUrl), bare);
    EXPECT_EQ(DecodeBase64(padded, Base64::kPadded), std::string(bytes));
    EXPECT_EQ(DecodeBase64(bare, Base64::kUrl), std::string(bytes));
  }
  EXPECT_EQ(EncodeBase64("\xfb\xff", Base64::kPadded), "+/8=");
  EXPECT_EQ(EncodeBase64("\xfb\xff", Base64::kUrl), "-_8");
  EXPECT_EQ(DecodeBase64("Zm9v\nYmFy\n", Base64::kPadded), "foobar");
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* const bad : {"Zg", "Zg=", "Z?==", "Zg==Zg==", "====", "Zh==", "-_8="}) {
    EXPECT_FALSE(DecodeBase64(bad, Base64::kPadded)) << bad;
  }
  for (const char* const bad : {"Z", "Zg==", "Zh", "+/8", "Zm9v\n"}) {
    EXPECT_FALSE(DecodeBase64(bad, Base64::kUrl)) << bad;
  }
}

}  // namespace
}  // namespace tune
