// How the worker begins an attempt: in which process, and in which folder.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {
namespace {

// Of each attempt, and of each rank but the first; `folder`: its trial's, on this machine.
std::string LogPath(const StartAttempt& start, const std::string& folder) {
  if (folder.empty()) return "";
  return folder + "/" + AttemptLogName(start.ref.attempt, start.rank);
}

// Where the first rank's program is to listen: the port is this attempt's as long as it runs, so
// that no rank of another sweep comes to its meeting. Where it is somebody's, the next attempt has
// another one.
Result<std::shared_ptr<const void>> ClaimPort(const StartAttempt& start, std::string_view program,
                                              const WorkerCore::Options& options) {
  const int64_t port = start.group.master_port;
  const bool listens =
      start.world_size > 1 && start.rank == 0 && port != 0 && RunsUserPrograms(program);
  if (!listens || !options.claim_port) return std::shared_ptr<const void>();
  Result<std::shared_ptr<const void>> claim = options.claim_port(port);
  if (claim.ok()) return claim;
  return FailedPrecondition("its ranks cannot meet: port " + std::to_string(port) +
                            " of this machine (MASTER_PORT) " + claim.status().message() +
                            "; the next attempt gets another port");
}

}  // namespace

// Of those of its attempt that this worker runs; null: this is it, or it is not known (any more).
const WorkerCore::Seat* WorkerCore::FirstRankHere(const StartAttempt& start) const {
  if (start.group.local_rank == 0) return nullptr;
  for (const auto& [ref, seat] : running_) {
    const StartAttempt& other = processes_.at(seat.process).running.at(seat.lane).start;
    const bool is_of_attempt = other.ref.sweep == start.ref.sweep &&
                               other.ref.trial == start.ref.trial &&
                               other.ref.attempt == start.ref.attempt;
    if (is_of_attempt && other.group.local_rank == 0) return &seat;
  }
  return nullptr;
}

// What the first of them here went on from is here for the others, too: they had waited for it.
void WorkerCore::BeginRanksBehind(const StartAttempt& first) {
  if (first.group.local_world_size == 1 || first.group.local_rank != 0) return;
  for (auto& [id, process] : processes_) {
    for (const auto& [lane, running] : process.running) {
      const bool waits = running.is_held_back && !process.is_doomed &&
                         running.start.ref.sweep == first.ref.sweep &&
                         running.start.ref.trial == first.ref.trial &&
                         running.start.ref.attempt == first.ref.attempt;
      if (waits) BeginOnceRestored(id, process, lane);
    }
  }
}

void WorkerCore::StartNow(StartAttempt start) {
  const AttemptRef ref = start.ref;
  const auto sweep = sweeps_.find(ref.sweep);
  const Status known = sweep == sweeps_.end()
                           ? FailedPrecondition("the tuner has not said what its sweep is")
                       : start.config.find('\n') != std::string::npos
                           ? InvalidArgument("the configuration is not one line of JSON")
                           : sweep->second.program.status();
  if (!known.ok()) {
    EndAttempt(ref, {Outcome::kBadConfig, known.message(), EndDetail::kNone});
    Vacate(start.cpu_milli, std::move(start.slices));
    return;
  }
  std::optional<std::string> loss = LossUnder(start.slices);
  Result<std::shared_ptr<const void>> port = ClaimPort(start, *sweep->second.program, options_);
  if (!loss && !port.ok()) loss = port.status().message();
  if (loss) {
    EndAttempt(ref, {Outcome::kLost, *loss, EndDetail::kNone});
    Vacate(start.cpu_milli, std::move(start.slices));
    return;
  }
  sweep->second.LearnInputs(start.config);
  const Fusion fusion = FusionFor(start);
  const ProcessId id = ProcessFor(start, fusion);
  Process& process = processes_.at(id);
  DeviceEnvironment devices = DevicesOf(start, fusion);
  process.sweep = ref.sweep;
  process.devices = devices;
  const int64_t others_max = process.running.empty() ? fusion.lanes_max : process.fusion.lanes_max;
  process.fusion = fusion;
  process.fusion.lanes_max = std::min(fusion.lanes_max, others_max);
  const int64_t lane = fusion.lanes_max > 1 ? ++process.last_lane : 0;
  Running& running = process.running[lane];
  running.start = std::move(start);
  running.port = *std::move(port);
  running.devices = std::move(devices);
  running_.emplace(ref, Seat{id, lane});
  ++running_count_;
  running.is_held_back = true;
  if (KnowsPlace(sweep->second)) return BeginOnceRestored(id, process, lane);
  AskForPlace(running.start);
  if (KnowsPlace(sweep->second)) BeginOnceRestored(id, process, lane);
}

Fusion WorkerCore::FusionFor(const StartAttempt& start) const {
  const SweepHere& sweep = SweepOf(start.ref);
  const bool is_alone = sweep.loners.contains(start.ref.trial) || start.world_size > 1;
  if (is_alone || !MayFuse(sweep.trainable)) return {};
  const Result<Value> config = ParseJson(start.config);
  if (!config.ok()) return {};
  int64_t gpu_milli = 0;
  for (const DeviceSlice& slice : start.slices) gpu_milli += slice.milli;
  Fusion fusion = FusionOf(sweep.trainable, *config, gpu_milli);
  if (start.lanes_max > 0) fusion.lanes_max = std::min(fusion.lanes_max, start.lanes_max);
  return fusion;
}

// A local worker shares its tuner's disk, which may not be that of who submitted the sweep.
bool WorkerCore::KnowsPlace(const SweepHere& sweep) const {
  const bool has_tuners_folder = options_.is_local && !sweep.info.is_elsewhere;
  const bool is_known = has_tuners_folder && sweep.info.bucket.empty() && sweep.inputs.empty();
  return sweep.HasPlace() || is_known;
}

void WorkerCore::AskForPlace(const StartAttempt& start) {
  SweepHere& sweep = sweeps_.at(start.ref.sweep);
  if (sweep.wanted) return;
  std::string artifacts = start.artifact_dir.substr(0, start.artifact_dir.rfind('/'));
  const bool has_tuners_folder = options_.is_local && !sweep.info.is_elsewhere;
  if (has_tuners_folder && sweep.inputs.empty()) {
    sweep.wanted = WantedPlace{{}, sweep.working_folder, artifacts, false, sweep.info.bucket};
    sweep.Settle({{"", sweep.info.package.sha256, options_.cache},
                  std::move(artifacts),
                  CheckpointStorage::kSharedFolder,
                  sweep.info.bucket});
    effects_.push_back(SettleSweep{start.ref.sweep, *sweep.found});
    return;
  }
  sweep.wanted =
      WantedPlace{sweep.info.package,           sweep.working_folder, std::move(artifacts),
                  sweep.info.is_elsewhere,      sweep.info.bucket,    options_.is_local,
                  sweep.info.lends_credentials, sweep.inputs};
  if (sweep.info.is_elsewhere)
    sweep.wanted->whose = sweep.wanted->artifacts + " " + std::to_string(sweep.info.seed);
  effects_.push_back(FindPlace{start.ref.sweep, *sweep.wanted});
}

// What it goes on from has to be here: its checkpoint, and what its program left in its folder.
void WorkerCore::BeginOnceRestored(ProcessId id, Process& process, int64_t lane) {
  Running& running = process.running.at(lane);
  const AttemptRef& ref = running.start.ref;
  const std::string& path = running.start.checkpoint_path;
  const bool wants_files =
      HasOwnArtifacts(ref) && ref.attempt.value > 1 && running.start.group.local_rank == 0;
  const bool is_here = options_.is_local && !IsInBucket(ref);
  const bool needs_nothing = is_here || (path.empty() && !wants_files);
  const Seat* const first = FirstRankHere(running.start);
  if (first != nullptr && At(*first).is_held_back) return;
  if (needs_nothing || running.restored) {
    BeginAttempt(id, process, lane);
    return BeginRanksBehind(running.start);
  }
  if (std::exchange(running.awaits_checkpoint, true)) return;
  ObtainCheckpoint obtain{ref, path, {}};
  if (!path.empty()) obtain.copy = cache_.Hold(ref, path);
  if (wants_files) {
    obtain.files_path = running.start.artifact_dir;
    obtain.files_folder = SweepOf(ref).FolderHere(obtain.files_path);
    obtain.log_path = LogPath(running.start, obtain.files_folder);
  }
  effects_.push_back(std::move(obtain));
}

void WorkerCore::BeginAttempt(ProcessId id, Process& process, int64_t lane) {
  Running& running = process.running.at(lane);
  running.is_held_back = false;
  StartAttempt start = running.start;
  Say(Named(start.ref) + " begins" +
      (start.ref.attempt.value > 1 ? ", attempt " + std::to_string(start.ref.attempt.value) : "") +
      (start.from_iteration > 0 ? ", from iteration " + std::to_string(start.from_iteration) : "") +
      (start.world_size > 1 ? ", rank " + std::to_string(start.rank) : ""));
  const SweepHere& sweep = SweepOf(start.ref);
  WorkPlace place{"", sweep.info.package.sha256, options_.cache};
  if (sweep.found) place = sweep.found->place;
  start.artifact_dir = sweep.FolderHere(start.artifact_dir);
  if (running.restored) start.checkpoint_path = *running.restored;
  if (start.is_spread) place.address = options_.address;
  place.has_own_artifacts = HasOwnArtifacts(start.ref);
  if (start.group.master_address.empty()) start.group.master_address = place.address;
  running.log_path = LogPath(start, start.artifact_dir);
  ChooseLogs(id, process);
  if (SendsLog(running)) {
    effects_.push_back(SendLog{id, start.ref, running.log_path, start.rank, /*is_last=*/false});
  }
  effects_.push_back(
      WriteToProcess{id, EncodeStart(sweep.info, start, running.devices, place, lane)});
}

// What a process prints is kept with each attempt that it runs.
void WorkerCore::ChooseLogs(ProcessId id, const Process& process) {
  KeepOutput logs{id, {}};
  for (const auto& [lane, running] : process.running) {
    if (!running.log_path.empty()) logs.paths.push_back(running.log_path);
  }
  effects_.push_back(std::move(logs));
}

bool WorkerCore::OnPlace(ExperimentId sweep_id, const WantedPlace& wanted,
                         const Result<FoundPlace>& found, Instant now) {
  if (has_exited_ || is_winding_down_) return false;
  const auto entry = sweeps_.find(sweep_id);
  if (entry == sweeps_.end() || entry->second.wanted != wanted) return false;
  if (!found.ok()) {
    place_waits_.erase(sweep_id);
    const std::string what =
        !wanted.inputs.empty() ? "this worker cannot have what its trials need: "
        : wanted.package.sha256.empty()
            ? "this worker has no folder for what its trials save: "
            : "this worker cannot have the working_dir " + wanted.folder + ": ";
    BeUnfit(sweep_id, what + found.status().message(), now);
    return true;
  }
  place_waits_.erase(sweep_id);
  entry->second.Settle(*found);
  for (auto& [id, process] : processes_) {
    if (process.sweep != sweep_id) continue;
    for (const auto& [lane, running] : process.running) {
      if (running.is_held_back && !process.is_doomed) BeginOnceRestored(id, process, lane);
    }
  }
  return true;
}

void WorkerCore::OnPlaceWaits(ExperimentId sweep, const std::string& why) {
  const auto here = sweeps_.find(sweep);
  if (has_exited_ || is_winding_down_ || here == sweeps_.end() || here->second.HasPlace()) return;
  place_waits_[sweep] = CutError(std::string(kDataWait) + why);
  Say(place_waits_[sweep]);
}

void WorkerCore::LeaveUnfit(const std::string& text, Instant now) {
  if (is_winding_down_) return;
  effects_.push_back(PrintLine{CutError(text)});
  for (auto& [id, process] : processes_) {
    if (process.running.empty()) continue;
    GiveBackAll(id, process, {Outcome::kPreempted, text, EndDetail::kNone}, true, now);
  }
  wind_status_ = 1;
  goodbye_ = Goodbye{CutError(text)};
  Wind(now);
}

void WorkerCore::BeUnfit(ExperimentId id, const std::string& text, Instant now, bool may_pass) {
  if (!IsOfHead()) return LeaveUnfit(text, now);
  SweepHere& sweep = sweeps_.at(id);
  if (is_winding_down_ || !sweep.unfit.empty()) return;
  sweep.unfit = CutError(text);
  sweep.was_unfit = true;
  if (may_pass) {
    sweep.pause = std::clamp(sweep.pause + sweep.pause, Milliseconds(limits::kTryAgainMs),
                             Milliseconds(limits::kTryAgainMsMax));
    sweep.tries_again = now + sweep.pause;
  }
  Complain(sweep.info.experiment + ": " + sweep.unfit);
  Tell(SweepUnfit{id, sweep.unfit});
  // First: what runs leaves its room to the queue's head.
  for (const StartAttempt& start : std::exchange(queue_, {})) {
    if (start.ref.sweep != id) {
      queue_.push_back(start);
    } else {
      EndAttempt(start.ref, {Outcome::kPreempted, text, EndDetail::kNone});
    }
  }
  for (auto& [process_id, process] : processes_) {
    if (process.sweep != id || process.running.empty()) continue;
    GiveBackAll(process_id, process, {Outcome::kPreempted, text, EndDetail::kNone}, true, now);
  }
}

void WorkerCore::TryAgain(ExperimentId id, SweepHere& sweep) {
  sweep.tries_again.reset();
  sweep.unfit.clear();
  if (!sweep.HasPlace()) sweep.wanted.reset();
  Tell(SweepUnfit{id, ""});
}

// One that runs what it fuses with; else an idle process of the sweep, or of none yet, that has
// seen these devices, or none yet; else a new one.
ProcessId WorkerCore::ProcessFor(const StartAttempt& start, const Fusion& fusion) {
  const DeviceEnvironment devices = DevicesOf(start, fusion);
  const auto takes_more = [](const Process& process) {
    return !process.is_doomed && !process.is_leaving && !process.is_spent;
  };
  const auto is_idle = [&](const Process& process) {
    return process.running.empty() && takes_more(process);
  };
  const SweepHere& sweep = SweepOf(start.ref);
  const std::string& program = *sweep.program;
  const auto is_of_sweep = [&](const Process& process) {
    return process.sweep ? process.sweep == start.ref.sweep : process.program == program;
  };
  const auto may_take_it = [&](const Process& process) {
    if (is_of_sweep(process)) return true;
    const auto before = process.sweep ? sweeps_.find(*process.sweep) : sweeps_.end();
    return before != sweeps_.end() && before->second.SharesProcesses() && sweep.SharesProcesses() &&
           process.program == program;
  };
  for (auto& [id, process] : processes_) {
    const auto count = static_cast<int64_t>(process.running.size());
    const bool fuses = count > 0 && takes_more(process) && is_of_sweep(process) &&
                       FitsInto(process.fusion, count, fusion) && process.devices &&
                       SeeTheSame(*process.devices, devices);
    if (fuses) return id;
  }
  for (auto& [id, process] : processes_) {
    const bool has_devices = !process.devices || *process.devices == devices;
    if (is_idle(process) && may_take_it(process) && has_devices) return id;
  }
  // An idle process that is bound to other devices, or of another sweep, makes room.
  for (auto& [id, process] : processes_) {
    if (!is_idle(process)) continue;
    process.is_doomed = true;
    effects_.push_back(SignalProcess{id, true});
    break;
  }
  return Spawn(program, ThreadsOf(start.cpu_milli), devices);
}

void WorkerCore::GiveUpIdle() {
  for (auto& [id, process] : processes_) {
    if (!process.running.empty() || process.is_doomed) continue;
    process.is_doomed = true;
    effects_.push_back(SignalProcess{id, true});
  }
}

ProcessId WorkerCore::Spawn(const std::string& program, int64_t threads,
                            DeviceEnvironment devices) {
  ++last_process_.value;
  processes_[last_process_].program = program;
  effects_.push_back(SpawnProcess{last_process_, program, threads, std::move(devices)});
  return last_process_;
}

}  // namespace tune
