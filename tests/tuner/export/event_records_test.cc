#include "tuner/export/event_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/export/crc32c.h"

namespace tune {
namespace {

TEST(Crc32c, IsThatOfTheStandard) {
  // RFC 3720, appendix B.4, and the customary check of the digits.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(EventRecords, AreWrittenByteForByteAsTheFormatSays) {
  // Time 2.0 s, step 300 (ac 02), one value "a" = 0.5 (0000003f).
  const std::string event(
      "\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01\x61\x15\0\0\0\x3f", 24);
  const std::string record = ScalarsRecord(Instant{2'000'000}, 300, {{"a", 0.5}});
  ASSERT_EQ(record.size(), 8 + 4 + event.size() + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, event.size()), event);
}

TEST(EventRecords, WhatWasCutShortIsTold) {
  const std::string first = FileVersionRecord(Instant{0});
  const std::string second = ScalarsRecord(Instant{1}, 7, {{"loss", 1}});
  const std::string third = SessionEndRecord(Instant{2}, SessionEnd::kSuccess);
  const std::string file = first + second + third;
  for (size_t size = 0; size <= file.size(); ++size) {
    const WholeRecords whole = FindWholeRecords(std::string_view(file).substr(0, size));
    const size_t expected = size == file.size()                    ? file.size()
                            : size >= first.size() + second.size() ? first.size() + second.size()
                            : size >= first.size()                 ? first.size()
                                                                   : 0;
    ASSERT_EQ(whole.byte_count, expected) << size;
    ASSERT_EQ(whole.last_step, expected > first.size() ? 7 : 0) << size;
    ASSERT_EQ(whole.has_end, expected == file.size()) << size;
  }
}

TEST(EventRecords, AFlippedBitEndsWhatIsWhole) {
  const std::string first = FileVersionRecord(Instant{0});
  const std::string second = ScalarsRecord(Instant{1}, 7, {{"loss", 1}});
  for (size_t at = 0; at < second.size(); ++at) {
    std::string file = first + second;
    file[first.size() + at] ^= 4;
    ASSERT_EQ(FindWholeRecords(file).byte_count, first.size()) << at;
  }
}

TEST(EventRecords, StepsOfAnySizeAreReadBack) {
  for (const int64_t step : {int64_t{1}, int64_t{127}, int64_t{128}, int64_t{1} << 40}) {
    EXPECT_EQ(FindWholeRecords(ScalarsRecord(Instant{1}, step, {{"a", 1}})).last_step, step);
  }
}

}  // namespace
}  // namespace tune
