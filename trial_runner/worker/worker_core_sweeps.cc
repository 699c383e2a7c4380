// The sweeps that a worker works for: those that it takes up, and those that are over for it.
#include <algorithm>

#include "trial_runner/placement.h"
#include "trial_runner/secrets.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {

void WorkerCore::On(const Welcome& message, Instant now) {
  next_heartbeat_ = now + Milliseconds(message.heartbeat_ms);
  if (!is_up_) {
    std::string names;
    for (const SweepInfo& info : message.sweeps)
      names += (names.empty() ? "" : ", ") + info.experiment;
    if (names.empty()) names = "a head";  // It has none yet.
    Say(reconnect_count_ > 0 ? "is connected again to " + names
                             : "joined " + names + " as " + options_.hello.name + ", with " +
                                   DescribeCapacity(options_.hello.capacity));
  }
  reconnect_count_ = 0;
  welcome_ = message;
  std::vector<ExperimentId> over;
  for (const auto& [id, sweep] : sweeps_) {
    const bool goes_on = std::any_of(message.sweeps.begin(), message.sweeps.end(),
                                     [id](const SweepInfo& info) { return info.sweep == id; });
    if (!goes_on) over.push_back(id);
  }
  for (const ExperimentId id : over) Forget(id, now);
  for (const SweepInfo& info : message.sweeps) TakeUp(info, now);
  if (!std::exchange(is_up_, true)) {
    for (const auto& [id, sweep] : sweeps_) {
      if (sweep.was_unfit) Tell(SweepUnfit{id, sweep.unfit});
    }
    SendAgain();
  }
  CheckVariables(now);
}

std::string WorkerCore::Named(const AttemptRef& ref) const {
  const std::string number = std::to_string(ref.trial.value);
  const auto sweep = sweeps_.find(ref.sweep);
  const bool are_several = IsOfHead() && sweep != sweeps_.end();
  return "trial " + (are_several ? sweep->second.info.experiment + "/" : "") + number;
}

void WorkerCore::On(const SweepInfo& message, Instant now) {
  TakeUp(message, now);
  CheckVariables(now);
}

void WorkerCore::On(const SweepOver& message, Instant now) {
  if (sweeps_.contains(message.sweep)) Forget(message.sweep, now);
}

void WorkerCore::CheckVariables(Instant now) {
  // A tuner of one sweep has looked at its own environment itself.
  const bool is_looked_at = options_.is_local && !IsOfHead();
  if (!options_.has_variable || is_looked_at) return;
  for (const auto& [id, sweep] : sweeps_) {
    for (const std::string& name : VariablesFromEnvironment(sweep.trainable)) {
      if (!options_.has_variable(name)) BeUnfit(id, DescribeMissingVariable(name), now, false);
    }
  }
}

// A tuner that came back may have other settings for the sweep: then its attempts begin again under
// those. What has ended by itself still counts.
void WorkerCore::TakeUp(const SweepInfo& info, Instant now) {
  std::vector<AttemptRef> lost;
  bool was_unfit = false;
  if (const auto known = sweeps_.find(info.sweep); known != sweeps_.end()) {
    SweepInfo with_its_package = known->second.info;
    with_its_package.package = info.package;
    if (with_its_package.experiment != info.experiment || with_its_package.seed != info.seed) {
      Forget(info.sweep, now);  // Another tuner's, of the same number.
    } else if (with_its_package != info) {
      was_unfit = known->second.was_unfit;
      lost = EndSweep(info.sweep, now);
    }
  }
  const auto [entry, is_new] = sweeps_.try_emplace(info.sweep, Understand(info));
  SweepHere& sweep = entry->second;
  // Not as preempted: the tuner would take it that the worker leaves.
  for (const AttemptRef& ref : lost) {
    EndAttempt(ref, {Outcome::kLost, "the sweep's settings were changed", EndDetail::kNone});
  }
  if (is_new) {
    sweep.was_unfit = was_unfit;  // Ends of that time may still have to be said.
    return GetReadyFor(sweep, now);
  }
  if (sweep.info.package == info.package) return;
  // Another content of the same sweep: what was held back for the old one begins in the new one.
  sweep.Change(info.package);
  for (const auto& [id, process] : processes_) {
    if (process.sweep != info.sweep) continue;
    for (const auto& [lane, running] : process.running) {
      if (running.is_held_back) AskForPlace(running.start);
    }
  }
}

// A process that runs nothing yet is for the first sweep that there is.
void WorkerCore::GetReadyFor(const SweepHere& sweep, Instant now) {
  if (!sweep.program.ok()) return;
  for (auto& [id, process] : processes_) {
    if (!process.sweep && process.program != *sweep.program) Doom(id, process, true, now);
  }
  const bool has_one = std::any_of(processes_.begin(), processes_.end(),
                                   [](const auto& entry) { return !entry.second.is_doomed; });
  if (!has_one) Spawn(*sweep.program, 0, {});
}

// What ran for it is over, and nothing is said of it.
void WorkerCore::Forget(ExperimentId sweep, Instant now) {
  std::erase_if(unacknowledged_,
                [sweep](const Unacknowledged& entry) { return entry.ref.sweep == sweep; });
  EndSweep(sweep, now);
}

// Ends what runs for it at once. Returns the attempts of which no end was said.
std::vector<AttemptRef> WorkerCore::EndSweep(ExperimentId sweep, Instant now) {
  const auto is_its = [sweep](const AttemptRef& ref) { return ref.sweep == sweep; };
  std::vector<AttemptRef> held;
  for (const auto& [ref, seat] : running_) {
    if (is_its(ref)) held.push_back(ref);
  }
  for (const auto& [ref, left] : lingering_) {
    if (is_its(ref)) held.push_back(ref);
  }
  for (const StartAttempt& start : queue_) {
    if (is_its(start.ref)) held.push_back(start.ref);
  }
  std::erase_if(waits_, [&](const auto& entry) { return is_its(entry.first); });
  std::erase_if(queue_, [&](const StartAttempt& start) { return is_its(start.ref); });
  running_count_ -= static_cast<int64_t>(
      std::erase_if(lingering_, [&](const auto& entry) { return is_its(entry.first); }));
  const auto here = sweeps_.find(sweep);
  const bool may_stay = here != sweeps_.end() && here->second.SharesProcesses();
  for (auto& [id, process] : processes_) {
    if (process.sweep != sweep) continue;
    if (may_stay && process.running.empty() && !process.is_doomed) {
      process.sweep.reset();  // The next one's.
      continue;
    }
    for (const auto& [lane, running] : process.running) {
      running_.erase(running.start.ref);
      --running_count_;
    }
    process.running.clear();
    Doom(id, process, true, now);
  }
  cache_.Forget(sweep);
  place_waits_.erase(sweep);
  sweeps_.erase(sweep);
  effects_.push_back(LeaveSweep{sweep});
  return held;
}

}  // namespace tune
