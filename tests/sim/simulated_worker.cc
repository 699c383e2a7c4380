#include "tests/sim/simulated_worker.h"

#include <algorithm>
#include <utility>

#include "tests/sim/describe.h"
#include "trial_runner/wire/codec.h"

namespace tune::sim {
namespace {

constexpr Duration kPipeDelay{20};

std::string OwnArtifacts(int64_t index) {
  return "/machine" + std::to_string(index) + "/artifacts";
}

}  // namespace

SimulatedWorker::SimulatedWorker(Environment& environment, SimulatedNetwork& network, int64_t index,
                                 const Machine& machine, const ResourceRequest& request)
    : environment_(environment),
      network_(network),
      index_(index),
      machine_(machine),
      request_(request),
      clock_(environment.happenings, machine.clock_offset),
      random_(environment.swarm.seed, "worker", static_cast<uint64_t>(index)),
      carrier_(environment, own_disk_, OwnArtifacts(index),
               KeyedRandom(environment.swarm.seed, "carrier", static_cast<uint64_t>(index)),
               ForCarrier()),
      bucket_(environment, disk(),
              KeyedRandom(environment.swarm.seed, "bucket", static_cast<uint64_t>(index)),
              ForBucket()) {}

std::string SimulatedWorker::Session() const {
  return "session " + std::to_string(index_) + "/" + std::to_string(life_);
}

SimulatedCarrier::Worker SimulatedWorker::ForCarrier() {
  SimulatedCarrier::Worker worker;
  worker.when_awake = [this](Happenings::Act act) { WhenAwake(std::move(act)); };
  worker.session = [this] { return Session(); };
  worker.is_cut_off = [this] { return !connection_ || network_.IsPartitioned(*this); };
  worker.kept = [this](const AttemptRef& ref, const Result<KeptCheckpoint>& kept) {
    core_->OnCheckpointKept(ref, kept, Now());
    Perform();
  };
  worker.log_sent = [this](const AttemptRef& ref, const Status& sent) {
    core_->OnLogSent(ref, sent);
    Perform();
  };
  worker.obtained = [this](const AttemptRef& ref, const Result<CheckpointCopy>& copy) {
    core_->OnCheckpointObtained(ref, copy, Now());
    Perform();
  };
  return worker;
}

SimulatedBucket::Worker SimulatedWorker::ForBucket() {
  SimulatedCarrier::Worker carrier = ForCarrier();
  SimulatedBucket::Worker worker;
  worker.when_awake = carrier.when_awake;
  worker.kept = carrier.kept;
  worker.obtained = carrier.obtained;
  worker.is_disk_full = [this] { return IsDiskFull(); };
  worker.waits = [this](const AttemptRef& ref, const std::string& why) {
    core_->OnCheckpointWaits(ref, why, Now());
    Perform();
  };
  return worker;
}

// ---- its life

void SimulatedWorker::Start() {
  if (core_ != nullptr) return;
  ++life_;
  environment_.trace.Note("worker starts", {index_, life_});
  WorkerCore::Options options;
  options.hello.version = "simulated";
  options.hello.name = machine_.is_local ? "local" : "w" + std::to_string(index_);
  options.hello.host = "host" + std::to_string(index_);
  options.hello.pid = 1000 * (index_ + 1) + life_;
  options.hello.capacity = machine_.capacity;
  options.is_local = options.hello.is_local = machine_.is_local;
  if (!machine_.is_local) options.hello.session = Session();
  if (random_.NextBelow(2) == 0) options.prewarm_program = "tune_trial";
  core_ = std::make_unique<WorkerCore>(std::move(options));
  exit_status_.reset();
  connection_ = network_.Connect(*this);
  core_->Begin();
  Perform();
}

void SimulatedWorker::Kill() {
  if (core_ == nullptr) return;
  environment_.trace.Note("worker killed", {index_});
  if (connection_) network_.DropWorkerEnd(*connection_, {});
  Gone();
}

void SimulatedWorker::Gone() {
  connection_.reset();
  core_.reset();
  carrier_.End();
  bucket_.End();
  own_disk_ = {};  // What its trials saved goes with it, be it by its successor.
  processes_.clear();
  outbox_.clear();
  waiting_.clear();
  started_.clear();
  lost_devices_.clear();
  wake_at_.reset();
  is_stopped_ = false;
  ++life_;
}

void SimulatedWorker::Terminate() {
  if (core_ == nullptr) return;
  environment_.trace.Note("worker told to end", {index_});
  WhenAwake([this] {
    core_->OnTerminate(Now());
    Perform();
  });
}

void SimulatedWorker::LoseDevice(int64_t place) {
  const std::vector<Device>& devices = machine_.capacity.devices;
  if (core_ == nullptr || devices.empty()) return;
  const int64_t device = devices[static_cast<size_t>(place) % devices.size()].index;
  if (lost_devices_.contains(device)) return;
  environment_.trace.Note("device lost", {index_, device});
  const int64_t life = life_;
  WhenAwake([this, life, device] {
    if (life != life_) return;
    lost_devices_.insert(device);
    DevicesSeen seen;
    seen.lost = {{device, "it fell off"}};
    core_->OnDevicesSeen(seen, Now());
    Perform();
  });
}

// A trial is seen to use some of its device's memory, seldom more than its part; never where trials
// must end as in an undisturbed run, which draws other uses.
void SimulatedWorker::SeeDeviceUse(ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.slices.empty()) return;
  const DeviceSlice& slice = found->second.slices.front();
  if (slice.memory_bytes == 0 || random_.NextBelow(4) != 0) return;
  const bool is_greedy = random_.NextBelow(8) == 0 && !environment_.swarm.is_order_free;
  const auto most = static_cast<uint64_t>(slice.memory_bytes) * (is_greedy ? 2 : 1);
  DevicesSeen seen;
  seen.by_process = {{process, {slice.device, static_cast<int64_t>(1 + random_.NextBelow(most))}}};
  core_->OnDevicesSeen(seen, Now());
}

void SimulatedWorker::Stop() {
  if (core_ == nullptr || is_stopped_) return;
  environment_.trace.Note("worker stopped", {index_});
  is_stopped_ = true;
}

void SimulatedWorker::Continue() {
  if (!is_stopped_) return;
  environment_.trace.Note("worker continued", {index_});
  is_stopped_ = false;
  const int64_t life = life_;
  for (Happenings::Act& act : std::exchange(waiting_, {})) {
    if (life == life_) act();
  }
}

void SimulatedWorker::EndHungTrials() {
  for (auto& [id, process] : processes_) {
    if (process.trial->is_hung() && !process.is_ending) {
      OnTrialExit(id, ProcessEnd{0, "SIGKILL", ""});
    }
  }
}

void SimulatedWorker::WhenAwake(Happenings::Act act) {
  if (is_stopped_) {
    waiting_.push_back(std::move(act));
  } else {
    act();
  }
}

// ---- what it hears

void SimulatedWorker::OnBytes(ConnectionId connection, const std::string& bytes) {
  if (core_ == nullptr || connection_ != connection) return;
  WhenAwake([this, connection, bytes] {
    if (core_ == nullptr || connection_ != connection) return;
    Result<std::vector<ToWorker>> messages = DecodeToWorkerBatch(bytes);
    if (!messages.ok()) {
      return environment_.trace.Fail("a worker could not read what the tuner sent: " +
                                     messages.status().message());
    }
    for (const ToWorker& message : *messages) {
      if (environment_.trace.is_verbose()) {
        environment_.trace.Print("  to worker " + std::to_string(index_) + ": " +
                                 Describe(message));
      }
      if (const auto* const start = std::get_if<StartAttempt>(&message)) {
        started_[{start->ref.trial.value, start->ref.attempt.value, start->rank}] = start->ref;
      }
      core_->OnMessage(message, Now());
    }
    Perform();
  });
}

void SimulatedWorker::OnClosed(ConnectionId connection, const Status& reason) {
  if (core_ == nullptr || connection_ != connection) return;
  WhenAwake([this, connection, reason] {
    if (core_ == nullptr || connection_ != connection) return;
    connection_.reset();
    core_->OnTunerGone(reason, Now());
    Perform();
  });
}

SimulatedTrial* SimulatedWorker::Find(ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.is_ending) return nullptr;
  return found->second.trial.get();
}

void SimulatedWorker::Later(ProcessId process, Duration wait, Happenings::Act act) {
  const int64_t life = life_;
  environment_.happenings.After(wait, [this, life, process, act = std::move(act)] {
    if (life == life_ && Find(process) != nullptr) act();
  });
}

void SimulatedWorker::OnTrialSays(ProcessId process, std::optional<int64_t> iteration) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || !found->second.ref) return;
  if (!iteration) return found->second.ref.reset();
  Emitted& emitted = environment_.emitted[found->second.ref->epoch];
  emitted.ref = *found->second.ref;
  emitted.ref.sweep = {};  // As the journal has it.
  emitted.iterations.push_back(*iteration);
}

void SimulatedWorker::OnTrialLine(ProcessId process, std::string line) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.is_ending) return;
  const int64_t life = life_;
  environment_.happenings.After(kPipeDelay, [this, life, process, line = std::move(line)] {
    if (life != life_) return;
    WhenAwake([this, process, line] {
      environment_.trace.Fold("line", {index_, process.value}, line);
      if (environment_.trace.is_verbose()) {
        environment_.trace.Print("  worker " + std::to_string(index_) + ", process " +
                                 std::to_string(process.value) + " says " + line);
      }
      SeeDeviceUse(process);
      core_->OnProcessLine(process, line, Now());
      Perform();
    });
  });
}

void SimulatedWorker::OnTrialExit(ProcessId process, ProcessEnd end) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.is_ending) return;
  found->second.is_ending = true;
  found->second.ref.reset();
  environment_.trace.Note("trial process ends", {index_, process.value, end.exit_status},
                          end.signal);
  const int64_t life = life_;
  // It may be seen to leave before its last words are read.
  if (random_.NextBelow(2) == 0) {
    environment_.happenings.After({}, [this, life, process] {
      if (life == life_ && !is_stopped_) core_->OnProcessLeaving(process);
    });
  }
  environment_.happenings.After(kPipeDelay, [this, life, process, end] {
    if (life != life_) return;
    WhenAwake([this, process, end] {
      processes_.erase(process);
      core_->OnProcessLeaving(process);
      core_->OnProcessEnded(process, end, Now());
      Perform();
    });
  });
}

// ---- what it does

void SimulatedWorker::Perform() {
  for (std::vector<Effect> effects = core_->TakeEffects(); !effects.empty();
       effects = core_->TakeEffects()) {
    for (Effect& effect : effects) {
      std::visit([this](auto& e) { Do(e); }, effect);
    }
    for (const Happenings::Act& found : std::exchange(found_, {})) found();
  }
  if (connection_) {
    Flush();
  } else {
    outbox_.clear();
  }
  if (exit_status_) {
    environment_.trace.Note("worker exits", {index_, *exit_status_});
    if (connection_) network_.CloseUp(*connection_, OkStatus());
    return Gone();
  }
  ScheduleWake();
}

void SimulatedWorker::Flush() {
  while (!outbox_.empty()) {
    const std::vector<FromWorker> batch = TakeBatch(outbox_);
    network_.SendUp(*connection_, EncodeBatch(batch));
  }
}

void SimulatedWorker::ScheduleWake() {
  const std::optional<Instant> deadline = core_->NextDeadline();
  if (!deadline) return;
  const Instant when = *deadline + Duration{-machine_.clock_offset.us};
  if (wake_at_ && *wake_at_ <= when) return;
  wake_at_ = when;
  const int64_t life = life_;
  environment_.happenings.At(when, [this, life, when] {
    if (life != life_ || wake_at_ != when) return;
    wake_at_.reset();
    WhenAwake([this] {
      core_->OnTime(Now());
      Perform();
    });
  });
}

void SimulatedWorker::Do(SendToTuner& effect) { outbox_.push_back(std::move(effect.message)); }

void SimulatedWorker::Do(const SpawnProcess& effect) {
  processes_[effect.process].trial =
      std::make_unique<SimulatedTrial>(environment_, *this, effect.process);
}

void SimulatedWorker::Do(const WriteToProcess& effect) {
  if (Find(effect.process) == nullptr) return;
  std::string_view line = effect.line;
  line.remove_suffix(1);
  NoteStart(effect.process, line);
  if (SimulatedTrial* const trial = Find(effect.process)) trial->OnLine(line);
}

void SimulatedWorker::Do(const KeepOutput& /*effect*/) {}  // They print nothing.

void SimulatedWorker::Do(const SignalProcess& effect) {
  SimulatedTrial* const trial = Find(effect.process);
  if (trial == nullptr) return;
  if (effect.kill) return OnTrialExit(effect.process, ProcessEnd{0, "SIGKILL", ""});
  trial->OnSigterm();
}

void SimulatedWorker::Do(const PrintLine& effect) {
  if (environment_.trace.is_verbose()) {
    environment_.trace.Print("worker " + std::to_string(index_) + " says: " + effect.text);
  }
}

void SimulatedWorker::FillDisk(bool is_full) {
  if (!machine_.is_apart) return;
  environment_.trace.Note(is_full ? "machine's disk full" : "machine's disk has room", {index_});
  carrier_.set_full(is_full);
}

void SimulatedWorker::Do(const FindPlace& effect) {
  FoundPlace place{{}, effect.wanted.artifacts};
  if (machine_.is_apart) {
    place.artifacts = OwnArtifacts(index_);
    place.storage = CheckpointStorage::kTuner;
  }
  place.bucket = effect.wanted.bucket;
  bucket_.Settle(place);
  found_.push_back(
      [this, effect, place] { core_->OnPlace(effect.sweep, effect.wanted, place, Now()); });
}

// Without a disk of its own what was saved is where the tuner finds it.
void SimulatedWorker::Do(const KeepCheckpoint& effect) {
  if (environment_.swarm.has_bucket) return bucket_.Keep(effect);
  if (machine_.is_apart) return carrier_.Keep(effect);
  found_.push_back([this, effect] {
    core_->OnCheckpointKept(effect.ref, KeptCheckpoint{effect.folder, {}}, Now());
  });
}

void SimulatedWorker::Do(const ObtainCheckpoint& effect) {
  if (environment_.swarm.has_bucket) return bucket_.Obtain(effect);
  if (machine_.is_apart) return carrier_.Obtain(effect);
  found_.push_back([this, effect] {
    core_->OnCheckpointObtained(effect.ref, CheckpointCopy{effect.path, ""}, Now());
  });
}

void SimulatedWorker::Do(const GiveUpCheckpoints& effect) {
  carrier_.GiveUp(effect.ref);
  bucket_.GiveUp(effect.ref);
}

void SimulatedWorker::Do(const DropCheckpoint& effect) {
  environment_.swarm.has_bucket ? bucket_.Drop(effect.folder) : carrier_.Drop(effect.folder);
}

void SimulatedWorker::Do(const SendLog& effect) {
  if (effect.is_last) carrier_.Send(effect);
}

// What the connection before still carries is given up.
void SimulatedWorker::Do(const ConnectToTuner& /*effect*/) {
  if (connection_) network_.DropWorkerEnd(*connection_, {});
  outbox_.clear();
  connection_ = network_.Connect(*this);
}

void SimulatedWorker::Do(const ExitWorker& effect) { exit_status_ = effect.status; }

// ---- the machine's own view

void SimulatedWorker::NoteStart(ProcessId process, std::string_view line) {
  if (!line.starts_with("{\"start\"")) return;
  const Result<ToTrial> message = ParseToTrial(line);
  if (!message.ok()) return;  // The process says so.
  const auto& start = std::get<TrialStart>(*message);
  const auto found = started_.find({start.trial.value, start.attempt.value, start.rank});
  if (found == started_.end()) {
    return environment_.trace.Fail("a worker started what the tuner never sent it: trial " +
                                   std::to_string(start.trial.value));
  }
  Process& on = processes_.at(process);
  on.ref = found->second;
  on.slices = start.slices;
  for (const DeviceSlice& slice : on.slices) {
    if (!lost_devices_.contains(slice.device)) continue;
    environment_.trace.Fail("trial " + std::to_string(start.trial.value) +
                            " begins on a device that fell away");
  }
  CheckCapacity();
}

void SimulatedWorker::CheckCapacity() {
  std::map<int64_t, DeviceSlice> used;
  int64_t running = 0;
  for (const auto& [id, process] : processes_) {
    if (!process.ref) continue;
    ++running;
    int64_t given = 0;
    for (const DeviceSlice& slice : process.slices) {
      used[slice.device].milli += slice.milli;
      used[slice.device].memory_bytes += slice.memory_bytes;
      given += slice.milli;
    }
    // One that needed more memory than its share has runs on a whole device.
    const bool is_whole = request_.gpu_milli > 0 && given == kWholeMilli;
    if (given != request_.gpu_milli && !is_whole) {
      environment_.trace.Fail("trial " + std::to_string(process.ref->trial.value) + " asked for " +
                              std::to_string(request_.gpu_milli) + " thousandths and has " +
                              std::to_string(given));
    }
  }
  for (const auto& [device, sum] : used) {
    const bool is_there = device < static_cast<int64_t>(machine_.capacity.devices.size());
    const int64_t memory =
        is_there ? machine_.capacity.devices[static_cast<size_t>(device)].memory_bytes : 0;
    const std::string which =
        "device " + std::to_string(device) + " of worker " + std::to_string(index_);
    if (sum.milli > kWholeMilli || !is_there) {
      environment_.trace.Fail(which + " is given away " + std::to_string(sum.milli) +
                              " thousandths");
    }
    if (memory > 0 && sum.memory_bytes > memory) {
      environment_.trace.Fail(which + " has " + std::to_string(memory) + " bytes, and " +
                              std::to_string(sum.memory_bytes) + " are given away");
    }
  }
  if (running * request_.cpu_milli > machine_.capacity.cpu_milli) {
    environment_.trace.Fail("worker " + std::to_string(index_) + " runs " +
                            std::to_string(running) + " trials, more than its CPUs");
  }
}

}  // namespace tune::sim
