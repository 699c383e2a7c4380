// Deliberate bugs, each a decorator at a seam: what shows that the checkers can find something.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tune::sim {

enum class PlantedFault {
  kNone,
  kAckBeforeCommit,          // The store says ok and writes at the next commit.
  kSyncSkipped,              // The disk says that it has synced.
  kAnswerBeforeCommit,       // The gateway answers reports by itself.
  kLeaseNotFenced,           // What comes with an old epoch is taken for the present one's.
  kRungNotRebuilt,           // Recovery does not fill the scheduler's rungs.
  kJournalTailSkipped,       // Recovery leaves out the last step.
  kDuplicateCounted,         // A report that comes twice gets a new sequence number.
  kCheckpointBeforeDurable,  // A trial tells of a checkpoint before it is synced.
  kCheckpointRemovedEarly,   // What a trial would go on from is removed.
  kAnswerLost,               // One answer in a hundred is never sent.
  kDeviceSharedTwice,        // Every slice is of the first device.
  kAwayNotInStream,          // A sweep is not told which of its leases nobody hears.
  kAckOnFullDisk,            // The store says ok where the disk is full, and writes later.
  kCheckpointNotSent,        // A machine without the tuner's disk keeps what it saved to itself.
};

std::string_view PlantedFaultName(PlantedFault fault);
std::optional<PlantedFault> ParsePlantedFault(std::string_view name);
std::vector<PlantedFault> AllPlantedFaults();  // Without kNone.

}  // namespace tune::sim
