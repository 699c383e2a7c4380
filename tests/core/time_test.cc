#include "core/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tune {
namespace {

TEST(Time, InstantsAreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(FormatInstant(Instant{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatInstant(Instant{1'795'253'400'125'999}), "2026-11-21T09:30:00.125Z");
  EXPECT_EQ(FormatInstant(Instant{951'782'400'000'000}), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(FormatInstant(Instant{-1}), "1969-12-31T23:59:59.999Z");
}

TEST(Time, DurationsAreReadInEveryUnit) {
  EXPECT_EQ(ParseDuration("90s")->us, 90'000'000);
  EXPECT_EQ(ParseDuration("10m")->us, 600'000'000);
  EXPECT_EQ(ParseDuration("2h")->us, 7'200'000'000);
  EXPECT_EQ(ParseDuration("1d")->us, 86'400'000'000);
  EXPECT_EQ(ParseDuration("250ms")->us, 250'000);
  EXPECT_EQ(ParseDuration("1.5h")->us, 5'400'000'000);
  EXPECT_EQ(ParseDuration("3h50m")->us, 13'800'000'000);
  EXPECT_EQ(ParseDuration("1m250ms")->us, 60'250'000);
  EXPECT_EQ(ParseDuration("45")->us, 45'000'000);
  EXPECT_EQ(ParseDuration("0")->us, 0);
}

TEST(Time, WhatIsNoDurationIsRefusedWithAnExample) {
  for (const char* text :
       {"", "s", "-1s", "1w", "1 h 20", "3h50", "h50m", "nan", "inf", "1e300d", "ten"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_EQ(ParseDuration("1w").status().message(),
            "'1w' is not a duration; write it like 90s, 10m, 2h or 1d");
}

TEST(Time, SizesHaveDecimalAndBinaryPrefixes) {
  EXPECT_EQ(*ParseBytes("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(*ParseBytes("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(*ParseBytes("20GB"), 20'000'000'000);
  EXPECT_EQ(*ParseBytes("4096"), 4096);
  EXPECT_EQ(*ParseBytes("1.5 kB"), 1500);
  for (const char* text : {"", "GB", "-1GB", "1gb", "1e30TB", "4 G"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(Time, DurationsAreTellableToPeople) {
  EXPECT_EQ(FormatDuration(Milliseconds(12)), "12 ms");
  EXPECT_EQ(FormatDuration(Seconds(3.4)), "3.4 s");
  EXPECT_EQ(FormatDuration(Seconds(125)), "2 min 05 s");
  EXPECT_EQ(FormatDuration(Seconds(4800)), "1 h 20 min");
  EXPECT_EQ(FormatDuration(Seconds(-86390)), "-24 h 00 min");
}

TEST(Time, ArithmeticIsExact) {
  EXPECT_EQ(Instant{5} + Milliseconds(1), Instant{1005});
  EXPECT_EQ(Instant{1005} - Instant{5}, Milliseconds(1));
  EXPECT_LT(Instant{1}, Instant{2});
}

}  // namespace
}  // namespace tune
