// A small world around the controller: workers that keep the books of messages.h (queue, idle
// places), trials by a closed form, and a log of what was committed. One thread, the test's time.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "tuner/experiment_controller.h"
#include "tuner/recovery.h"

namespace tune::testing {

struct LoggedStep {
  std::vector<Event> events;
  Instant now;
  std::string stream;  // The journal's text.
};

class ControllerWorld {
 public:
  static ExperimentSpec MakeSpec(int64_t samples = 4) {
    ExperimentSpec spec;
    spec.name = "sweep";
    spec.metric = "value";
    spec.mode = Mode::kMax;
    spec.samples = samples;
    spec.trainable = Value("curve");
    spec.failure.backoff = Duration{};  // Retries at once; tests of the wait set one.
    Value space = Value::MakeMap();
    Value domain = Value::MakeMap();
    domain.Set("uniform", Value(Value::List{Value(0.0), Value(1.0)}));
    space.Set("x", domain);
    spec.space = space;
    return spec;
  }

  using SchedulerMaker = std::function<std::unique_ptr<TrialScheduler>()>;

  // `make_scheduler`: in place of the spec's.
  explicit ControllerWorld(const ExperimentSpec& spec, SchedulerMaker make_scheduler = nullptr,
                           int64_t decision_version = kDecisionVersion)
      : spec_(spec),
        make_scheduler_(std::move(make_scheduler)),
        decision_version_(decision_version),
        controller_(MakeController(spec, "/artifacts/sweep", make_scheduler_, decision_version)) {}

  static std::unique_ptr<ExperimentController> MakeController(
      const ExperimentSpec& spec, const std::string& artifact_root = "/artifacts/sweep",
      const SchedulerMaker& make_scheduler = nullptr, int64_t decision_version = kDecisionVersion) {
    auto parts = MakeSweepParts(spec, 7, spec.name, "/artifacts", {}, decision_version);
    TUNE_CHECK(parts.ok());
    parts->options.artifact_root = artifact_root;
    if (make_scheduler != nullptr) parts->scheduler = make_scheduler();
    return std::make_unique<ExperimentController>(
        std::move(parts->options), std::move(parts->searcher), std::move(parts->scheduler));
  }

  ExperimentController& controller() { return *controller_; }
  const std::vector<LoggedStep>& log() const { return log_; }
  Instant now{1'000'000'000};

  // Applies, remembers the rows, and delivers the messages to the workers.
  Transition Apply(std::vector<Event> events) {
    Transition t = controller_->Apply(events, now);
    log_.push_back({std::move(events), now, EncodeStream(t.stream)});
    for (const NewTrialRow& row : t.new_trials) {
      trials[row.trial.number] = row.trial;
      configurations[row.trial.number] = row.configuration;
    }
    for (const TrialRow& row : t.trials) trials[row.number] = row;
    for (const WorkerRow& row : t.workers) worker_rows[row.worker] = row;
    for (const AttemptRow& row : t.attempts) attempts[{row.trial, row.number}] = row;
    for (const ReportRow& row : t.reports) reports.push_back(row);
    for (const OrderRow& row : t.orders) orders.push_back(row);
    for (const ExploitRow& row : t.exploits) exploits.push_back(row);
    for (const CheckpointRow& row : t.checkpoints) checkpoints[{row.trial, row.iteration}] = row;
    for (const NoteRow& row : t.notes) notes.push_back(row);
    if (t.experiment) experiment = *t.experiment;
    for (const Action& action : t.actions) {
      if (const auto* send = std::get_if<SendToWorker>(&action))
        Deliver(send->worker, send->message);
      if (const auto* remove = std::get_if<RemoveCheckpoint>(&action)) {
        removed.push_back(remove->path);
      }
      if (std::get_if<EndOfExperiment>(&action) != nullptr) has_ended = true;
      if (const auto* say = std::get_if<Say>(&action)) said.push_back(say->text);
    }
    return t;
  }

  // As after the tuner's death: a fresh one is given the journal, of a database that was moved.
  void Recover() {
    controller_ = MakeController(spec_, "/moved/sweep", make_scheduler_, decision_version_);
    controller_->RestoreSuggestions({configurations.begin(), configurations.end()});
    for (const LoggedStep& step : log_) {
      const auto stream = DecodeStream(step.stream);
      ASSERT_TRUE(stream.ok()) << stream.status().message();
      controller_->Follow(*stream);
    }
    std::vector<WorkerRow> rows;
    for (const auto& [worker, row] : worker_rows) rows.push_back(row);
    const Status restored = controller_->RestoreCluster(rows);
    ASSERT_TRUE(restored.ok()) << restored.message();
  }

  WorkerId Join(int64_t cpus, int64_t gpus = 0) {
    WorkerCapacity capacity;
    capacity.cpu_milli = cpus * kWholeMilli;
    for (int64_t i = 0; i < gpus; ++i) capacity.devices.push_back(Device{i, "logical", 0});
    return Join(capacity);
  }
  WorkerId Join(const WorkerCapacity& capacity) {
    const WorkerId id{++last_worker_};
    workers_[id] = {};
    Apply({WorkerJoined{id, "w" + std::to_string(id.value), "local", 1, capacity}});
    return id;
  }

  // A worker that outlives its connection.
  WorkerId JoinConnected(int64_t cpus, const std::string& session) {
    const WorkerId id{++last_worker_};
    workers_[id] = {};
    Apply({Connected(id, cpus, session, {})});
    return id;
  }
  void Break(WorkerId worker) { Apply({WorkerGone{worker, Departure::kBroken}}); }
  // It comes back with what it runs, as the next worker.
  WorkerId ComeBack(WorkerId worker, int64_t cpus, const std::string& session) {
    const WorkerId id{++last_worker_};
    std::vector<HeldAttempt> held;
    for (const auto& [trial, attempt] : workers_.at(worker).running) {
      held.push_back({attempt.start.ref, attempt.cpu_milli, attempt.slices});
    }
    workers_[id] = std::move(workers_.at(worker));
    workers_[id].ends = 0;
    workers_.erase(worker);
    Apply({Connected(id, cpus, session, held)});
    return id;
  }

  // The attempts that a worker runs now, by trial.
  struct RunningAttempt {
    StartAttempt start;
    int64_t iteration = 0;
    int64_t sequence = 0;
    int64_t cpu_milli = 0;
    std::vector<DeviceSlice> slices;
    bool told_to_stop = false;
    bool told_to_die = false;
    bool told_at_once = false;
  };
  std::map<TrialNumber, RunningAttempt>& Running(WorkerId worker) {
    return workers_.at(worker).running;
  }
  const std::deque<StartAttempt>& Queue(WorkerId worker) { return workers_.at(worker).ahead; }

  // The next report of a running attempt, as an event.
  Event NextReport(WorkerId worker, TrialNumber trial, double value, bool final = false,
                   bool with_checkpoint = true) {
    RunningAttempt& attempt = workers_.at(worker).running.at(trial);
    ++attempt.iteration;
    ++attempt.sequence;
    Report report;
    report.iteration = attempt.iteration;
    report.metrics = {{"value", value}};
    report.final = final;
    report.has_checkpoint = with_checkpoint;
    if (with_checkpoint) {
      report.checkpoint.path =
          attempt.start.artifact_dir + "/checkpoint_" + std::to_string(attempt.iteration);
    }
    return ReportArrived{worker, {attempt.start.ref, attempt.sequence, report}};
  }

  // The end of a running attempt as the worker would say it; the queue's head takes its place.
  Event End(WorkerId worker, TrialNumber trial, Outcome outcome, const std::string& error = "") {
    WorkerState& state = workers_.at(worker);
    const RunningAttempt ended = state.running.at(trial);
    state.running.erase(trial);
    ++state.ends;
    if (state.ahead.empty()) {
      state.idle.push_back({state.ends, ended.cpu_milli, ended.slices});
    } else {
      const StartAttempt next = state.ahead.front();
      state.ahead.pop_front();
      Begin(state, next, ended.cpu_milli, ended.slices);
    }
    return AttemptFinished{worker, {ended.start.ref, outcome, error}};
  }

  void Lose(WorkerId worker) { workers_.erase(worker); }

  std::map<TrialNumber, TrialRow> trials;
  std::map<TrialNumber, Configuration> configurations;
  std::map<WorkerId, WorkerRow> worker_rows;
  std::map<std::pair<TrialNumber, AttemptNumber>, AttemptRow> attempts;
  std::vector<ReportRow> reports;
  std::vector<OrderRow> orders;
  std::vector<NoteRow> notes;
  std::vector<ExploitRow> exploits;
  std::map<std::pair<TrialNumber, int64_t>, CheckpointRow> checkpoints;
  std::map<std::pair<AttemptRef, int64_t>, ReportAnswer> answers;
  ExperimentRow experiment;
  std::vector<std::string> said;
  std::vector<std::string> removed;
  std::map<WorkerId, Welcome> welcomes;
  std::set<WorkerId> shut_down;
  // Queued leases that were told to die: their ends are still to be reported.
  std::vector<Event> pending_ends;
  bool has_ended = false;

 private:
  static WorkerJoined Connected(WorkerId id, int64_t cpus, const std::string& session,
                                std::vector<HeldAttempt> held) {
    WorkerCapacity capacity;
    capacity.cpu_milli = cpus * kWholeMilli;
    const std::string name = "w" + std::to_string(id.value);
    return WorkerJoined{id, name, "10.0.0.2:7", 1, capacity, false, session, std::move(held)};
  }

  struct IdlePlace {
    int64_t end = 0;
    int64_t cpu_milli = 0;
    std::vector<DeviceSlice> slices;
  };
  struct WorkerState {
    std::map<TrialNumber, RunningAttempt> running;
    std::deque<StartAttempt> ahead;
    std::deque<IdlePlace> idle;
    int64_t ends = 0;
  };

  static void Begin(WorkerState& state, const StartAttempt& start, int64_t cpu_milli,
                    const std::vector<DeviceSlice>& slices) {
    TUNE_CHECK(!state.running.contains(start.ref.trial));  // A trial never runs twice.
    state.running[start.ref.trial] = {start, start.from_iteration, 0, cpu_milli, slices};
    std::map<int64_t, int64_t> used;
    for (const auto& [trial, attempt] : state.running) {
      for (const DeviceSlice& slice : attempt.slices) used[slice.device] += slice.milli;
    }
    for (const auto& [device, milli] : used) TUNE_CHECK(milli <= kWholeMilli);
  }

  void Deliver(WorkerId worker, const ToWorker& message) {
    const auto found = workers_.find(worker);
    if (found == workers_.end()) return;
    WorkerState& state = found->second;
    if (const auto* welcome = std::get_if<Welcome>(&message)) welcomes[worker] = *welcome;
    if (std::get_if<Shutdown>(&message) != nullptr) shut_down.insert(worker);
    if (const auto* start = std::get_if<StartAttempt>(&message)) {
      while (!state.idle.empty() && state.idle.front().end <= start->ends_seen)
        state.idle.pop_front();
      if (!start->ahead) {
        Begin(state, *start, start->cpu_milli, start->slices);
      } else if (!state.idle.empty()) {
        const IdlePlace place = state.idle.front();
        state.idle.pop_front();
        Begin(state, *start, place.cpu_milli, place.slices);
      } else {
        state.ahead.push_back(*start);
      }
    } else if (const auto* answer = std::get_if<AnswerReport>(&message)) {
      answers[{answer->ref, answer->sequence}] = answer->answer;
      const auto running = state.running.find(answer->ref.trial);
      if (running != state.running.end() && !GoesOn(answer->answer)) {
        running->second.told_to_stop = true;
      }
    } else if (const auto* kill = std::get_if<KillAttempt>(&message)) {
      const auto running = state.running.find(kill->ref.trial);
      if (running != state.running.end() && running->second.start.ref == kill->ref) {
        running->second.told_to_die = true;
        running->second.told_at_once = kill->at_once;
        return;
      }
      const auto is_it = [&](const StartAttempt& start) { return start.ref == kill->ref; };
      if (std::erase_if(state.ahead, is_it) == 0) return;
      ++state.ends;
      pending_ends.push_back(AttemptFinished{worker, {kill->ref, Outcome::kPreempted, ""}});
    }
  }

  ExperimentSpec spec_;
  SchedulerMaker make_scheduler_;
  int64_t decision_version_;
  std::unique_ptr<ExperimentController> controller_;
  std::map<WorkerId, WorkerState> workers_;
  int64_t last_worker_ = 0;
  std::vector<LoggedStep> log_;
};

}  // namespace tune::testing
