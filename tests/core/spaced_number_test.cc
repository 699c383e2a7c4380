#include "core/spaced_number.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

TEST(SpacedNumber, WhiteSpaceAroundANumberGoes) {
  EXPECT_EQ(TrimAroundNumber("3\r"), "3");
  EXPECT_EQ(TrimAroundNumber(" -1.5e-05\r\n"), "-1.5e-05");
  EXPECT_EQ(TrimAroundNumber("food11/3\r"), "food11/3");
  EXPECT_EQ(TrimAroundNumber("--seed= 7\r"), "--seed=7");
  EXPECT_EQ(TrimAroundNumber("loss=nan\t"), "loss=nan");
  EXPECT_EQ(TrimAroundNumber("loss=+.5 "), "loss=+.5");
}

TEST(SpacedNumber, OtherArgumentsStayAsTheyAre) {
  for (const char* text : {"", " ", "a b ", "name ", "3 4 ", "loss=", "/tmp/a folder ", "3x\r"}) {
    EXPECT_EQ(TrimAroundNumber(text), text);
  }
}

TEST(SpacedNumber, SomeNumbersLookLikeOptions) {
  for (const char* text : {"-inf", "-Infinity", "-nan", "-.5", "-.5e-3"}) {
    EXPECT_TRUE(IsNumberLikeOptions(text)) << text;
  }
  for (const char* text : {"-0.5", "-1e-3", "inf", ".5", "-i", "-", "", "--inf", "-info"}) {
    EXPECT_FALSE(IsNumberLikeOptions(text)) << text;
  }
}

TEST(SpacedNumber, TrimmedTextHasNoSpaceAtItsEnds) {
  EXPECT_EQ(TrimSpace(" \ta b\r\n"), "a b");
  EXPECT_EQ(TrimSpace("\r\n"), "");
}

}  // namespace
}  // namespace tune
