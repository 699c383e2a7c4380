// Sweeps and jobs of one head in virtual time, under faults. Longer runs: tune_sim --head --seeds
// A..B.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

#include "tests/sim/head_run.h"

namespace tune::sim {
namespace {

TEST(HeadSimulator, NothingIsFoundInTwoHundredSeedsAndEachIsTheSameTwice) {
  HeadRunResult sum;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("tune_sim --head --verbose --seed " + std::to_string(seed));
    const HeadRunResult result = RunHead(seed);
    EXPECT_EQ(result.finding, "");
    EXPECT_EQ(RunHead(seed).hash, result.hash) << "the same seed gave another trace";
    sum.lives += result.lives;
    sum.sweeps += result.sweeps;
    sum.reports += result.reports;
    sum.commits_together += result.commits_together;
    sum.full_disks += result.full_disks;
  }
  // The seeds are about something.
  EXPECT_GT(sum.lives, 600);
  EXPECT_GT(sum.sweeps, 600);
  EXPECT_GT(sum.reports, 8'000);
  EXPECT_GT(sum.commits_together, 1'000);
  EXPECT_GT(sum.full_disks, 50);
}

// Fixed seeds wear out. A day's seeds are its number times 1000 and the 99 after it.
TEST(HeadSimulator, NothingIsFoundInTheSeedsOfTheDay) {
  const auto now = std::chrono::system_clock::now();
  const auto day = std::chrono::floor<std::chrono::days>(now).time_since_epoch().count();
  const auto first = static_cast<uint64_t>(day) * 1000;
  std::cout << "tune_sim --head --once --seeds " << first << ".." << first + 99 << std::endl;
  for (uint64_t seed = first; seed < first + 100; ++seed) {
    SCOPED_TRACE("tune_sim --head --verbose --seed " + std::to_string(seed));
    EXPECT_EQ(RunHead(seed).finding, "");
  }
}

}  // namespace
}  // namespace tune::sim
