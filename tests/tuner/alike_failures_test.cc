#include "tuner/alike_failures.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

TEST(ErrorKind, LeavesOutNumbersAndNothingElse) {
  EXPECT_EQ(ErrorKind("lr 0.1, depth 3: too large"), ErrorKind("lr 1e-05, depth 12: too large"));
  EXPECT_EQ(ErrorKind("exited with status 1: step 7."), "exited with status #: step #.");
  EXPECT_NE(ErrorKind("no module a"), ErrorKind("no module b"));
  EXPECT_EQ(ErrorKind(""), "");
}

TEST(ErrorKind, LeavesOutWhatWasPrintedAndIsNoCause) {
  const std::string error = "no_metric: the program ended with status 0 and never reported 'acc'";
  EXPECT_EQ(ErrorKind(error + "; the last that it printed: done with adam"), ErrorKind(error));
  EXPECT_NE(ErrorKind("the program exited with status 1: no module a"),
            ErrorKind("the program exited with status 1: no module b"));
}

TEST(AlikeFailures, ThreeThatAreRefusedAlikeAreEnough) {
  AlikeFailures failures;
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "no_metric"));
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "no_metric"));
  EXPECT_TRUE(failures.Add(Outcome::kBadConfig, "no_metric"));
  EXPECT_EQ(failures.count(), 3);
}

TEST(AlikeFailures, CrashesMustBeEight) {
  AlikeFailures failures;
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(failures.Add(Outcome::kCrashed, "status 1"));
  EXPECT_TRUE(failures.Add(Outcome::kCrashed, "status 1"));
}

TEST(AlikeFailures, TheLimitOfASpaceFileSaysHowManyInstead) {
  AlikeFailures failures;
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "no_metric", 4));
  EXPECT_FALSE(failures.Add(Outcome::kCrashed, "no_metric", 4));
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "no_metric", 4));
  EXPECT_TRUE(failures.Add(Outcome::kCrashed, "no_metric", 4));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "no_metric", 0));
}

TEST(AlikeFailures, AnotherErrorBeginsTheCountAnew) {
  AlikeFailures failures;
  failures.Add(Outcome::kBadConfig, "a");
  failures.Add(Outcome::kBadConfig, "a");
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "b"));
  EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "a"));
}

TEST(AlikeFailures, ASuccessEndsTheWatch) {
  AlikeFailures failures;
  failures.OnSuccess();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(failures.Add(Outcome::kBadConfig, "a"));
}

}  // namespace
}  // namespace tune
