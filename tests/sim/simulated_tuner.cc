#include "tests/sim/simulated_tuner.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "tests/sim/database_checker.h"
#include "tests/sim/describe.h"
#include "tests/sim/planted_parts.h"
#include "tests/sim/simulated_bucket.h"
#include "trial_runner/held_leases.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/wire/codec.h"
#include "tuner/recovery.h"
#include "tuner/spec_reader.h"

namespace tune::sim {

namespace {

// The journal had events of sweep and cluster together, and rows of workers nothing of their next
// life.
void WriteAsOlderBuild(CommitLog::Commit& commit) {
  commit.step.events = EncodeEvents(commit.events);
  for (WorkerRow& row : commit.transition.workers) {
    row.is_local = true;
    row.session.clear();
    row.has_reported = false;
    row.failed_starts = 0;
    row.is_shunning_said = false;
  }
}

}  // namespace

// The store, and the witness beside it.
class SimulatedTuner::SeamStore final : public Store {
 public:
  SeamStore(SimulatedTuner& tuner, Store& inner) : tuner_(tuner), inner_(inner) {}

  Result<StoredExperiment> CreateExperiment(const NewExperiment& experiment) override {
    return inner_.CreateExperiment(experiment);
  }
  Status MakeDurable() override { return inner_.MakeDurable(); }
  Status CommitSteps(std::span<const SweepStep> steps) override {
    const auto& [experiment, step, transition] = steps.front();
    CommitLog::Commit commit{step, tuner_.events_, transition};
    commit.transition.actions = tuner_.actions_;
    if (tuner_.life_number_ <= tuner_.environment_.swarm.old_lives) WriteAsOlderBuild(commit);
    const Status status = inner_.Commit(experiment, commit.step, commit.transition);
    commit.transition = transition;
    commit.transition.actions = tuner_.actions_;
    if (!status.ok()) {
      tuner_.log_.InDoubt(std::move(commit));
      return status;
    }
    tuner_.log_.Committed(commit);
    if (!std::exchange(tuner_.dies_after_commit_, false)) return status;
    // Before any action, or after some of them.
    tuner_.sends_left_ = static_cast<int64_t>(tuner_.random_.NextBelow(4));
    if (*tuner_.sends_left_ > 0) return status;
    tuner_.vfs_.Kill();
    return Unavailable("killed after a commit");
  }
  void Release(ExperimentId experiment) override { inner_.Release(experiment); }
  Result<std::vector<StoredExperiment>> ListExperiments() override {
    return inner_.ListExperiments();
  }
  Result<std::vector<std::pair<TrialNumber, Configuration>>> ReadSuggestions(
      ExperimentId experiment) override {
    return inner_.ReadSuggestions(experiment);
  }
  Status EachStep(ExperimentId experiment, const StepTaker& take) override {
    TUNE_ASSIGN_OR_RETURN(const std::vector<JournalStep> steps, inner_.ReadJournal(experiment));
    tuner_.log_.CheckJournal(steps);
    for (const JournalStep& step : steps) TUNE_RETURN_IF_ERROR(take(step));
    return OkStatus();
  }
  Result<std::vector<TrialRow>> ReadTrials(ExperimentId experiment) override {
    return inner_.ReadTrials(experiment);
  }
  Result<std::vector<ReportRow>> ReadReports(ExperimentId experiment) override {
    return inner_.ReadReports(experiment);
  }
  Result<std::vector<WorkerRow>> ReadWorkers(ExperimentId experiment) override {
    return inner_.ReadWorkers(experiment);
  }
  Result<WorkerId> LastWorker() override { return inner_.LastWorker(); }

 private:
  SimulatedTuner& tuner_;
  Store& inner_;
};

// One process. Parts in the order in which they are made; they end the other way round.
struct SimulatedTuner::Life {
  explicit Life(const Happenings& happenings, Duration clock_offset)
      : clock(happenings, clock_offset), offset(clock_offset) {}

  VirtualClock clock;
  Duration offset;
  std::unique_ptr<SqliteStore> sqlite;
  std::unique_ptr<Store> planted;  // Around `sqlite`, where a fault is planted there.
  std::unique_ptr<SeamStore> store;
  std::unique_ptr<ExperimentController> controller;
  EventQueue queue;
  size_t queued_count = 0;
  std::unique_ptr<Tuner> tuner;
  WorkerId next_worker{1};
  std::map<ConnectionId, std::optional<WorkerId>> connections;
  std::map<WorkerId, ConnectionId> workers;
  struct Attached {
    std::string session;
    HeldLeases leases;
  };
  std::map<ConnectionId, Attached> attached;
  Instant busy_until;
  bool is_step_scheduled = false;
  std::optional<Instant> wake_at;
  bool is_ending = false;
};

SimulatedTuner::SimulatedTuner(Environment& environment, SimulatedNetwork& network, FaultVfs& vfs,
                               CommitLog& log)
    : environment_(environment),
      network_(network),
      vfs_(vfs),
      log_(log),
      random_(environment.swarm.seed, "tuner") {}

SimulatedTuner::~SimulatedTuner() = default;

// ---- from a command to the loop

Status SimulatedTuner::Start(std::optional<int64_t> extend_to) {
  ++life_number_;
  ended_as_.reset();
  vfs_.Revive();
  Duration offset{environment_.swarm.clock_jump.us * (life_number_ - 1)};
  if (environment_.swarm.has_clock_jumps && life_number_ > 1) {
    offset = Seconds(random_.NextUniform(-3600, 3600));
  }
  environment_.trace.Note("tuner starts", {life_number_, offset.us});
  life_ = std::make_unique<Life>(environment_.happenings, offset);
  const Status status = Open(extend_to);
  if (status.ok()) return status;
  environment_.trace.Note("tuner ends at its start", {}, status.message());
  if (environment_.trace.is_verbose()) environment_.trace.Print("  " + status.message());
  Die(vfs_.is_dead() && loses_power_next_, {});
  return status;
}

Status SimulatedTuner::Open(std::optional<int64_t> extend_to) {
  Life& life = *life_;
  const SimulatedDisk::FilePtr file = environment_.disk.Find(kDatabasePath);
  const bool is_there = file != nullptr && !file->cached.empty();
  Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::Open(
      kDatabasePath, is_there ? Access::kWrite : Access::kCreate, life.clock.Now(), vfs_.name());
  if (!opened.ok() && opened.status().code() == StatusCode::kNotFound && !log_.experiment()) {
    // "Nothing is in it yet": a creation that died halfway is begun again.
    opened = SqliteStore::Open(kDatabasePath, Access::kCreate, life.clock.Now(), vfs_.name());
  }
  TUNE_ASSIGN_OR_RETURN(life.sqlite, std::move(opened));
  life.planted = PlantInStore(environment_.swarm.planted, *life.sqlite);
  life.store = std::make_unique<SeamStore>(
      *this, life.planted != nullptr ? *life.planted : static_cast<Store&>(*life.sqlite));
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments,
                        life.store->ListExperiments());
  if (!experiments.empty()) return GoOn(experiments.back(), extend_to);
  if (log_.experiment()) {
    environment_.trace.Fail("the sweep is no longer in the database");
    return NotFound("nothing to resume");
  }
  return Create();
}

Status SimulatedTuner::Create() {
  Life& life = *life_;
  TUNE_ASSIGN_OR_RETURN(const Value document, ParseJson(environment_.swarm.spec));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                        InterpretSpec(document, "space.yaml", "/sim", true));
  NewExperiment wanted;
  wanted.name = spec.name;
  wanted.metric = spec.metric;
  wanted.mode = spec.mode == Mode::kMax ? "max" : "min";
  wanted.seed = environment_.swarm.seed;
  wanted.samples = spec.samples;
  wanted.spec = ToJson(spec.document);
  wanted.base_dir = spec.base_dir;
  wanted.provenance = "{}";
  wanted.created_at = life.clock.Now();
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment experiment, life.store->CreateExperiment(wanted));
  TUNE_ASSIGN_OR_RETURN(life.controller, MakeController(spec, environment_.swarm.seed,
                                                        experiment.name, kArtifactsDir));
  TUNE_ASSIGN_OR_RETURN(Shadows shadows, Shadows::Make(experiment, spec, kArtifactsDir));
  log_.Begin(experiment, spec, std::move(shadows));
  BeginLoop(experiment, 0, KnownAtStart());
  return OkStatus();
}

Status SimulatedTuner::GoOn(const StoredExperiment& experiment, std::optional<int64_t> extend_to) {
  Life& life = *life_;
  if (!log_.experiment()) {
    // It died between the commit and our hearing of it.
    TUNE_ASSIGN_OR_RETURN(const Value document, ParseJson(experiment.spec));
    TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                          InterpretSpec(document, "space.yaml", experiment.base_dir, true));
    TUNE_ASSIGN_OR_RETURN(Shadows shadows, Shadows::Make(experiment, spec, kArtifactsDir));
    log_.Begin(experiment, spec, std::move(shadows));
  }
  Result<RecoveredExperiment> recovered = Recover(experiment, kArtifactsDir, *life.store);
  if (!recovered.ok()) {
    if (recovered.status().code() == StatusCode::kDataLoss) {
      environment_.trace.Fail("recovery: " + recovered.status().message());
    }
    return recovered.status();
  }
  log_.Resolve(recovered->last_step);
  // Every recovery reads the whole journal; the rows are looked at after some, and at the end.
  if (random_.NextBelow(3) == 0) CheckDatabase();
  life.controller = PlantInController(environment_.swarm.planted, std::move(recovered->controller),
                                      *life.store, experiment);
  const bool is_over = experiment.status == ExperimentStatus::kFinished ||
                       experiment.status == ExperimentStatus::kStopped;
  const bool extends = extend_to && *extend_to > experiment.samples;
  if (is_over && !extends) {
    ended_as_ = experiment.status;
    return FailedPrecondition("the sweep is finished; nothing to resume");
  }
  const bool listens =
      std::any_of(environment_.swarm.machines.begin(), environment_.swarm.machines.end(),
                  [](const Machine& machine) { return !machine.is_local; });
  std::vector<Event> first_events;
  if (recovered->last_step == 0) first_events = KnownAtStart();
  first_events.push_back(TunerRestarted{listens});
  if (const auto other = OtherTrainable()) first_events.push_back(*other);
  if (extends) first_events.push_back(SamplesExtended{*extend_to});
  if (environment_.swarm.retries_errored && environment_.are_faults_on) {
    first_events.push_back(ErroredRetried{});
  }
  life.next_worker = WorkerId{life.controller->last_worker().value + 1};
  BeginLoop(experiment, recovered->last_step, first_events);
  return OkStatus();
}

// Other in what workers are told alone: trials come to the same.
std::optional<SettingsChanged> SimulatedTuner::OtherTrainable() const {
  const Swarm& swarm = environment_.swarm;
  if (!swarm.changes_trainable || !environment_.are_faults_on) return std::nullopt;
  KeyedRandom random(swarm.seed, "other trainable", static_cast<uint64_t>(life_number_));
  Value other = document();
  const Value& trainable = *other.Find("trainable");
  if (random.NextBelow(2) == 0 || !trainable.is_map()) return std::nullopt;
  const bool is_command = trainable.Find("command") != nullptr;
  const Status set =
      ApplyOverride((is_command ? "trainable.env.LIFE=" : "trainable.curve.seconds=") +
                        std::to_string(life_number_),
                    other);
  TUNE_CHECK(set.ok());
  return SettingsChanged{ToJson(other)};
}

Value SimulatedTuner::document() const { return life_->controller->options().spec.document; }

std::vector<Event> SimulatedTuner::KnownAtStart() const {
  const std::vector<LaneSpeedRow>& known = environment_.swarm.known_lanes;
  return known.empty() ? std::vector<Event>() : std::vector<Event>{LaneSpeedsKnown{known}};
}

void SimulatedTuner::BeginLoop(const StoredExperiment& experiment, int64_t last_step,
                               const std::vector<Event>& first_events) {
  Life& life = *life_;
  life.tuner = std::make_unique<Tuner>(
      Tuner::Parts{life.controller->head(), *life.store, *this, *this, life.clock, life.queue,
                   [this](const std::vector<HeadEvent>& events, const HeadTransition& step) {
                     events_.clear();
                     for (const HeadEvent& event : events) events_.push_back(event.event);
                     actions_ = step.actions;
                   }},
      experiment.id, last_step);
  for (const Event& event : first_events) PushEvent(event);
  PushEvent(DeadlinePassed{});
  network_.Listen(this);
}

// ---- the loop

void SimulatedTuner::PushEvent(Event event) {
  ++life_->queued_count;
  life_->queue.PushEvent(std::move(event));
  RequestStep();
}

void SimulatedTuner::RequestStep() {
  Life& life = *life_;
  if (life.is_step_scheduled || life.is_ending || life.tuner == nullptr) return;
  life.is_step_scheduled = true;
  const int64_t number = life_number_;
  const auto step = [this, number] {
    if (life_ == nullptr || number != life_number_) return;
    life_->is_step_scheduled = false;
    // It may have been stopped meanwhile.
    if (life_->busy_until > environment_.happenings.now()) return RequestStep();
    Step();
  };
  environment_.happenings.At(std::max(environment_.happenings.now(), life.busy_until), step);
}

void SimulatedTuner::ScheduleDeadline() {
  Life& life = *life_;
  const std::optional<Instant> deadline = life.tuner->NextDeadline();
  if (!deadline) return;
  const Instant when = *deadline + Duration{-life.offset.us};
  if (life.wake_at && *life.wake_at <= when) return;
  life.wake_at = when;
  const int64_t number = life_number_;
  environment_.happenings.At(when, [this, number, when] {
    if (life_ == nullptr || number != life_number_ || life_->wake_at != when) return;
    life_->wake_at.reset();
    RequestStep();
  });
}

void SimulatedTuner::Step() {
  Life& life = *life_;
  if (life.is_ending) return;
  // Never blocks: it need not wait for anything.
  const Status status = life.tuner->Step(life.clock.Now());
  if (!status.ok() || vfs_.is_dead()) {
    environment_.trace.Note("tuner ends", {vfs_.is_dead()}, status.message());
    if (environment_.trace.is_verbose()) environment_.trace.Print("  " + status.message());
    return Die(vfs_.is_dead() && std::exchange(loses_power_next_, false), {});
  }
  life.queued_count -= std::min(life.queued_count, limits::kEventsPerCommit);
  const uint64_t commit_us =
      static_cast<uint64_t>(std::max<int64_t>(1, environment_.swarm.commit_time_max.us));
  life.busy_until = environment_.happenings.now() +
                    Duration{1 + static_cast<int64_t>(random_.NextBelow(commit_us))};
  for (const auto& [line, sweep] : life.tuner->TakeLines()) {
    if (environment_.trace.is_verbose()) environment_.trace.Print("tuner says: " + line);
  }
  if (life.tuner->is_done()) return EndInOrder();
  ScheduleDeadline();
  if (life.queued_count > 0) RequestStep();
}

// The workers have been told; the process ends when they have gone, or after two seconds.
void SimulatedTuner::EndInOrder() {
  life_->is_ending = true;
  ended_as_ = life_->controller->status();
  environment_.trace.Note("tuner is done", {static_cast<int64_t>(*ended_as_)});
  network_.Listen(nullptr);
  const int64_t number = life_number_;
  environment_.happenings.After(Seconds(2), [this, number] {
    if (life_ != nullptr && number == life_number_) Die(false, {});
  });
}

// ---- ends

void SimulatedTuner::Command(Event event) {
  if (life_ == nullptr || life_->is_ending) return;
  environment_.trace.Note("command", {static_cast<int64_t>(event.index())});
  PushEvent(std::move(event));
}

void SimulatedTuner::Stop(Duration time) {
  if (life_ == nullptr) return;
  environment_.trace.Note("tuner stopped", {time.us});
  life_->busy_until = std::max(life_->busy_until, environment_.happenings.now() + time);
}

void SimulatedTuner::Kill(bool loses_power) {
  if (life_ == nullptr) return;
  environment_.trace.Note(loses_power ? "power loss" : "tuner killed");
  vfs_.Kill();
  Die(loses_power, loses_power ? Seconds(random_.NextUniform(1, 30)) : Duration{});
}

void SimulatedTuner::KillInCommit(int64_t calls) { vfs_.KillAtCall(calls); }

void SimulatedTuner::Die(bool loses_power, Duration notice) {
  network_.DropTunerEnds(notice);
  dies_after_commit_ = loses_power_next_ = false;
  sends_left_.reset();
  life_.reset();
  log_.TunerDied();
  if (!loses_power) return;
  environment_.trace.Note("unsynced bytes are gone");
  vfs_.Kill();
  environment_.disk.PowerLoss(
      random_.NextBelow(3) == 0 ? SimulatedDisk::Loss::kAll : SimulatedDisk::Loss::kSome, random_);
}

// ---- the gateway's part

void SimulatedTuner::OnBytes(ConnectionId connection, const std::string& bytes) {
  if (life_ == nullptr) return;
  Life& life = *life_;
  Result<std::vector<FromWorker>> messages = DecodeFromWorkerBatch(bytes);
  if (!messages.ok()) {
    return environment_.trace.Fail("the tuner could not read what a worker sent: " +
                                   messages.status().message());
  }
  std::vector<Incoming> incoming;
  std::optional<WorkerId>& worker = life.connections[connection];
  for (FromWorker& message : *messages) {
    if (environment_.trace.is_verbose())
      environment_.trace.Print("  to tuner: " + Describe(message));
    life.attached[connection].leases.OnHeard(message);
    if (const auto* const hello = std::get_if<Hello>(&message)) {
      life.attached[connection].session = hello->session;
      worker = life.next_worker;
      ++life.next_worker.value;
      life.workers[*worker] = connection;
    }
    if (!worker) return environment_.trace.Fail("a worker spoke before its Hello");
    // Heartbeats are no events.
    if (!std::holds_alternative<Heartbeat>(message)) ++life.queued_count;
    incoming.push_back({*worker, "10.0.0." + std::to_string(connection.value), std::move(message)});
  }
  if (environment_.swarm.planted == PlantedFault::kAnswerBeforeCommit) {
    for (const Incoming& one : incoming) {
      const auto* const report = std::get_if<AttemptReport>(&std::get<FromWorker>(one.message));
      if (report != nullptr) Send(*worker, {AnswerReport{report->ref, report->sequence}});
    }
  }
  PlantInGateway(environment_.swarm.planted, random_, *life.controller, incoming);
  life.queue.Push(std::move(incoming));
  if (life.queued_count > 0) RequestStep();
}

void SimulatedTuner::OnClosed(ConnectionId connection, const Status& /*reason*/) {
  if (life_ == nullptr) return;
  Life& life = *life_;
  network_.CloseDown(connection, OkStatus());
  const auto found = life.connections.find(connection);
  if (found == life.connections.end()) return;
  const std::optional<WorkerId> worker = found->second;
  life.connections.erase(found);
  life.attached.erase(connection);
  if (worker) {
    life.workers.erase(*worker);
    ++life.queued_count;
    std::vector<Incoming> last;
    last.push_back({*worker, "", WorkerDisconnected{}});
    life.queue.Push(std::move(last));
    RequestStep();
  }
  if (life.is_ending && life.connections.empty()) Die(false, {});
}

void SimulatedTuner::Send(WorkerId worker, std::vector<ToWorker> messages) {
  if (vfs_.is_dead()) return;
  if (sends_left_ && --*sends_left_ <= 0) vfs_.Kill();
  for (const ToWorker& message : messages) log_.Sent(worker, message);
  PlantInSending(environment_.swarm.planted, random_, messages);
  const auto found = life_->workers.find(worker);
  if (found == life_->workers.end()) return;
  life_->attached[found->second].leases.OnSent(messages);
  std::deque<ToWorker> queue(std::make_move_iterator(messages.begin()),
                             std::make_move_iterator(messages.end()));
  while (!queue.empty()) {
    const std::vector<ToWorker> batch = TakeBatch(queue);
    network_.SendDown(found->second, EncodeBatch(batch));
  }
}

void SimulatedTuner::Close(WorkerId worker) {
  // Who was given up is listened to all the same.
  if (environment_.swarm.planted == PlantedFault::kLeaseNotFenced) return;
  const auto found = life_->workers.find(worker);
  if (found != life_->workers.end()) network_.CloseBoth(found->second);
}

Status SimulatedTuner::Remove(const std::string& path) {
  if (vfs_.is_dead()) return OkStatus();
  log_.RemovedCheckpoint(path);
  environment_.trace.Note("checkpoint removed", {}, path);
  if (IsS3Url(path)) {
    RemoveFromBucket(environment_, path, random_);
    return OkStatus();
  }
  for (const std::string& file : environment_.disk.List(path + "/")) {
    environment_.disk.Remove(file);
    environment_.disk.SyncName(file);
  }
  PlantInRemoval(environment_.swarm.planted, environment_.disk, path);
  return OkStatus();
}

// ---- the depot's part

Result<int64_t> SimulatedTuner::BeginCall(const std::string& session, const AttemptRef& ref) {
  if (life_ == nullptr || life_->is_ending) return Unavailable("there is no tuner");
  bool is_attached = false;
  for (const auto& [connection, worker] : life_->attached) {
    if (worker.session != session) continue;
    if (worker.leases.Holds(ref)) return life_number_;
    is_attached = true;
  }
  if (!is_attached) return Unavailable("no such worker is attached");
  return FailedPrecondition("the worker does not hold the lease any more");
}

bool SimulatedTuner::IsInLife(int64_t life) const {
  return life_ != nullptr && life == life_number_ && !vfs_.is_dead();
}

Result<std::string> SimulatedTuner::Put(int64_t life, const AttemptRef& ref,
                                        const std::string& name, const std::string& text) {
  if (!IsInLife(life)) return Unavailable("the tuner is gone");
  if (environment_.is_disk_full) return ResourceExhausted("the tuner's disk is full");
  const std::string folder = std::string(kArtifactsDir) + "/" + log_.experiment()->name + "/" +
                             std::to_string(ref.trial.value) + "/";
  std::string path = folder + name;
  for (int64_t suffix = 1;; ++suffix) {
    const SimulatedDisk::FilePtr there = environment_.disk.Find(path + "/state");
    if (there == nullptr) break;
    if (there->cached == text) return path;  // It came before.
    path = folder + name + "-" + std::to_string(suffix);
  }
  if (environment_.swarm.planted == PlantedFault::kCheckpointNotSent) return path;
  const std::string file = path + "/state";
  const SimulatedDisk::FilePtr made = environment_.disk.FindOrMake(file);
  SimulatedDisk::Truncate(*made, 0);
  SimulatedDisk::Write(*made, 0, text);
  SimulatedDisk::Sync(*made);
  environment_.disk.SyncName(file);
  environment_.corrupted.erase(file);
  environment_.trace.Note("checkpoint came", {ref.trial.value, ref.attempt.value}, path);
  return path;
}

Result<std::string> SimulatedTuner::Get(int64_t life, const std::string& path) {
  if (!IsInLife(life)) return Unavailable("the tuner is gone");
  const SimulatedDisk::FilePtr file = environment_.disk.Find(path + "/state");
  if (file == nullptr) return NotFound("no such checkpoint: " + path);
  return file->cached;
}

void SimulatedTuner::CheckDatabase() {
  Result<std::unique_ptr<Database>> reader =
      Database::Open(kDatabasePath, Access::kRead, vfs_.name());
  if (!reader.ok()) {
    if (vfs_.is_dead()) return;
    return environment_.trace.Fail("a reader cannot open the database: " +
                                   reader.status().message());
  }
  const Status status = CompareWithLog(**reader, log_);
  if (!status.ok()) environment_.trace.Fail("the database: " + status.message());
}

}  // namespace tune::sim
