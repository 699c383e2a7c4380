// The words of the views. Scripts compare with them: they are never changed.
#include "core/check.h"
#include "tuner/stored_names.h"
#include "tuner/transition.h"

namespace tune {

const char* TrialStatusName(TrialStatus status) {
  switch (status) {
    case TrialStatus::kPending:
      return "PENDING";
    case TrialStatus::kRunning:
      return "RUNNING";
    case TrialStatus::kPaused:
      return "PAUSED";
    case TrialStatus::kTerminated:
      return "TERMINATED";
    case TrialStatus::kError:
      return "ERROR";
  }
  TUNE_CHECK(false);
}

std::optional<TrialStatus> FindTrialStatus(std::string_view name) {
  for (const TrialStatus status :
       {TrialStatus::kPending, TrialStatus::kRunning, TrialStatus::kPaused,
        TrialStatus::kTerminated, TrialStatus::kError}) {
    if (name == TrialStatusName(status)) return status;
  }
  return std::nullopt;
}

const char* StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kCompleted:
      return "completed";
    case StopReason::kStopCondition:
      return "stop_condition";
    case StopReason::kMaxT:
      return "max_t";
    case StopReason::kScheduler:
      return "scheduler";
    case StopReason::kSweepLimit:
      return "sweep_limit";
    case StopReason::kUser:
      return "user";
  }
  TUNE_CHECK(false);
}

const char* ExperimentStatusName(ExperimentStatus status) {
  switch (status) {
    case ExperimentStatus::kRunning:
      return "RUNNING";
    case ExperimentStatus::kInterrupted:
      return "INTERRUPTED";
    case ExperimentStatus::kFinished:
      return "FINISHED";
    case ExperimentStatus::kStopped:
      return "STOPPED";
  }
  TUNE_CHECK(false);
}

const char* WorkerStateName(WorkerState state) {
  switch (state) {
    case WorkerState::kAlive:
      return "alive";
    case WorkerState::kDraining:
      return "draining";
    case WorkerState::kLost:
      return "lost";
    case WorkerState::kLeft:
      return "left";
  }
  TUNE_CHECK(false);
}

const char* CheckpointStateName(CheckpointState state) {
  switch (state) {
    case CheckpointState::kDurable:
      return "durable";
    case CheckpointState::kCorrupt:
      return "corrupt";
    case CheckpointState::kRemoved:
      return "removed";
  }
  TUNE_CHECK(false);
}

}  // namespace tune
