// Whole sweeps in virtual time, under faults, each seed twice. Longer runs: tune_sim --seeds A..B.
#include <gtest/gtest.h>

#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace tune::sim {
namespace {

constexpr uint64_t kSeeds = 200;

TEST(Simulator, NothingIsFoundInTwoHundredSeedsAndEachIsTheSameTwice) {
  int64_t events = 0;
  int64_t lives = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("tune_sim --verbose --seed " + std::to_string(seed));
    const RunResult result = RunSeed(DrawSwarm(seed), true);
    EXPECT_EQ(result.finding, "");
    events += result.event_count;
    lives += result.tuner_lives;
  }
  // The seeds are about something.
  EXPECT_GT(events, 10'000);
  EXPECT_GT(lives, 2 * static_cast<int64_t>(kSeeds));
}

TEST(Simulator, AnUndisturbedSweepHasOneLifeOfTheTuner) {
  const RunResult result = sim::Run(Undisturbed(DrawSwarm(1)));
  EXPECT_EQ(result.finding, "");
  EXPECT_EQ(result.tuner_lives, 1);
}

}  // namespace
}  // namespace tune::sim
