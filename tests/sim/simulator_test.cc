// Whole sweeps in virtual time, under faults, each seed twice. Longer runs: tune_sim --seeds A..B.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace tune::sim {
namespace {

constexpr uint64_t kSeeds = 200;

TEST(Simulator, NothingIsFoundInTwoHundredSeedsAndEachIsTheSameTwice) {
  int64_t events = 0;
  int64_t lives = 0;
  std::map<std::string, int64_t> coverage;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("tune_sim --verbose --seed " + std::to_string(seed));
    const RunResult result = RunSeed(DrawSwarm(seed), true);
    EXPECT_EQ(result.finding, "");
    events += result.event_count;
    lives += result.tuner_lives;
    for (const auto& [what, times] : result.coverage) coverage[what] += times;
  }
  // The seeds are about something.
  EXPECT_GT(events, 50'000);
  for (const char* const what : {"a checkpoint was damaged",
                                 "a connection broke",
                                 "a lease was sent again",
                                 "a paused trial was stopped",
                                 "a paused trial was taken up again",
                                 "a report broke a limit",
                                 "a report kept limits",
                                 "a report was refused",
                                 "a trial exploited another",
                                 "a trial found the disk full",
                                 "a worker came back with attempts",
                                 "a worker said goodbye",
                                 "a worker was silent for its lease",
                                 "an iteration was reported in parts",
                                 "attempt crashed",
                                 "attempt killed",
                                 "attempt lost",
                                 "attempt out_of_memory",
                                 "attempt preempted",
                                 "the sweep was extended",
                                 "the tuner slept",
                                 "the user interrupted"}) {
    EXPECT_GT(coverage[what], 0) << what;
  }
  EXPECT_GT(lives, 2 * static_cast<int64_t>(kSeeds));
}

// Fixed seeds wear out. A day's seeds are its number times 1000 and the 59 after it.
TEST(Simulator, NothingIsFoundInTheSeedsOfTheDay) {
  const auto now = std::chrono::system_clock::now();
  const auto day = std::chrono::floor<std::chrono::days>(now).time_since_epoch().count();
  const auto first = static_cast<uint64_t>(day) * 1000;
  std::cout << "tune_sim --once --seeds " << first << ".." << first + 59 << std::endl;
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("tune_sim --verbose --seed " + std::to_string(seed));
    EXPECT_EQ(sim::Run(DrawSwarm(seed)).finding, "");
  }
}

// What longer runs have found (docs/SIMULATOR.md).
TEST(Simulator, NothingIsFoundInSeedsThatOnceFoundSomething) {
  constexpr uint64_t kFound[] = {277,        7500441699, 7500365782, 5001001017,
                                 7100001268, 7500666157, 7500709020, 7500709271};
  for (const uint64_t seed : kFound) {
    SCOPED_TRACE("tune_sim --verbose --seed " + std::to_string(seed));
    EXPECT_EQ(sim::Run(DrawSwarm(seed)).finding, "");
  }
}

TEST(Simulator, AnUndisturbedSweepHasOneLifeOfTheTuner) {
  const RunResult result = sim::Run(Undisturbed(DrawSwarm(1)));
  EXPECT_EQ(result.finding, "");
  EXPECT_EQ(result.tuner_lives, 1);
}

}  // namespace
}  // namespace tune::sim
