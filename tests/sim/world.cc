#include "tests/sim/world.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "tests/sim/commit_log.h"
#include "tests/sim/database_checker.h"
#include "tests/sim/environment.h"
#include "tests/sim/fault_vfs.h"
#include "tests/sim/simulated_bucket.h"
#include "tests/sim/simulated_network.h"
#include "tests/sim/simulated_tuner.h"
#include "tests/sim/simulated_worker.h"
#include "tuner/spec_reader.h"

namespace tune::sim {
namespace {

constexpr Instant kStart{1'700'000'000'000'000};
constexpr int64_t kHappeningsMax = 5'000'000;

// A database with its tables and nothing in it, made once by the production code.
const std::string& EmptyDatabase() {
  static const std::string bytes = [] {
    SimulatedDisk disk;
    FaultVfs vfs(disk, 0);
    auto store = SqliteStore::Open(kDatabasePath, Access::kCreate, kStart, vfs.name());
    TUNE_CHECK(store.ok());
    store->reset();
    return disk.Find(kDatabasePath)->cached;
  }();
  return bytes;
}

ResourceRequest RequestOf(const Swarm& swarm) {
  const Result<Value> document = ParseJson(swarm.spec);
  TUNE_CHECK(document.ok());
  const Result<ExperimentSpec> spec = InterpretSpec(*document, "space.yaml", "/sim", true);
  if (!spec.ok()) CheckFailed(__FILE__, __LINE__, spec.status().message().c_str());
  return spec->resources;
}

// A scheduler that leaves nobody paused once no trial follows: each of a rung goes on or is
// stopped.
bool DecidesOnAllItPauses(const std::string& spec) {
  const Result<Value> document = ParseJson(spec);
  TUNE_CHECK(document.ok());
  const Value* const scheduler = document->Find("scheduler");
  if (scheduler == nullptr || !scheduler->is_map()) return false;
  const Value* const pbt = scheduler->Find("pbt");
  const Value* const is_synchronous = pbt != nullptr ? pbt->Find("synch") : nullptr;
  return scheduler->Find("hyperband") != nullptr ||
         (is_synchronous != nullptr && *is_synchronous == Value(true));
}

class World {
 public:
  World(const Swarm& swarm, bool is_verbose)
      : swarm_(swarm),
        happenings_(kStart),
        trace_(happenings_, is_verbose),
        environment_{swarm_, happenings_, trace_, disk_},
        vfs_((EmptyDatabase(), disk_), swarm.seed),
        network_(environment_),
        log_(environment_),
        tuner_(environment_, network_, vfs_, log_),
        random_(swarm.seed, "faults") {
    environment_.depot = &tuner_;
    environment_.is_leased = [this](TrialNumber trial, AttemptNumber attempt) {
      return log_.IsLeased(trial, attempt);
    };
    const ResourceRequest request = RequestOf(swarm);
    for (size_t i = 0; i < swarm.machines.size(); ++i) {
      workers_.push_back({std::make_unique<SimulatedWorker>(
          environment_, network_, static_cast<int64_t>(i), swarm.machines[i], request)});
    }
    vfs_.set_name_follows_sync(swarm.name_follows_sync);
    vfs_.set_lying(swarm.planted == PlantedFault::kSyncSkipped);
    if (!swarm.begins_empty) {
      const SimulatedDisk::FilePtr file = disk_.FindOrMake(kDatabasePath);
      SimulatedDisk::Write(*file, 0, EmptyDatabase());
      SimulatedDisk::Sync(*file);
      disk_.SyncFolderOf(kDatabasePath);
    }
  }

  RunResult Run() {
    StartFaults();
    happenings_.At(kStart + swarm_.fault_time, [this] { EndFaults(); });
    const Instant bound = kStart + swarm_.fault_time + swarm_.liveness_bound;
    while (!trace_.has_failed() && !is_over_) {
      Keep();
      if (is_over_) break;
      if (happenings_.is_empty()) {
        trace_.Fail("nothing happens any more, and the sweep is not at its end");
      } else if (happenings_.next_time() > bound) {
        trace_.Fail("the sweep does not come to its end: " + DescribeTrials());
      } else if (happenings_.count() > kHappeningsMax) {
        trace_.Fail("the sweep turns in circles: " + DescribeTrials());
      } else {
        happenings_.RunNext();
      }
    }
    if (!trace_.has_failed()) WindDown();
    if (!trace_.has_failed()) CheckEnd();
    return Result();
  }

 private:
  struct Station {
    std::unique_ptr<SimulatedWorker> worker;
    bool is_start_scheduled = false;
  };

  // ---- keeping things alive

  // Whoever is down is started again after a while: workers by their keepers, the tuner by its
  // user.
  void Keep() {
    for (Station& station : workers_) {
      SimulatedWorker& worker = *station.worker;
      if (worker.is_alive()) {
        if (worker.is_local() && !tuner_.is_alive()) worker.Kill();
        continue;
      }
      if (station.is_start_scheduled || (worker.is_local() && !tuner_.is_alive())) continue;
      station.is_start_scheduled = true;
      happenings_.After(Pause(worker.is_local() ? 0.01 : 1.0), [this, &station] {
        station.is_start_scheduled = false;
        if (station.worker->is_local() && !tuner_.is_alive()) return;
        if (!is_over_) station.worker->Start();
      });
    }
    if (tuner_.is_alive() || is_tuner_start_scheduled_) return;
    const bool has_ended =
        tuner_.ended_as() && *tuner_.ended_as() != ExperimentStatus::kInterrupted;
    if (has_ended && !ShallExtend()) {
      is_over_ = true;
      return;
    }
    is_tuner_start_scheduled_ = true;
    const double wait_s = swarm_.fault_time.seconds() * 0.05 + 0.02;
    const Duration wait = is_first_start_ ? Duration{} : Pause(wait_s);
    happenings_.After(std::max(wait, std::exchange(down_for_, {})), [this] {
      is_tuner_start_scheduled_ = false;
      is_first_start_ = false;
      ++tuner_lives_;
      const bool extends = ShallExtend();
      const Status status =
          tuner_.Start(extends ? std::optional<int64_t>(swarm_.extend_to) : std::nullopt);
      if (!environment_.are_faults_on) UnpauseAll();
      // A disk that is whole and has room lets the sweep go on.
      const bool has_cause = environment_.are_faults_on || tuner_.ended_as().has_value();
      if (!status.ok() && !has_cause) {
        trace_.Fail("the sweep cannot be resumed: " + status.message());
      }
    });
  }

  // The user asks for more at the first resume that there is.
  bool ShallExtend() const {
    return swarm_.extend_to > 0 && !is_first_start_ && log_.experiment() &&
           log_.experiment_row().samples < swarm_.extend_to;
  }

  Duration Pause(double mean_s) { return Seconds(mean_s * random_.NextUniform(0.1, 2.0)); }

  // ---- faults

  void StartFaults() {
    for (const ScriptedFault& fault : swarm_.script) {
      happenings_.At(kStart + fault.at, [this, fault] { Do(fault); });
    }
    const FaultRates& rates = swarm_.faults;
    for (const auto& [mean, kind] :
         {std::pair(rates.tuner_kill, FaultKind::kTunerKill),
          std::pair(rates.tuner_kill_commit, FaultKind::kTunerKillAtCall),
          std::pair(rates.power_loss, FaultKind::kPowerLoss),
          std::pair(rates.disk_full, FaultKind::kDiskFull),
          std::pair(rates.disk_error, FaultKind::kDiskError),
          std::pair(rates.interrupt, FaultKind::kInterrupt),
          std::pair(rates.worker_kill, FaultKind::kWorkerKill),
          std::pair(rates.worker_term, FaultKind::kWorkerTerminate),
          std::pair(rates.worker_stop, FaultKind::kWorkerStop),
          std::pair(rates.cut, FaultKind::kCut), std::pair(rates.stall, FaultKind::kStall),
          std::pair(rates.partition, FaultKind::kPartition),
          std::pair(rates.tuner_stop, FaultKind::kTunerStop),
          std::pair(rates.corruption, FaultKind::kCorruption),
          std::pair(rates.device_loss, FaultKind::kDeviceLoss),
          std::pair(rates.machine_disk_full, FaultKind::kMachineDiskFull),
          std::pair(rates.store_away, FaultKind::kStoreAway),
          std::pair(rates.command, FaultKind::kCommand)}) {
      Repeat(mean, [this, kind = kind] { Do(DrawFault(kind)); });
    }
  }

  // At times that are independent of each other (exponential), until the faults end.
  void Repeat(Duration mean, Happenings::Act act) {
    if (mean.us == 0) return;
    const Duration wait = Seconds(-mean.seconds() * std::log(1 - random_.NextDouble()));
    if (happenings_.now() + wait >= kStart + swarm_.fault_time) return;
    happenings_.After(wait, [this, mean, act = std::move(act)] {
      act();
      Repeat(mean, act);
    });
  }

  ScriptedFault DrawFault(FaultKind kind) {
    ScriptedFault fault;
    fault.kind = kind;
    fault.machine = random_.NextBelow(workers_.size());
    fault.calls = 1 + static_cast<int64_t>(random_.NextBelow(40));
    fault.lasts = Pause(FaultSpan());
    switch (kind) {
      case FaultKind::kTunerKill:
        fault.lasts = {};
        break;
      case FaultKind::kTunerKillAtCall:
        if (random_.NextBelow(3) == 0) {
          fault.kind = FaultKind::kTunerKillAfterCommit;
        } else if (swarm_.faults.power_loss.us > 0 && random_.NextBelow(2) == 0) {
          fault.kind = FaultKind::kPowerLossAtCall;
        }
        break;
      case FaultKind::kDiskFull:
      case FaultKind::kMachineDiskFull:
        fault.lasts = Pause(swarm_.fault_time.seconds() * 0.05);
        break;
      case FaultKind::kInterrupt:
        if (random_.NextBelow(3) == 0) fault.kind = FaultKind::kInterruptTwice;
        break;
      default:
        break;
    }
    return fault;
  }

  void Do(const ScriptedFault& fault) {
    SimulatedWorker& worker = *workers_[fault.machine].worker;
    const std::optional<ConnectionId> connection = worker.connection();
    switch (fault.kind) {
      case FaultKind::kTunerKill:
        down_for_ = fault.lasts;
        return tuner_.Kill(false);
      case FaultKind::kTunerKillAtCall:
        return tuner_.KillInCommit(fault.calls);
      case FaultKind::kTunerKillAfterCommit:
        return tuner_.KillAfterCommit();
      case FaultKind::kPowerLoss:
        return tuner_.Kill(true);
      case FaultKind::kPowerLossAtCall:
        tuner_.set_loses_power_next(true);
        return tuner_.KillInCommit(fault.calls);
      case FaultKind::kDiskFull:
        SetFull(true);
        return happenings_.After(fault.lasts, [this] { SetFull(false); });
      case FaultKind::kMachineDiskFull:
        worker.FillDisk(true);
        return happenings_.After(fault.lasts, [&worker] { worker.FillDisk(false); });
      case FaultKind::kDiskError:
        return vfs_.FailAtCall(fault.calls);
      case FaultKind::kInterrupt:
        return tuner_.Interrupt();
      case FaultKind::kInterruptTwice:
        tuner_.Interrupt();
        return happenings_.After(Pause(0.05), [this] { tuner_.Kill(false); });
      case FaultKind::kWorkerKill:
        return worker.Kill();
      case FaultKind::kWorkerTerminate:
        return worker.Terminate();
      case FaultKind::kWorkerStop:
        worker.Stop();
        return happenings_.After(fault.lasts, [&worker] { worker.Continue(); });
      case FaultKind::kCut:
        return Cut();
      case FaultKind::kStall:
        if (!connection) return;
        trace_.Note("stall", {connection->value, fault.calls % 3});
        return network_.Stall(*connection, fault.calls % 3 != 1, fault.calls % 3 != 2, fault.lasts);
      case FaultKind::kPartition:
        if (worker.is_local()) return;
        trace_.Note("partition", {static_cast<int64_t>(fault.machine), fault.lasts.us});
        return network_.Partition(worker, fault.lasts);
      case FaultKind::kTunerStop:
        return tuner_.Stop(fault.lasts);
      case FaultKind::kCorruption:
        return CorruptCheckpoint();
      case FaultKind::kCommand:
        return GiveCommand();
      case FaultKind::kDeviceLoss:
        return worker.LoseDevice(fault.calls);
      case FaultKind::kStoreAway:
        SetStoreAway(true);
        return happenings_.After(fault.lasts, [this] { SetStoreAway(false); });
    }
  }

  void SetStoreAway(bool is_away) {
    trace_.Note(is_away ? "object store away" : "object store there");
    environment_.is_store_away = is_away;
  }

  void SetFull(bool is_full) {
    trace_.Note(is_full ? "disk full" : "disk has room");
    vfs_.set_full(is_full);
    environment_.is_disk_full = is_full;
  }

  // The ends of a broken connection may learn of it at different times.
  void Cut() {
    const std::vector<ConnectionId> open = network_.Open();
    if (open.empty()) return;
    const ConnectionId id = open[random_.NextBelow(open.size())];
    trace_.Note("cut", {id.value});
    const Duration at_worker = random_.NextBelow(2) == 0 ? Duration{} : Pause(FaultSpan());
    const Duration at_tuner = random_.NextBelow(2) == 0 ? Duration{} : Pause(FaultSpan());
    network_.Cut(id, at_worker, at_tuner);
  }

  // Some faults last a while by the measure of the sweep, some by that of the lease.
  double FaultSpan() {
    if (random_.NextBelow(2) == 0) return swarm_.fault_time.seconds() * 0.1;
    return swarm_.lease.seconds() * random_.NextUniform(0.2, 2.0);
  }

  void CorruptCheckpoint() {
    const std::vector<std::string> paths = disk_.List(
        swarm_.has_bucket ? std::string(kBucketPrefix) + "/" : std::string(kArtifactsDir) + "/");
    if (paths.empty()) return;
    // The newest ones are at the end.
    const std::string& path = paths[paths.size() - 1 - random_.NextBelow(paths.size()) / 2];
    trace_.Note("corrupted", {}, path);
    environment_.corrupted.insert(path);
    disk_.Corrupt(path, 3);
  }

  // Somebody at another terminal.
  void GiveCommand() {
    std::optional<TrialNumber> trial;
    const auto count = static_cast<uint64_t>(log_.trials().size());
    if (count > 0 && random_.NextBelow(3) != 0) {
      trial = TrialNumber{static_cast<int64_t>(random_.NextBelow(count))};
    }
    const bool now = random_.NextBelow(2) == 0;
    switch (random_.NextBelow(8)) {
      case 0:
        return ChangeSettings(1 + static_cast<int64_t>(random_.NextBelow(8)));
      case 1:
        // Of the whole sweep but rarely: it would be its end.
        if (!trial && random_.NextBelow(8) != 0) return;
        return tuner_.Command(StopRequested{trial, now});
      case 2:
        return tuner_.Command(UnpauseRequested{trial});
      default:
        tuner_.Command(PauseRequested{trial, now});
        happenings_.After(Pause(swarm_.fault_time.seconds() * 0.1),
                          [this, trial] { tuner_.Command(UnpauseRequested{trial}); });
    }
  }

  void ChangeSettings(int64_t max_concurrent) {
    if (max_concurrent % 2 == 0) return tuner_.Command(MaxConcurrentChanged{max_concurrent});
    if (!tuner_.is_alive()) return;
    Value document = tuner_.document();
    const Status set =
        ApplyOverride("limits.max_concurrent=" + std::to_string(max_concurrent), document);
    TUNE_CHECK(set.ok());
    tuner_.Command(SettingsChanged{ToJson(document)});
  }

  // Phase two: nothing stays paused.
  void UnpauseAll() {
    tuner_.Command(UnpauseRequested{});
    for (const auto& [number, row] : log_.trials()) tuner_.Command(UnpauseRequested{number});
  }

  void EndFaults() {
    trace_.Note("faults end");
    environment_.are_faults_on = false;
    SetFull(false);
    environment_.is_store_away = false;
    vfs_.ClearFailure();
    network_.HealAll();
    for (Station& station : workers_) {
      station.worker->Continue();
      station.worker->FillDisk(false);
      if (station.worker->is_alive()) station.worker->EndHungTrials();
      // Somebody sees to the device and starts the worker anew.
      if (station.worker->has_lost_devices()) station.worker->Kill();
    }
    UnpauseAll();
  }

  // ---- the end

  // Workers and their trials end when the sweep has.
  void WindDown() {
    const Instant bound = happenings_.now() + Seconds(120);
    const auto is_anyone_left = [this] {
      return std::any_of(workers_.begin(), workers_.end(),
                         [](const Station& s) { return s.worker->is_alive(); });
    };
    for (Station& station : workers_) {
      station.worker->Continue();
      if (station.worker->is_local()) station.worker->Kill();
    }
    network_.HealAll();
    while (is_anyone_left() && !happenings_.is_empty() && happenings_.next_time() <= bound) {
      happenings_.RunNext();
    }
    if (is_anyone_left()) trace_.Fail("a worker is left after the end of the sweep");
  }

  void CheckEnd() {
    vfs_.Revive();
    tuner_.CheckDatabase();
    const Status status = Recompute(log_);
    if (!status.ok()) trace_.Fail(status.message());
    const bool is_stopped = tuner_.ended_as() == ExperimentStatus::kStopped;
    const bool decides_all = DecidesOnAllItPauses(swarm_.spec);
    for (const auto& [number, row] : log_.trials()) {
      const bool is_over =
          row.status == TrialStatus::kTerminated || row.status == TrialStatus::kError;
      // What the scheduler paused may wait for an extension.
      if (!is_over && !is_stopped && (decides_all || !log_.IsHeld(number))) {
        trace_.Fail("the sweep is FINISHED, but trial " + std::to_string(number.value) +
                    " is not over");
      }
    }
  }

  std::string DescribeTrials() const {
    std::string text;
    for (const auto& [number, row] : log_.trials()) {
      if (row.status == TrialStatus::kTerminated || row.status == TrialStatus::kError) continue;
      text += " trial " + std::to_string(number.value) + " is " + TrialStatusName(row.status) +
              " at " + std::to_string(row.iterations) + ";";
    }
    return text.empty() ? "no trial is open" : text;
  }

  RunResult Result() {
    RunResult result;
    for (const auto& [number, row] : log_.trials()) {
      result.table[number] = std::string(TrialStatusName(row.status)) + " " +
                             StopReasonName(row.stop_reason) + " " +
                             std::to_string(row.iterations) + " last " +
                             (row.last_value ? ToJson(Value(*row.last_value)) : "none") + " best " +
                             (row.best_value ? ToJson(Value(*row.best_value)) : "none") + " at " +
                             std::to_string(row.best_iteration.value_or(0));
      const auto configuration = log_.configurations().find(number);
      if (configuration != log_.configurations().end()) {
        result.table[number] += " " + ToJson(configuration->second.ToFlat());
      }
      trace_.Fold("trial", {number.value}, result.table[number]);
    }
    result.finding = trace_.finding();
    result.hash = trace_.hash();
    result.event_count = log_.event_count();
    result.commit_count = log_.last_step();
    result.happening_count = happenings_.count();
    result.tuner_lives = tuner_lives_;
    result.coverage = log_.coverage();
    return result;
  }

  const Swarm swarm_;
  Happenings happenings_;
  Trace trace_;
  SimulatedDisk disk_;
  Environment environment_;
  FaultVfs vfs_;
  SimulatedNetwork network_;
  CommitLog log_;
  SimulatedTuner tuner_;
  KeyedRandom random_;
  std::vector<Station> workers_;
  bool is_tuner_start_scheduled_ = false;
  bool is_first_start_ = true;
  bool is_over_ = false;
  Duration down_for_;  // The user takes so long to resume.
  int64_t tuner_lives_ = 0;
};

std::string Difference(const std::map<TrialNumber, std::string>& a,
                       const std::map<TrialNumber, std::string>& b) {
  for (const auto& [number, line] : a) {
    const auto other = b.find(number);
    if (other != b.end() && other->second == line) continue;
    return "trial " + std::to_string(number.value) + " ended as " + line +
           ", undisturbed it ends as " + (other == b.end() ? "none" : other->second);
  }
  return a.size() == b.size() ? "" : "there are trials too few";
}

}  // namespace

RunResult Run(const Swarm& swarm, bool is_verbose) { return World(swarm, is_verbose).Run(); }

RunResult RunSeed(const Swarm& swarm, bool is_twice, bool is_verbose) {
  RunResult result = Run(swarm, is_verbose);
  if (!result.finding.empty()) return result;
  if (is_twice) {
    const RunResult again = Run(swarm);
    if (again.hash != result.hash) result.finding = "the same seed gave another trace";
  }
  if (swarm.is_order_free && swarm.planted == PlantedFault::kNone) {
    const RunResult undisturbed = Run(Undisturbed(swarm));
    if (!undisturbed.finding.empty()) {
      result.finding = "undisturbed: " + undisturbed.finding;
    } else if (const std::string found = Difference(result.table, undisturbed.table);
               !found.empty()) {
      result.finding = found;
    }
  }
  return result;
}

}  // namespace tune::sim
