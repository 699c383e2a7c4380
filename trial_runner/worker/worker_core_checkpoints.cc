// The worker's decisions about checkpoints that are kept elsewhere: what waits for them, and what
// is done where one cannot be kept or had.
#include <utility>

#include "trial_runner/worker/worker_core.h"

namespace tune {

// What trials save lies on this machine's disk, and the tuner has it over the network.
bool WorkerCore::HasOwnArtifacts(const AttemptRef& ref) const {
  const std::optional<FoundPlace>& found = SweepOf(ref).found;
  return found && found->storage == CheckpointStorage::kTuner;
}

void WorkerCore::Drop(const CheckpointCache::Dropped& folders) {
  for (const std::string& folder : folders) effects_.push_back(DropCheckpoint{folder});
}

// ---- what was saved

void WorkerCore::OnCheckpointKept(const AttemptRef& ref, const Result<KeptCheckpoint>& kept,
                                  Instant now) {
  if (has_exited_) return;
  if (const auto found = lingering_.find(ref);
      found != lingering_.end() && found->second.running.keeping) {
    Running& running = found->second.running;
    if (kept.ok()) {
      SendKept(running, *kept);
      // Nobody is there who would say it again.
      if (running.unanswered) unacknowledged_.push_back({*running.unanswered, ref, std::nullopt});
    } else {
      running.keeping.reset();  // Its end waits for it no longer.
      // It stays here meanwhile: a worker that leaves waits for what it has to say.
      if (const std::optional<TrialEnd> end = EndForUnkept(kept.status(), now)) {
        found->second.end = *end;
      }
    }
    if (auto left = lingering_.extract(ref); !left.empty()) {
      EndOnceLogged({}, std::move(left.mapped().running), std::move(left.mapped().end));
    }
    return ExitIfDone();
  }
  const auto found = running_.find(ref.epoch);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  Process& process = processes_.at(seat.process);
  Running& running = At(seat);
  if (running.start.ref != ref || !running.keeping) return;
  if (kept.ok()) {
    SendKept(running, *kept);
    if (!running.said_end) return;
    const TrialEnd end = *std::exchange(running.said_end, std::nullopt);
    return OnEnd(seat.process, process, seat.lane, end, now);
  }
  running.keeping.reset();
  const std::optional<TrialEnd> end = EndForUnkept(kept.status(), now);
  if (!end) return;
  if (process.running.size() == 1) {
    return Condemn(seat.process, process, seat.lane, *end, true, now);
  }
  Leave(seat.process, process, seat.lane, *end, true, now);
}

void WorkerCore::SendKept(Running& running, const KeptCheckpoint& kept) {
  AttemptReport message = *std::exchange(running.keeping, std::nullopt);
  message.report.checkpoint.path = kept.path;
  if (HasOwnArtifacts(message.ref)) Drop(cache_.Add(message.ref, kept.path, kept.copy));
  SendReport(running, std::move(message));
}

// Nothing: the worker leaves, which ends it.
std::optional<TrialEnd> WorkerCore::EndForUnkept(const Status& status, Instant now) {
  switch (status.code()) {
    case StatusCode::kFailedPrecondition:
      return TrialEnd{Outcome::kLost, status.message(), EndDetail::kNone};
    case StatusCode::kResourceExhausted:
      return TrialEnd{Outcome::kCrashed, "the tuner cannot keep a checkpoint: " + status.message(),
                      EndDetail::kDiskFull};
    case StatusCode::kInvalidArgument:
      return Crash("its checkpoint cannot be kept: " + status.message());
    default:
      LeaveUnfit("this worker cannot send a checkpoint to the tuner: " + status.message(), now);
      return std::nullopt;
  }
}

// There is no way to the tuner, and none is looked for any more.
bool WorkerCore::IsGoneForGood() const { return is_winding_down_ && IsAway(); }

void WorkerCore::GiveUpLingering() {
  for (auto& [ref, left] : std::exchange(lingering_, {})) {
    effects_.push_back(GiveUpCheckpoints{ref});
    Finish(std::move(left.running.start), std::move(left.end));
  }
}

// Nothing that the attempt has said counts any more.
void WorkerCore::ForgetReport(const AttemptRef& ref) {
  if (const auto found = lingering_.find(ref); found != lingering_.end()) {
    StartAttempt start = std::move(found->second.running.start);
    lingering_.erase(found);
    effects_.push_back(GiveUpCheckpoints{ref});
    Finish(std::move(start), {Outcome::kPreempted, "", EndDetail::kNone});
    return ExitIfDone();
  }
  const auto found = running_.find(ref.epoch);
  if (found == running_.end() || At(found->second).start.ref != ref) return;
  if (!std::exchange(At(found->second).keeping, std::nullopt)) return;
  effects_.push_back(GiveUpCheckpoints{ref});
}

// ---- what is gone on from

void WorkerCore::OnCheckpointObtained(const AttemptRef& ref, const Result<CheckpointCopy>& copy,
                                      Instant now) {
  if (has_exited_) return;
  const auto found = running_.find(ref.epoch);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  Process& process = processes_.at(seat.process);
  Running& running = At(seat);
  if (running.start.ref != ref || !std::exchange(running.awaits_checkpoint, false)) return;
  if (!copy.ok()) {
    const std::optional<TrialEnd> end = EndForUnobtained(copy.status(), now);
    if (end && !process.is_doomed) EndRunning(seat.process, process, seat.lane, *end, now);
    return;
  }
  const std::string& path = running.start.checkpoint_path;
  if (HasOwnArtifacts(ref) && !path.empty()) Drop(cache_.Use(ref, path, *copy));
  running.restored = copy->folder;
  if (KnowsPlace(SweepOf(ref)) && !process.is_doomed)
    BeginOnceRestored(seat.process, process, seat.lane);
}

// Nothing: the worker leaves, which ends it.
std::optional<TrialEnd> WorkerCore::EndForUnobtained(const Status& status, Instant now) {
  switch (status.code()) {
    case StatusCode::kFailedPrecondition:
      return TrialEnd{Outcome::kLost, status.message(), EndDetail::kNone};
    case StatusCode::kNotFound:
    case StatusCode::kInvalidArgument:
      return TrialEnd{Outcome::kCrashed, "cannot go on from a checkpoint: " + status.message(),
                      EndDetail::kBadCheckpoint};
    default:
      LeaveUnfit("this worker cannot have a checkpoint of the tuner's: " + status.message(), now);
      return std::nullopt;
  }
}

}  // namespace tune
