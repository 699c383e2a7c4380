// The worker's decisions about checkpoints that are kept elsewhere: what waits for them, and what
// is done where one cannot be kept or had.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {

// What trials save lies on this machine's disk, and the tuner has it over the network.
bool WorkerCore::HasOwnArtifacts(const AttemptRef& ref) const {
  const std::optional<FoundPlace>& found = SweepOf(ref).found;
  return found && found->storage == CheckpointStorage::kTuner;
}

// What trials save goes to an object store.
bool WorkerCore::IsInBucket(const AttemptRef& ref) const {
  return !SweepOf(ref).info.bucket.empty();
}

// What is on this machine's disk is a copy.
bool WorkerCore::HasCopies(const AttemptRef& ref) const {
  return HasOwnArtifacts(ref) || IsInBucket(ref);
}

void WorkerCore::Drop(const CheckpointCache::Dropped& folders) {
  for (const std::string& folder : folders) effects_.push_back(DropCheckpoint{folder});
}

// ---- what was saved

// The report is told when its checkpoint is kept; where reports need not wait, before, and the
// checkpoint follows. A trial's final report always waits: nothing else could go on meanwhile.
void WorkerCore::KeepSaved(Running& running, AttemptReport message) {
  const bool need_not_wait = SweepOf(message.ref).info.has_async_checkpoints &&
                             HasCopies(message.ref) && !message.report.final;
  if (running.behind) Drop({running.behind->checkpoint.path});  // It is overtaken.
  running.behind.reset();
  if (need_not_wait) {
    TellAhead(running, std::move(message));
  } else {
    running.keeping = std::move(message);
  }
  if (!running.on_its_way) KeepNext(running);
}

void WorkerCore::TellAhead(Running& running, AttemptReport message) {
  running.behind = {message.ref, message.report.iteration,
                    std::exchange(message.report.checkpoint, {})};
  message.report.has_checkpoint = false;
  message.report.checkpoint_follows = true;
  SendReport(running, std::move(message));
}

// Nothing is on its way: what was saved last sets off. Whether there is any.
bool WorkerCore::KeepNext(Running& running) {
  if (running.behind) {
    running.on_its_way = std::exchange(running.behind, std::nullopt);
    effects_.push_back(KeepCheckpoint{running.start.ref, running.on_its_way->checkpoint.path});
  } else if (running.keeping) {
    effects_.push_back(KeepCheckpoint{running.start.ref, running.keeping->report.checkpoint.path});
  }
  return running.is_keeping();
}

void WorkerCore::OnCheckpointKept(const AttemptRef& ref, const Result<KeptCheckpoint>& kept,
                                  Instant now) {
  if (has_exited_) return;
  waits_.erase(ref);
  if (const auto found = lingering_.find(ref);
      found != lingering_.end() && found->second.running.is_keeping()) {
    Running& running = found->second.running;
    if (kept.ok()) {
      TellKept(running, *kept);
      RememberTold(running);
      if (KeepNext(running)) return;
    } else {
      running.ForgetSaved();  // Its end waits for them no longer.
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
  const auto found = running_.find(ref);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  Process& process = processes_.at(seat.process);
  Running& running = At(seat);
  if (!running.is_keeping()) return;
  if (kept.ok()) {
    TellKept(running, *kept);
    if (KeepNext(running) || !running.said_end) return;
    const TrialEnd end = *std::exchange(running.said_end, std::nullopt);
    return OnEnd(seat.process, process, seat.lane, end, now);
  }
  running.ForgetSaved();
  const std::optional<TrialEnd> end = EndForUnkept(kept.status(), now);
  if (!end) return;
  if (process.running.size() == 1) {
    return Condemn(seat.process, process, seat.lane, *end, true, now);
  }
  Leave(seat.process, process, seat.lane, *end, true, now);
}

// What was on its way: of a report that was told before, or of one that waited for it.
void WorkerCore::TellKept(Running& running, const KeptCheckpoint& kept) {
  const AttemptRef& ref = running.start.ref;
  if (HasCopies(ref)) Drop(cache_.Add(ref, kept.path, kept.copy));
  if (!running.on_its_way) {
    AttemptReport message = *std::exchange(running.keeping, std::nullopt);
    message.report.checkpoint.path = kept.path;
    return SendReport(running, std::move(message));
  }
  CheckpointDurable message = *std::exchange(running.on_its_way, std::nullopt);
  message.checkpoint.path = kept.path;
  if (!options_.is_local) running.told_durable.push_back({message, running.sequence});
  Tell(std::move(message));
}

// Nobody is there any more who would say it again.
void WorkerCore::RememberTold(Running& running) {
  const AttemptRef& ref = running.start.ref;
  if (const auto report = std::exchange(running.unanswered, std::nullopt)) {
    unacknowledged_.push_back({*report, ref, std::nullopt});
  }
  for (auto& told : std::exchange(running.told_durable, {})) {
    unacknowledged_.push_back({std::move(told.message), ref, std::nullopt});
  }
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
  waits_.erase(ref);
  if (const auto found = lingering_.find(ref); found != lingering_.end()) {
    StartAttempt start = std::move(found->second.running.start);
    lingering_.erase(found);
    effects_.push_back(GiveUpCheckpoints{ref});
    Finish(std::move(start), {Outcome::kPreempted, "", EndDetail::kNone});
    return ExitIfDone();
  }
  const auto found = running_.find(ref);
  if (found == running_.end() || !At(found->second).is_keeping()) return;
  At(found->second).ForgetSaved();
  effects_.push_back(GiveUpCheckpoints{ref});
}

// ---- what is gone on from

void WorkerCore::OnCheckpointObtained(const AttemptRef& ref, const Result<CheckpointCopy>& copy,
                                      Instant now) {
  if (has_exited_) return;
  waits_.erase(ref);
  const auto found = running_.find(ref);
  if (found == running_.end()) return;
  const Seat seat = found->second;
  Process& process = processes_.at(seat.process);
  Running& running = At(seat);
  if (!std::exchange(running.awaits_checkpoint, false)) return;
  if (!copy.ok()) {
    const std::optional<TrialEnd> end = EndForUnobtained(copy.status(), now);
    if (end && !process.is_doomed) EndRunning(seat.process, process, seat.lane, *end, now);
    return;
  }
  const std::string& path = running.start.checkpoint_path;
  if (HasCopies(ref) && !path.empty()) Drop(cache_.Use(ref, path, *copy));
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
      return TrialEnd{Outcome::kCrashed, "cannot go on from a checkpoint: " + status.message(),
                      EndDetail::kBadCheckpoint};
    case StatusCode::kInvalidArgument:  // It may be good, and is not one that can be sent.
      return Crash("cannot have a checkpoint: " + status.message());
    case StatusCode::kResourceExhausted:
      if (!options_.is_local) break;
      return TrialEnd{Outcome::kCrashed, "cannot have a checkpoint: " + status.message(),
                      EndDetail::kDiskFull};
    default:
      if (!options_.is_local) break;
      return Crash("cannot have a checkpoint: " + status.message());
  }
  LeaveUnfit("this worker cannot have a checkpoint: " + status.message(), now);
  return std::nullopt;
}

// ---- a store that is away

void WorkerCore::OnCheckpointWaits(const AttemptRef& ref, const std::string& why, Instant now) {
  // What was given up may still be told of.
  bool is_awaited = false;
  if (const auto left = lingering_.find(ref); left != lingering_.end()) {
    is_awaited = left->second.running.is_keeping();
  } else if (const auto found = running_.find(ref); found != running_.end()) {
    is_awaited = At(found->second).is_keeping() || At(found->second).awaits_checkpoint;
  }
  if (has_exited_ || !is_awaited) return;
  const bool was_waiting = !waits_.empty();
  if (why.empty()) {
    waits_.erase(ref);
  } else {
    waits_[ref] = CutError(why);
  }
  if (!was_waiting && !waits_.empty()) {
    const bool go_on = SweepOf(ref).info.has_async_checkpoints;
    Say(std::string("checkpoints wait, trials go on") + (go_on ? ": " : " up to their next one: ") +
        waits_.begin()->second);
  } else if (was_waiting && waits_.empty()) {
    Say("checkpoints are kept again");
  }
  // Those that were told to end when the store still took things.
  for (auto& [other, lingering] : lingering_) {
    if (lingering.running.kept_by) LimitKeeping(lingering.running, now);
  }
}

// It was told to end: what it has saved is still kept, for a while (as long as a worker that leaves
// has time); for a shorter one where the store is away.
void WorkerCore::LimitKeeping(Running& running, Instant now) const {
  if (!IsInBucket(running.start.ref)) return;
  const bool is_away = waits_.contains(running.start.ref);
  Instant by = now + Milliseconds(is_away ? limits::kKillGraceMs : limits::kUploadGraceMs);
  if (!is_away && leave_by_) by = *leave_by_;
  running.kept_by = running.kept_by ? std::min(*running.kept_by, by) : by;
}

void WorkerCore::GiveUpLate(Instant now) {
  std::vector<AttemptRef> late;
  for (const auto& [ref, left] : lingering_) {
    const Running& running = left.running;
    if (running.is_keeping() && running.kept_by && now >= *running.kept_by) late.push_back(ref);
  }
  for (const AttemptRef& ref : late) {
    Lingering left = std::move(lingering_.at(ref));
    lingering_.erase(ref);
    waits_.erase(ref);
    // An end that follows a report which was never told would be of another attempt.
    if (left.running.keeping || left.end.outcome == Outcome::kPreempted) {
      left.end = {Outcome::kPreempted, "its last checkpoint did not get to the object store",
                  EndDetail::kNone};
    }
    left.running.ForgetSaved();
    effects_.push_back(GiveUpCheckpoints{ref});
    EndOnceLogged({}, std::move(left.running), std::move(left.end));
  }
  if (!late.empty()) ExitIfDone();
}

}  // namespace tune
