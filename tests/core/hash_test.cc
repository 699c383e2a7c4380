#include "core/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tune {
namespace {

// The vectors of the reference implementation and of its Python binding's documentation.
TEST(Xxh64, GivesThePublishedValues) {
  EXPECT_EQ(Xxh64(""), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(Xxh64("a"), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(Xxh64("abc"), 0x44BC2CF5AD770999ULL);
  EXPECT_EQ(Xxh64("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1ULL);
  EXPECT_EQ(Xxh64("xxhash", 20141025), 0xB559B98D844E0635ULL);
}

TEST(Xxh64, TellsEveryLengthAndEveryFlippedBitApart) {
  std::set<uint64_t> seen;
  std::string text;
  for (int i = 0; i < 100; ++i, text.push_back('x')) EXPECT_TRUE(seen.insert(Xxh64(text)).second);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(seen.insert(Xxh64(flipped)).second);
  }
}

TEST(HashToHex, HasSixteenDigits) {
  EXPECT_EQ(HashToHex(0), "0000000000000000");
  EXPECT_EQ(HashToHex(0xfedcba9876543210ULL), "fedcba9876543210");
}

}  // namespace
}  // namespace tune
