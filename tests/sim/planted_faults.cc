#include "tests/sim/planted_faults.h"

#include <array>
#include <utility>

namespace tune::sim {
namespace {

constexpr std::array<std::pair<PlantedFault, std::string_view>, 14> kNames = {{
    {PlantedFault::kAckBeforeCommit, "ack_before_commit"},
    {PlantedFault::kSyncSkipped, "sync_skipped"},
    {PlantedFault::kAnswerBeforeCommit, "answer_before_commit"},
    {PlantedFault::kLeaseNotFenced, "lease_not_fenced"},
    {PlantedFault::kRungNotRebuilt, "rung_not_rebuilt"},
    {PlantedFault::kJournalTailSkipped, "journal_tail_skipped"},
    {PlantedFault::kDuplicateCounted, "duplicate_counted"},
    {PlantedFault::kCheckpointBeforeDurable, "checkpoint_before_durable"},
    {PlantedFault::kCheckpointRemovedEarly, "checkpoint_removed_early"},
    {PlantedFault::kAnswerLost, "answer_lost"},
    {PlantedFault::kDeviceSharedTwice, "device_shared_twice"},
    {PlantedFault::kAwayNotInStream, "away_not_in_stream"},
    {PlantedFault::kAckOnFullDisk, "ack_on_full_disk"},
    {PlantedFault::kCheckpointNotSent, "checkpoint_not_sent"},
}};

}  // namespace

std::string_view PlantedFaultName(PlantedFault fault) {
  for (const auto& [known, name] : kNames) {
    if (known == fault) return name;
  }
  return "none";
}

std::optional<PlantedFault> ParsePlantedFault(std::string_view name) {
  for (const auto& [fault, known] : kNames) {
    if (known == name) return fault;
  }
  return std::nullopt;
}

std::vector<PlantedFault> AllPlantedFaults() {
  std::vector<PlantedFault> faults;
  for (const auto& [fault, name] : kNames) faults.push_back(fault);
  return faults;
}

}  // namespace tune::sim
