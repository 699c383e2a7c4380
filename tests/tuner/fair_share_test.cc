// Whose turn it is.
#include "tuner/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"

namespace tune {
namespace {

using ::testing::ElementsAre;

constexpr Instant kNow{1'000'000'000'000};

Instant Before(Duration since) { return kNow + Duration{-since.us}; }

Claimant Of(int64_t id, int64_t cpus, int64_t gpus = 0, Share share = {}) {
  const Usage used{cpus * kWholeMilli, gpus * kWholeMilli};
  return {ExperimentId{id}, share, used, {}, {}};
}

// The ids in turn, on a pool of 100 CPUs and 10 GPUs.
std::vector<int64_t> Turn(const std::vector<Claimant>& claimants) {
  std::vector<int64_t> ids;
  for (const size_t i : FairOrder(claimants, {100 * kWholeMilli, 10 * kWholeMilli}, kNow)) {
    ids.push_back(claimants[i].sweep.value);
  }
  return ids;
}

TEST(FairOrder, WhoHasLeastOfWhatIsScarceToItIsFirst) {
  EXPECT_THAT(Turn({Of(1, 8), Of(2, 4), Of(3, 6)}), ElementsAre(2, 3, 1));
  // 2 of 10 GPUs are more than 19 of 100 CPUs.
  EXPECT_THAT(Turn({Of(1, 2, 2), Of(2, 19)}), ElementsAre(2, 1));
  EXPECT_THAT(Turn({Of(1, 2, 2), Of(2, 21)}), ElementsAre(1, 2));
}

TEST(FairOrder, TwiceTheWeightIsDueTwiceAsMuch) {
  const Share heavy{0, 200};
  EXPECT_THAT(Turn({Of(1, 5), Of(2, 9, 0, heavy)}), ElementsAre(2, 1));
  EXPECT_THAT(Turn({Of(1, 5), Of(2, 11, 0, heavy)}), ElementsAre(1, 2));
}

TEST(FairOrder, OwnersShareEvenlyHoweverManySweepsTheyHave) {
  const auto owned = [](int64_t id, int64_t cpus, const char* owner, int64_t all) {
    Claimant claimant = Of(id, cpus, 0, {0, 100, owner});
    claimant.used_by_owner.cpu_milli = all * kWholeMilli;
    return claimant;
  };
  // Of ada's three sweeps each has less than bob's one.
  const std::vector<Claimant> claimants = {owned(1, 5, "ada", 15), owned(2, 4, "ada", 15),
                                           owned(3, 12, "bob", 12), owned(4, 6, "ada", 15)};
  EXPECT_THAT(Turn(claimants), ElementsAre(3, 2, 1, 4));
}

TEST(FairOrder, AHigherPriorityIsFirstWhateverItHasUntilAnotherHasWaitedLong) {
  const Share urgent{2, 100};
  Claimant waiting = Of(1, 0);
  EXPECT_THAT(Turn({waiting, Of(2, 90, 0, urgent)}), ElementsAre(2, 1));
  waiting.waiting_since = Before(kAgeing);
  EXPECT_THAT(Turn({waiting, Of(2, 90, 0, urgent)}), ElementsAre(2, 1));
  waiting.waiting_since = Before(Duration{kAgeing.us * 2});
  EXPECT_THAT(Turn({waiting, Of(2, 90, 0, urgent)}), ElementsAre(1, 2)) << "as urgent, with less";
}

TEST(FairOrder, WhoHasWaitedForAnHourIsFirstWhateverPrioritiesAndReservesAre) {
  const Share urgent{1000, 100};
  Claimant reserved = Of(3, 90);
  reserved.has_unmet_reserve = true;
  Claimant waiting = Of(1, 0);
  waiting.waiting_since = Before(kBeforeReserves + Seconds(-1));
  EXPECT_THAT(Turn({waiting, Of(2, 90, 0, urgent), reserved}), ElementsAre(3, 2, 1));
  waiting.waiting_since = Before(kBeforeReserves);
  EXPECT_THAT(Turn({waiting, Of(2, 90, 0, urgent), reserved}), ElementsAre(1, 3, 2));
}

TEST(FairOrder, OfTwoAlikeTheOneThatWaitsLongerThenTheOlder) {
  Claimant longer = Of(2, 3);
  longer.waiting_since = Before(Seconds(5));
  EXPECT_THAT(Turn({Of(1, 3), longer}), ElementsAre(2, 1));
  EXPECT_THAT(Turn({Of(2, 3), Of(1, 3)}), ElementsAre(1, 2));
}

TEST(FairOrder, IsTheSameInWhateverOrderTheyStand) {
  KeyedRandom random(1, "fair");
  for (int round = 0; round < 200; ++round) {
    std::vector<Claimant> claimants;
    for (int64_t id = 1; id <= 6; ++id) {
      const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.NextBelow(n)); };
      Claimant one = Of(id, below(4), below(3), {below(2), 100 * (1 + below(2))});
      if (below(2) == 0) one.waiting_since = Before(Seconds(below(3) * 600));
      claimants.push_back(one);
    }
    const std::vector<int64_t> turn = Turn(claimants);
    std::reverse(claimants.begin(), claimants.end());
    EXPECT_EQ(Turn(claimants), turn);
    std::rotate(claimants.begin(), claimants.begin() + 2, claimants.end());
    EXPECT_EQ(Turn(claimants), turn);
  }
}

}  // namespace
}  // namespace tune
