// Deliberate bugs are found, each within so many seeds: the simulator can fail.
#include "tests/sim/planted_faults.h"

#include <gtest/gtest.h>

#include "tests/sim/head_run.h"
#include "tests/sim/scenarios.h"
#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace tune::sim {
namespace {

struct Bound {
  PlantedFault fault;
  uint64_t seeds;
};

class PlantedFaultTest : public ::testing::TestWithParam<Bound> {};

TEST_P(PlantedFaultTest, IsFound) {
  const auto [fault, seeds] = GetParam();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Swarm swarm = DrawSwarm(seed);
    swarm.planted = fault;
    const RunResult result = sim::Run(swarm);
    if (result.finding.empty()) continue;
    RecordProperty("seed", static_cast<int>(seed));
    RecordProperty("finding", result.finding);
    return;
  }
  FAIL() << PlantedFaultName(fault) << " was not found in " << seeds << " seeds";
}

// Drawn faults come upon it by luck: a report from the dead must arrive while another attempt of
// its trial runs. So it has a life of its own.
TEST(PlantedFault, AnUnfencedLeaseIsFoundWhenAFrozenWorkerWakesUp) {
  Swarm swarm = FrozenBeyondItsLease();
  EXPECT_EQ(sim::Run(swarm).finding, "");
  swarm.planted = PlantedFault::kLeaseNotFenced;
  EXPECT_NE(sim::Run(swarm).finding, "");
}

TEST(PlantedFault, AHeadThatActsBeforeTheCommitIsFoundWhenItsDiskIsFull) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    if (!RunHead(seed, false, PlantedFault::kAckOnFullDisk).finding.empty()) return;
  }
  FAIL() << "it was not found in 40 seeds";
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedFaultTest,
    ::testing::Values(
        Bound{PlantedFault::kAckBeforeCommit, 10}, Bound{PlantedFault::kSyncSkipped, 40},
        Bound{PlantedFault::kAnswerBeforeCommit, 10}, Bound{PlantedFault::kRungNotRebuilt, 20},
        Bound{PlantedFault::kJournalTailSkipped, 20}, Bound{PlantedFault::kDuplicateCounted, 20},
        Bound{PlantedFault::kCheckpointBeforeDurable, 100},
        Bound{PlantedFault::kCheckpointRemovedEarly, 100}, Bound{PlantedFault::kAnswerLost, 20},
        Bound{PlantedFault::kDeviceSharedTwice, 20}, Bound{PlantedFault::kCheckpointNotSent, 60},
        Bound{PlantedFault::kAwayNotInStream, 100}),
    [](const auto& info) { return std::string(PlantedFaultName(info.param.fault)); });

}  // namespace
}  // namespace tune::sim
