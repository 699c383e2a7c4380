#include "trial_runner/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr WorkerId kFirst{1};
constexpr WorkerId kSecond{2};
constexpr Instant kBegin{1'000'000};

Liveness Make() { return Liveness(Seconds(1), Seconds(60)); }

TEST(Liveness, AWorkerIsSilentWhenNothingWasHeardForALease) {
  Liveness liveness = Make();
  liveness.OnHeard(kFirst, kBegin);
  liveness.OnHeard(kSecond, kBegin);
  liveness.OnHeard(kSecond, kBegin + Seconds(1));
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(59.999999)), IsEmpty());
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(60)), ElementsAre(kFirst));
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(60)), IsEmpty());  // Once.
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(61)), ElementsAre(kSecond));
}

TEST(Liveness, HeartbeatsAreDueOncePerPeriod) {
  Liveness liveness = Make();
  liveness.OnHeard(kFirst, kBegin);
  EXPECT_EQ(liveness.NextDeadline(), kBegin + Seconds(1));
  EXPECT_THAT(liveness.TakeDue(kBegin), IsEmpty());
  EXPECT_THAT(liveness.TakeDue(kBegin + Seconds(1)), ElementsAre(kFirst));
  EXPECT_THAT(liveness.TakeDue(kBegin + Seconds(1)), IsEmpty());
}

TEST(Liveness, OurOwnSleepIsNobodysSilence) {
  Liveness liveness = Make();
  liveness.OnHeard(kFirst, kBegin);
  liveness.Excuse(Seconds(100));
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(159)), IsEmpty());
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(160)), ElementsAre(kFirst));
}

TEST(Liveness, WhoIsForgottenIsNeitherDueNorSilent) {
  Liveness liveness = Make();
  liveness.OnHeard(kFirst, kBegin);
  liveness.Forget(kFirst);
  EXPECT_EQ(liveness.NextDeadline(), std::nullopt);
  EXPECT_THAT(liveness.TakeDue(kBegin + Seconds(1'000)), IsEmpty());
  EXPECT_THAT(liveness.TakeSilent(kBegin + Seconds(1'000)), IsEmpty());
}

}  // namespace
}  // namespace tune
