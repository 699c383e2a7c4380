#include "tuner/failure_policy.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr TrialNumber kTrial{3};
constexpr uint64_t kSeed = 7;

FailureAnswer Answer(const FailurePolicy& policy, Outcome cause, const FailureCounts& counts,
                     bool has_share = false) {
  return AnswerFailure(policy, {cause, kTrial, has_share}, counts, kSeed);
}

TEST(FailurePolicy, FailuresOfAllKindsShareTheAllowance) {
  FailurePolicy policy;
  policy.max_failures = 2;
  EXPECT_FALSE(
      Answer(policy, Outcome::kHung, {{Outcome::kCrashed, 1}, {Outcome::kHung, 1}}).gives_up);
  EXPECT_TRUE(
      Answer(policy, Outcome::kHung, {{Outcome::kCrashed, 2}, {Outcome::kHung, 1}}).gives_up);
}

TEST(FailurePolicy, ACauseWithALimitOfItsOwnIsCountedApart) {
  FailurePolicy policy;
  policy.causes[Outcome::kHung].max_failures = 1;
  EXPECT_FALSE(Answer(policy, Outcome::kHung, {{Outcome::kHung, 1}}).gives_up);
  EXPECT_TRUE(Answer(policy, Outcome::kHung, {{Outcome::kHung, 2}}).gives_up);
  EXPECT_TRUE(Answer(policy, Outcome::kCrashed, {{Outcome::kCrashed, 1}}).gives_up);
}

TEST(FailurePolicy, WithoutALimitNothingIsGivenUpButWhatIsHopeless) {
  FailurePolicy policy;
  policy.max_failures = -1;
  EXPECT_FALSE(Answer(policy, Outcome::kCrashed, {{Outcome::kCrashed, 1'000}}).gives_up);
  EXPECT_TRUE(Answer(policy, Outcome::kBadConfig, {{Outcome::kBadConfig, 1}}).gives_up);
  EXPECT_FALSE(Answer(policy, Outcome::kOutOfMemory, {{Outcome::kOutOfMemory, 1}}).gives_up);
  EXPECT_TRUE(Answer(policy, Outcome::kOutOfMemory, {{Outcome::kOutOfMemory, 2}}).gives_up);
}

TEST(FailurePolicy, OutOfDeviceMemoryTakesAWholeDeviceOnceThenIsInfeasible) {
  const FailurePolicy policy;
  const FailureAnswer first =
      Answer(policy, Outcome::kDeviceOutOfMemory, {{Outcome::kDeviceOutOfMemory, 1}}, true);
  EXPECT_FALSE(first.gives_up);
  EXPECT_TRUE(first.on_whole_device);
  const FailureAnswer second =
      Answer(policy, Outcome::kDeviceOutOfMemory, {{Outcome::kDeviceOutOfMemory, 2}}, false);
  EXPECT_TRUE(second.gives_up);
  EXPECT_NE(second.why.find("infeasible"), std::string::npos);
}

TEST(FailurePolicy, LostAndPreemptedAreNoFailures) {
  FailurePolicy policy;
  EXPECT_FALSE(IsFailure(Outcome::kLost, policy));
  EXPECT_FALSE(IsFailure(Outcome::kPreempted, policy));
  EXPECT_TRUE(IsFailure(Outcome::kKilled, policy));
  policy.causes[Outcome::kLost].max_failures = 3;
  EXPECT_TRUE(IsFailure(Outcome::kLost, policy));
}

TEST(FailurePolicy, WaitsDoubleUpToTheirBoundAndAreDrawnBetweenNothingAndAll) {
  FailurePolicy policy;
  policy.max_failures = -1;
  policy.backoff = Seconds(1);
  policy.backoff_max = Seconds(8);
  // Failure k waits at most min(8, 2^(k-1)) seconds; over 200 trials the largest draw is above
  // nine tenths of that.
  for (int64_t k = 1; k <= 6; ++k) {
    const int64_t whole_us = Seconds(std::min(8.0, static_cast<double>(1 << (k - 1)))).us;
    int64_t largest = 0;
    for (int64_t trial = 0; trial < 200; ++trial) {
      const FailureAnswer answer = AnswerFailure(policy, {Outcome::kCrashed, TrialNumber{trial}},
                                                 {{Outcome::kCrashed, k}}, kSeed);
      EXPECT_GE(answer.wait.us, 0);
      EXPECT_LE(answer.wait.us, whole_us);
      largest = std::max(largest, answer.wait.us);
    }
    EXPECT_GT(largest, whole_us * 9 / 10);
  }
}

TEST(FailurePolicy, AWaitIsTheSameInAReplay) {
  FailurePolicy policy;
  policy.max_failures = -1;
  const FailureCounts counts = {{Outcome::kCrashed, 3}};
  EXPECT_EQ(Answer(policy, Outcome::kCrashed, counts).wait,
            Answer(policy, Outcome::kCrashed, counts).wait);
}

}  // namespace
}  // namespace tune
