#include "tests/sim/head_run.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "tests/sim/environment.h"
#include "tests/sim/fault_vfs.h"
#include "tests/sim/head_pool.h"
#include "tests/sim/head_swarm.h"
#include "tests/sim/head_witness.h"
#include "tests/sim/planted_parts.h"
#include "tuner/event_queue.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/tuner.h"

namespace tune::sim {
namespace {

constexpr Instant kStart{1'800'000'000'000'000};

class HeadRun final : public WorkerLink, public ArtifactStore {
 public:
  HeadRun(uint64_t seed, bool is_verbose, PlantedFault planted)
      : swarm_(DrawHeadSwarm(seed)),
        planted_fault_(planted),
        happenings_(kStart),
        trace_(happenings_, is_verbose),
        vfs_(disk_, seed),
        witness_(trace_),
        random_(seed, "head run"),
        pool_(
            swarm_, [this](ExperimentId id) { return IterationsOf(id); }, HeadSide(), happenings_,
            trace_, seed) {
    if (is_verbose) {
      for (const Submission& one : swarm_.submissions) trace_.Print(one.spec);
    }
  }

  HeadRunResult Run() {
    pool_.Begin();
    for (size_t i = 0; i < swarm_.submissions.size(); ++i) {
      happenings_.After(swarm_.submissions[i].at, [this, i] { Submit(i); });
    }
    StartFaults();
    happenings_.After(swarm_.fault_time, [this] { EndFaults(); });
    StartHead({});
    const Instant bound = kStart + swarm_.fault_time + Seconds(3000);
    while (!trace_.has_failed() && !IsOver() && !happenings_.is_empty() &&
           happenings_.next_time() <= bound) {
      happenings_.RunNext();
    }
    if (!trace_.has_failed()) CheckEnd();
    HeadRunResult result;
    result.finding = trace_.finding();
    result.hash = trace_.hash();
    result.lives = life_number_;
    result.sweeps = static_cast<int64_t>(witness_.sweeps().size());
    result.commits = witness_.commit_count();
    result.commits_together = witness_.together_count();
    result.reports = witness_.report_count();
    result.full_disks = full_disk_count_;
    return result;
  }

  // ---- what the tuner sends

  void Send(WorkerId worker, std::vector<ToWorker> messages) override {
    if (vfs_.is_dead()) return;
    for (const ToWorker& message : messages) {
      if (!std::holds_alternative<Heartbeat>(message)) CheckMayAct();
    }
    pool_.Send(worker, std::move(messages));
  }
  void Close(WorkerId worker) override {
    CheckMayAct();
    pool_.Close(worker);
  }
  Status Remove(const std::string& path) override {
    CheckMayAct();
    trace_.Note("checkpoint removed", {}, path);
    return OkStatus();
  }
  bool Has(const std::string&) const override { return true; }

 private:
  // One process of the head.
  struct Life {
    Life(const Happenings& happenings, Duration clock_offset, Duration lease)
        : clock(happenings, clock_offset), offset(clock_offset), controller({lease, false}) {}
    VirtualClock clock;
    Duration offset;
    std::unique_ptr<SqliteStore> sqlite;
    std::unique_ptr<WitnessedStore> store;
    std::unique_ptr<Store> planted;  // Or null.
    Controller controller;
    EventQueue queue;
    std::unique_ptr<Tuner> tuner;
    WorkerId next_worker{1};
    std::set<size_t> submitted;  // That it has stored, or found.
    size_t queued_count = 0;
    Instant busy_until;
    bool is_step_scheduled = false;
    bool is_held = false;  // As last seen.
    std::optional<Instant> wake_at;
  };

  // While a step waits for room on the disk nobody may see more of the head than that it lives.
  void CheckMayAct() {
    if (witness_.is_in_doubt()) trace_.Fail("the head acts before the commit");
  }

  int64_t IterationsOf(ExperimentId id) const {
    const auto found = witness_.sweeps().find(id);
    if (found == witness_.sweeps().end()) return 1;
    return swarm_.submissions[NumberOf(found->second)].iterations;
  }
  static size_t NumberOf(const HeadWitness::Sweep& sweep) {
    return static_cast<size_t>(std::stoul(sweep.experiment.name.substr(1)));
  }

  bool IsUp() const { return life_ != nullptr && life_->tuner != nullptr; }

  HeadPool::Head HeadSide() {
    return {[this] { return IsUp(); },
            [this] {
              const WorkerId id = life_->next_worker;
              ++life_->next_worker.value;
              return id;
            },
            [this](WorkerId worker, std::variant<FromWorker, WorkerDisconnected> message) {
              if (!IsUp()) return;
              const auto* const said = std::get_if<FromWorker>(&message);
              const bool is_event = said == nullptr || !std::holds_alternative<Heartbeat>(*said);
              if (is_event) ++life_->queued_count;
              std::vector<Incoming> incoming;
              incoming.push_back({worker, "10.0.0.9", std::move(message)});
              life_->queue.Push(std::move(incoming));
              RequestStep();
            }};
  }

  // ---- lives

  void StartHead(Duration wait) {
    happenings_.After(wait, [this] {
      if (life_ != nullptr) return;
      ++life_number_;
      vfs_.Revive();
      Duration offset;
      if (swarm_.has_clock_jumps && life_number_ > 1) {
        offset = Seconds(random_.NextUniform(-3600, 3600));
      }
      trace_.Note("head starts", {life_number_, offset.us});
      life_ = std::make_unique<Life>(happenings_, offset, swarm_.lease);
      const Status status = Open();
      if (status.ok()) return;
      trace_.Note("head ends at its start", {}, status.message());
      if (trace_.is_verbose()) trace_.Print("  " + status.message());
      const bool has_cause = are_faults_on_ || vfs_.is_dead();
      if (!has_cause) trace_.Fail("the head cannot go on: " + status.message());
      Die(vfs_.is_dead() && std::exchange(loses_power_next_, false));
    });
  }

  Status Open() {
    Life& life = *life_;
    const SimulatedDisk::FilePtr file = disk_.Find(kDatabasePath);
    const bool is_there = file != nullptr && !file->cached.empty();
    auto opened = SqliteStore::Open(kDatabasePath, is_there ? Access::kWrite : Access::kCreate,
                                    life.clock.Now(), vfs_.name());
    if (!opened.ok() && opened.status().code() == StatusCode::kNotFound &&
        witness_.sweeps().empty()) {
      opened = SqliteStore::Open(kDatabasePath, Access::kCreate, life.clock.Now(), vfs_.name());
    }
    TUNE_ASSIGN_OR_RETURN(life.sqlite, std::move(opened));
    life.store = std::make_unique<WitnessedStore>(*life.sqlite, witness_, [this] {
      if (!std::exchange(dies_after_commit_, false)) return false;
      vfs_.Kill();
      return true;
    });
    witness_.Recovered(*life.store);
    TUNE_ASSIGN_OR_RETURN(const TakenUp taken,
                          EnlistRunning(kArtifactsDir, *life.store, life.controller));
    for (const Status& refused : taken.refused) {
      if (!vfs_.is_dead()) trace_.Fail("a sweep stays closed: " + refused.message());
    }
    if (!taken.apart.empty()) trace_.Fail("a sweep of the head's is taken for another tuner's");
    TUNE_ASSIGN_OR_RETURN(const WorkerId last, life.store->LastWorker());
    life.next_worker = WorkerId{last.value + 1};
    life.planted = PlantInStore(planted_fault_, *life.store);
    Store& store = life.planted != nullptr ? *life.planted : *life.store;
    life.tuner = std::make_unique<Tuner>(Tuner::Parts{life.controller, store, *this, *this,
                                                      life.clock, life.queue, nullptr,
                                                      /*outwaits_full_disk=*/true});
    TUNE_ASSIGN_OR_RETURN(const auto experiments, life.store->ListExperiments());
    for (const StoredExperiment& experiment : experiments) {
      life.submitted.insert(NumberOf({experiment, {}, {}, {}}));
    }
    interrupted_.clear();
    for (const StoredExperiment& experiment : experiments) {
      if (experiment.status == ExperimentStatus::kInterrupted) ResumeSoon(experiment.id);
    }
    for (const auto& [id, last_step] : taken.last_steps) life.tuner->Begin(id, last_step);
    if (!taken.last_steps.empty()) {
      TUNE_RETURN_IF_ERROR(life.tuner->Take({HeadEvent{TunerRestarted{true}}}));
    }
    if (!are_faults_on_) PushUnpause();
    RequestStep();
    pool_.BeginLocal();
    return OkStatus();
  }

  void RequestStep() {
    Life& life = *life_;
    if (life.is_step_scheduled || life.tuner == nullptr) return;
    life.is_step_scheduled = true;
    happenings_.At(std::max(happenings_.now(), life.busy_until), [this, number = life_number_] {
      if (life_ == nullptr || number != life_number_) return;
      life_->is_step_scheduled = false;
      if (life_->busy_until > happenings_.now()) return RequestStep();
      Step();
    });
  }

  void ScheduleDeadline() {
    Life& life = *life_;
    const std::optional<Instant> deadline = life.tuner->NextDeadline();
    if (!deadline) return;
    const Instant when = *deadline + Duration{-life.offset.us};
    if (life.wake_at && *life.wake_at <= when) return;
    life.wake_at = when;
    happenings_.At(when, [this, number = life_number_, when] {
      if (life_ == nullptr || number != life_number_ || life_->wake_at != when) return;
      life_->wake_at.reset();
      RequestStep();
    });
  }

  void Step() {
    if (!After(life_->tuner->Step(life_->clock.Now()))) return;
    Life& life = *life_;
    life.queued_count -= std::min(life.queued_count, limits::kEventsPerCommit);
    const auto commit_us = static_cast<uint64_t>(std::max<int64_t>(1, swarm_.commit_time_max.us));
    life.busy_until =
        happenings_.now() + Duration{1 + static_cast<int64_t>(random_.NextBelow(commit_us))};
    ScheduleDeadline();
    if (life.queued_count > 0) RequestStep();
  }

  // What a step came to. False: the process is gone.
  bool After(const Status& status) {
    if (!status.ok() || vfs_.is_dead()) {
      trace_.Note("head ends", {vfs_.is_dead()}, status.message());
      if (trace_.is_verbose()) trace_.Print("  " + status.message());
      Die(vfs_.is_dead() && std::exchange(loses_power_next_, false));
      return false;
    }
    if (const auto broken = life_->controller.BrokenInvariant()) trace_.Fail(*broken);
    const bool was_held = std::exchange(life_->is_held, life_->tuner->is_held());
    if (life_->is_held && !was_held) {
      trace_.Note("the head waits for room on its disk");
      ++full_disk_count_;
    }
    for (const EndOfExperiment& end : life_->tuner->TakeEnded()) {
      trace_.Note("sweep ended", {end.sweep.value, static_cast<int64_t>(end.status)});
      life_->controller.Release(end.sweep);
      if (end.status == ExperimentStatus::kInterrupted) ResumeSoon(end.sweep);
    }
    for (const Say& say : life_->tuner->TakeLines()) {
      if (trace_.is_verbose()) trace_.Print("head says: " + say.text);
    }
    return true;
  }

  // As the head does with what was interrupted, beside workers that are there.
  void ResumeSoon(ExperimentId id) {
    interrupted_.insert(id);
    happenings_.After(Pause(2), [this, id, number = life_number_] {
      if (!IsUp() || number != life_number_) return;
      if (life_->busy_until > happenings_.now() || life_->tuner->is_held()) return ResumeSoon(id);
      const Status resumed = Resume(id);
      if (!resumed.ok() && !vfs_.is_dead() && !are_faults_on_) {
        trace_.Fail("a sweep is not resumed: " + resumed.message());
      }
      if (After(resumed)) ScheduleDeadline();
    });
  }

  Status Resume(ExperimentId id) {
    TUNE_ASSIGN_OR_RETURN(const auto experiments, life_->store->ListExperiments());
    for (const StoredExperiment& experiment : experiments) {
      if (experiment.id != id) continue;
      trace_.Note("resumed", {id.value});
      TUNE_ASSIGN_OR_RETURN(
          const int64_t last_step,
          EnlistStored(experiment, kArtifactsDir, *life_->store, life_->controller));
      life_->tuner->Begin(id, last_step);
      interrupted_.erase(id);
      TUNE_RETURN_IF_ERROR(life_->tuner->Take({HeadEvent{TunerRestarted{}, id}}));
      if (!are_faults_on_) PushUnpause();
    }
    return OkStatus();
  }

  void Die(bool loses_power) {
    dies_after_commit_ = loses_power_next_ = false;
    life_.reset();
    pool_.DropAll();
    if (loses_power) {
      trace_.Note("unsynced bytes are gone");
      vfs_.Kill();
      disk_.PowerLoss(
          random_.NextBelow(3) == 0 ? SimulatedDisk::Loss::kAll : SimulatedDisk::Loss::kSome,
          random_);
    }
    StartHead(Pause(1));
  }

  // ---- submissions

  // As a client that asks again until it is told; its name is its key.
  void Submit(size_t number) {
    happenings_.After(Pause(2), [this, number] { Submit(number); });
    if (!IsUp() || life_->submitted.contains(number)) return;
    if (life_->busy_until > happenings_.now() || life_->tuner->is_held()) return;
    const Submission& one = swarm_.submissions[number];
    trace_.Note("submitted", {static_cast<int64_t>(number)});
    const auto document = ParseJson(one.spec);
    TUNE_CHECK(document.ok());
    auto spec = InterpretSpec(*document, "space.yaml", "/sim", true);
    if (!spec.ok()) return trace_.Fail(spec.status().message());
    NewExperiment wanted;
    wanted.name = one.name;
    wanted.metric = spec->metric;
    wanted.mode = "max";
    wanted.seed = one.seed;
    wanted.samples = spec->samples;
    wanted.spec = ToJson(spec->document);
    wanted.base_dir = spec->base_dir;
    wanted.provenance = "{}";
    wanted.created_at = life_->clock.Now();
    wanted.is_synced_later = true;
    const auto stored = life_->store->CreateExperiment(wanted);
    const bool is_refused =
        stored.status().code() == StatusCode::kResourceExhausted && !vfs_.is_dead();
    if (is_refused) return trace_.Note("refused: the disk is full", {static_cast<int64_t>(number)});
    if (!stored.ok()) {
      After(stored.status());
      return;
    }
    witness_.Created(*stored);
    life_->submitted.insert(number);
    auto parts = MakeSweepParts(*spec, one.seed, stored->name, kArtifactsDir);
    TUNE_CHECK(parts.ok());
    life_->controller.Enlist(stored->id, std::move(parts->options), std::move(parts->searcher),
                             std::move(parts->scheduler));
    life_->tuner->Begin(stored->id, 0);
    Status begun = life_->tuner->Take({HeadEvent{DeadlinePassed{}, stored->id}});
    if (begun.ok()) begun = life_->store->MakeDurable();
    if (!After(begun)) return;
    witness_.Told(stored->id);  // The client has its name.
    ScheduleDeadline();
  }

  // ---- faults

  Duration Pause(double mean_s) { return Seconds(mean_s * random_.NextUniform(0.1, 2.0)); }

  void Repeat(Duration mean, const Happenings::Act& act) {
    if (mean.us == 0) return;
    const Duration wait = Seconds(-mean.seconds() * std::log(1 - random_.NextDouble()));
    if (happenings_.now() + wait >= kStart + swarm_.fault_time) return;
    happenings_.After(wait, [this, mean, act] {
      act();
      Repeat(mean, act);
    });
  }

  void StartFaults() {
    Repeat(swarm_.kill, [this] { Kill(false); });
    Repeat(swarm_.power_loss, [this] { Kill(true); });
    Repeat(swarm_.kill_in_commit, [this] {
      if (random_.NextBelow(3) == 0) {
        dies_after_commit_ = true;
      } else {
        loses_power_next_ = swarm_.power_loss.us > 0 && random_.NextBelow(2) == 0;
        vfs_.KillAtCall(1 + static_cast<int64_t>(random_.NextBelow(40)));
      }
    });
    Repeat(swarm_.disk_full, [this] {
      const bool is_long = random_.NextBelow(2) == 0;
      trace_.Note("disk full");
      vfs_.set_full(true);
      happenings_.After(Pause(is_long ? swarm_.lease.seconds() : 2), [this] {
        trace_.Note("disk has room");
        vfs_.set_full(false);
      });
    });
    Repeat(swarm_.disk_error,
           [this] { vfs_.FailAtCall(1 + static_cast<int64_t>(random_.NextBelow(40))); });
    Repeat(swarm_.stop, [this] {
      if (life_ == nullptr) return;
      const Duration time = Seconds(swarm_.lease.seconds() * random_.NextUniform(0.1, 3));
      trace_.Note("head stopped", {time.us});
      life_->busy_until = std::max(life_->busy_until, happenings_.now() + time);
    });
    Repeat(swarm_.worker_kill, [this] { pool_.KillOne(); });
    Repeat(swarm_.cut, [this] { pool_.CutOne(); });
    Repeat(swarm_.unfit, [this] { pool_.MakeOneUnfit(); });
    Repeat(swarm_.drain, [this] {
      const std::optional<WorkerId> worker = pool_.OneToDrain();
      if (!worker || !IsUp()) return;
      trace_.Note("drained", {worker->value});
      Push(WorkerDrainRequested{*worker}, {});
    });
    Repeat(swarm_.command, [this] { Command(); });
    Repeat(swarm_.interrupt, [this] {
      if (const auto id = OneThatIsOpen()) Tell(InterruptRequested{}, *id);
    });
  }

  void Kill(bool loses_power) {
    if (life_ == nullptr) return;
    trace_.Note(loses_power ? "power loss" : "head killed");
    vfs_.Kill();
    Die(loses_power);
  }

  std::optional<ExperimentId> OneThatIsOpen() {
    if (life_ == nullptr || life_->controller.sweeps().empty()) return std::nullopt;
    auto open = life_->controller.sweeps().begin();
    std::advance(open, random_.NextBelow(life_->controller.sweeps().size()));
    return open->first;
  }

  // Somebody says something to a sweep that is open.
  void Command() {
    const std::optional<ExperimentId> drawn = OneThatIsOpen();
    if (!drawn) return;
    const ExperimentId id = *drawn;
    const HeadWitness::Sweep& sweep = witness_.sweeps().at(id);
    std::optional<TrialNumber> trial;
    if (!sweep.trials.empty() && random_.NextBelow(2) == 0) {
      trial = TrialNumber{static_cast<int64_t>(random_.NextBelow(sweep.trials.size()))};
    }
    const bool now = random_.NextBelow(2) == 0;
    switch (random_.NextBelow(6)) {
      case 0:
        if (!trial && random_.NextBelow(3) != 0) return;
        disturbed_.insert(id);
        return Tell(StopRequested{trial, now}, id);
      case 1:
        return Tell(MaxConcurrentChanged{1 + static_cast<int64_t>(random_.NextBelow(6))}, id);
      case 2:
        return Tell(UnpauseRequested{trial}, id);
      default:
        Tell(PauseRequested{trial, now}, id);
        happenings_.After(Pause(3), [this, trial, id] { Tell(UnpauseRequested{trial}, id); });
    }
  }

  void Tell(Event event, ExperimentId id) {
    if (life_ == nullptr || life_->tuner == nullptr || !life_->controller.sweeps().contains(id))
      return;
    trace_.Note("command", {id.value, static_cast<int64_t>(event.index())});
    Push(std::move(event), id);
  }

  void Push(Event event, ExperimentId id) {
    life_->queue.PushEvent(std::move(event), id);
    ++life_->queued_count;
    RequestStep();
  }

  void PushUnpause() {
    for (const auto& [id, open] : life_->controller.sweeps()) {
      Tell(UnpauseRequested{}, id);
      for (const auto& [number, row] : witness_.sweeps().at(id).trials) {
        Tell(UnpauseRequested{number}, id);
      }
    }
  }

  void EndFaults() {
    trace_.Note("faults end");
    are_faults_on_ = false;
    vfs_.set_full(false);
    vfs_.ClearFailure();
    dies_after_commit_ = loses_power_next_ = false;
    pool_.EndFaults();
    if (IsUp()) PushUnpause();
  }

  // ---- the end

  bool IsOver() const {
    if (are_faults_on_ || !IsUp()) return false;
    return life_->submitted.size() == swarm_.submissions.size() &&
           life_->controller.sweeps().empty() && interrupted_.empty();
  }

  void CheckEnd() {
    if (!IsOver()) return trace_.Fail("the sweeps do not come to their end:" + DescribeOpen());
    witness_.Recovered(*life_->store);
    for (const auto& [id, sweep] : witness_.sweeps()) CheckSweep(id, sweep);
  }

  std::string DescribeOpen() const {
    std::string text;
    for (const auto& [id, sweep] : witness_.sweeps()) {
      if (sweep.status != ExperimentStatus::kRunning) continue;
      text += " " + sweep.experiment.name + ":";
      for (const auto& [number, row] : sweep.trials) {
        if (row.status == TrialStatus::kTerminated) continue;
        text +=
            " trial " + std::to_string(number.value) + " is " + TrialStatusName(row.status) + ";";
      }
    }
    return text;
  }

  void CheckSweep(ExperimentId id, const HeadWitness::Sweep& sweep) {
    const Submission& one = swarm_.submissions[NumberOf(sweep)];
    if (disturbed_.contains(id)) return;
    const auto fail = [&](const std::string& what) { trace_.Fail(one.name + ": " + what); };
    if (sweep.status != ExperimentStatus::kFinished) {
      return fail(std::string("is ") + ExperimentStatusName(sweep.status));
    }
    const auto document = ParseJson(one.spec);
    const auto spec = InterpretSpec(*document, "space.yaml", "/sim", true);
    auto parts = MakeSweepParts(*spec, one.seed, one.name, kArtifactsDir);
    if (static_cast<int64_t>(sweep.trials.size()) != spec->samples) {
      return fail("has " + std::to_string(sweep.trials.size()) + " trials");
    }
    for (const auto& [number, row] : sweep.trials) {
      const std::string which = "trial " + std::to_string(number.value) + " ";
      if (row.status != TrialStatus::kTerminated) return fail(which + "is not over");
      const Configuration& own = sweep.configurations.at(number);
      const auto fresh = parts->searcher->Suggest(number);
      if (!fresh || *fresh != own) return fail(which + "is not what a fresh searcher gives");
      if (!one.is_order_free) continue;
      const std::string config = ToJson(own.ToNested());
      if (row.iterations != one.iterations || row.best_value != ValueAt(config, one.iterations) ||
          row.stop_reason != StopReason::kCompleted) {
        return fail(which + "ended otherwise than alone");
      }
    }
  }

  const HeadSwarm swarm_;
  const PlantedFault planted_fault_;
  Happenings happenings_;
  Trace trace_;
  SimulatedDisk disk_;
  FaultVfs vfs_;
  HeadWitness witness_;
  KeyedRandom random_;
  HeadPool pool_;
  std::unique_ptr<Life> life_;
  int64_t life_number_ = 0;
  int64_t full_disk_count_ = 0;
  bool are_faults_on_ = true;
  bool dies_after_commit_ = false;
  bool loses_power_next_ = false;
  std::set<ExperimentId> interrupted_;  // To be resumed in this life.
  std::set<ExperimentId> disturbed_;    // Somebody stopped something of them.
};

}  // namespace

HeadRunResult RunHead(uint64_t seed, bool is_verbose, PlantedFault planted) {
  return HeadRun(seed, is_verbose, planted).Run();
}

}  // namespace tune::sim
