#include "tuner/cli/living_state.h"

#include <optional>

#include "tuner/artifact_path.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kPatience = Milliseconds(1000);

}  // namespace

void TellPaused(const std::string& db_path, const Clock& clock, FoundSweep& sweep) {
  if (sweep.status != kStateRunning) return;
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder || holder->experiment != sweep.name) return;
  ControlRequest request;
  request.tuner = holder->pid;
  request.sweep = sweep.name;
  request.verb = ControlVerb::kState;
  const Result<ControlAnswer> answer = AskTuner(ArtifactsDirOf(db_path), request, clock, kPatience);
  if (!answer.ok() || !answer->status.ok() || answer->lines.size() != 1) return;
  if (answer->lines[0] == kStatePaused) sweep.status = kStatePaused;
}

bool HasTuner(const FoundSweep& sweep) {
  return sweep.status == kStateRunning || sweep.status == kStatePaused;
}

}  // namespace tune
