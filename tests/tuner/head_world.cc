#include "tests/tuner/head_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "tests/tuner/controller_world.h"
#include "tuner/recovery.h"

namespace tune::testing {
namespace {

double ValueOf(const std::string& config, int64_t iteration) {
  const double x = std::stod(config.substr(config.find(':') + 1));
  return x * (1.0 - std::exp2(static_cast<double>(-iteration)));
}

void Begin(HeadWorld::Worker& worker, const StartAttempt& start) {
  TUNE_CHECK(worker.knows.contains(start.ref.sweep));
  TUNE_CHECK(start.cpu_milli > 0 && worker.free_cpu_milli >= start.cpu_milli);
  worker.free_cpu_milli -= start.cpu_milli;
  worker.running[start.ref.epoch] = HeadWorld::Running{start, start.from_iteration};
}

// What it has of a sweep is over, and nothing is said of it.
void Forget(HeadWorld::Worker& worker, ExperimentId sweep) {
  worker.knows.erase(sweep);
  for (auto it = worker.running.begin(); it != worker.running.end();) {
    const bool is_its = it->second.start.ref.sweep == sweep;
    if (is_its) worker.free_cpu_milli += it->second.start.cpu_milli;
    it = is_its ? worker.running.erase(it) : std::next(it);
  }
  std::erase_if(worker.ahead,
                [sweep](const StartAttempt& start) { return start.ref.sweep == sweep; });
}

void Start(HeadWorld::Worker& worker, const StartAttempt& start) {
  while (!worker.idle.empty() && worker.idle.front().first <= start.ends_seen) {
    worker.idle.pop_front();
  }
  if (!start.ahead) return Begin(worker, start);
  if (worker.idle.empty()) return worker.ahead.push_back(start);
  StartAttempt begins = start;
  begins.cpu_milli = worker.idle.front().second;
  worker.idle.pop_front();
  Begin(worker, begins);
}

}  // namespace

ExperimentSpec HeadWorld::MakeSpec(int64_t samples) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.failure.max_failures = 1000;
  return spec;
}

HeadWorld::HeadWorld(const HeadOptions& options)
    : options_(options), controller_(std::make_unique<Controller>(options)) {}

ExperimentId HeadWorld::Open(const ExperimentSpec& spec, const Share& share) {
  const ExperimentId id{++last_sweep_};
  stored[id].spec = spec;
  stored[id].spec.share = share;
  EnlistAt(*controller_, id);
  Apply({HeadEvent{DeadlinePassed{}}});
  return id;
}

ExperimentId HeadWorld::TakeUp(const Stored& sweep) {
  const ExperimentId id{++last_sweep_};
  stored[id] = sweep;
  EnlistAt(*controller_, id);
  Follow(*controller_, id);
  NoteRows(id);
  Apply({HeadEvent{TunerRestarted{}, id}});
  return id;
}

void HeadWorld::Apply(const std::vector<HeadEvent>& events) {
  HeadTransition step = controller_->Apply(events, now);
  for (auto& [id, rows] : step.sweeps) {
    EXPECT_TRUE(rows.actions.empty());
    Store(id, rows);
  }
  for (const Action& action : step.actions) {
    if (const auto* const send = std::get_if<SendToWorker>(&action)) {
      Deliver(send->worker, send->message);
    } else if (const auto* const say = std::get_if<Say>(&action)) {
      (say->sweep == ExperimentId{} ? said : stored.at(say->sweep).said).push_back(say->text);
    } else if (const auto* const end = std::get_if<EndOfExperiment>(&action)) {
      stored.at(end->sweep).ended = end->status;
      if (!options_.ends_with_sweeps) controller_->Release(end->sweep);
    }
  }
  const auto broken = controller_->BrokenInvariant();
  EXPECT_FALSE(broken.has_value()) << *broken;
  TUNE_CHECK(!broken);
  if (!pending_ends_.empty()) Apply(std::exchange(pending_ends_, {}));
}

WorkerId HeadWorld::Join(int64_t cpus, const std::string& session) {
  const WorkerId id{++last_worker_};
  Worker& worker = workers[id];
  worker.cpu_milli = worker.free_cpu_milli = cpus * kWholeMilli;
  worker.session = session;
  SayHello(id, {});
  return id;
}

void HeadWorld::Break(WorkerId id) {
  Worker& worker = workers.at(id);
  worker.is_connected = false;
  if (worker.session.empty()) workers.erase(id);
  Apply({HeadEvent{WorkerGone{id, Departure::kBroken}}});
}

WorkerId HeadWorld::ComeBack(WorkerId before) {
  const WorkerId id{++last_worker_};
  workers[id] = std::move(workers.at(before));
  workers.erase(before);
  Worker& worker = workers.at(id);
  worker.is_connected = true;
  worker.ends = 0;
  std::vector<HeldAttempt> held;
  for (const auto& [epoch, running] : worker.running) {
    held.push_back({running.start.ref, running.start.cpu_milli, {}});
  }
  SayHello(id, std::move(held));
  return id;
}

void HeadWorld::Advance(WorkerId id, LeaseEpoch epoch) {
  Running& running = workers.at(id).running.at(epoch);
  if (running.is_told_to_die) return End(id, epoch, Outcome::kPreempted);
  if (running.is_told_to_stop) return End(id, epoch, Outcome::kStopped);
  if (running.iteration == length) return End(id, epoch, Outcome::kCompleted);
  ++running.iteration;
  Report report;
  report.iteration = running.iteration;
  report.metrics = {{"value", ValueOf(running.start.config, running.iteration)}};
  report.final = running.iteration == length;
  report.has_checkpoint = true;
  report.checkpoint.path =
      running.start.artifact_dir + "/checkpoint_" + std::to_string(running.iteration);
  Apply({HeadEvent{ReportArrived{id, {running.start.ref, ++running.sequence, report}}}});
}

void HeadWorld::End(WorkerId id, LeaseEpoch epoch, Outcome outcome) {
  Worker& worker = workers.at(id);
  const Running ended = worker.running.at(epoch);
  worker.running.erase(epoch);
  worker.free_cpu_milli += ended.start.cpu_milli;
  ++worker.ends;
  if (worker.ahead.empty()) {
    worker.idle.emplace_back(worker.ends, ended.start.cpu_milli);
  } else {
    StartAttempt next = worker.ahead.front();
    worker.ahead.pop_front();
    next.cpu_milli = ended.start.cpu_milli;
    Begin(worker, next);
  }
  Apply({HeadEvent{AttemptFinished{id, {ended.start.ref, outcome, ""}}}});
}

void HeadWorld::RunToEnd(int64_t steps_max, bool may_be_left) {
  for (int64_t step = 0; step < steps_max; ++step) {
    const auto runs = Runs();
    if (runs.empty()) return;
    const auto& [worker, epoch] = runs[static_cast<size_t>(step) % runs.size()];
    Advance(worker, epoch);
    now = now + pace;
  }
  if (!may_be_left) FAIL() << "attempts run without end";
}

std::vector<std::pair<WorkerId, LeaseEpoch>> HeadWorld::Runs() const {
  std::vector<std::pair<WorkerId, LeaseEpoch>> runs;
  for (const auto& [id, worker] : workers) {
    if (!worker.is_connected) continue;
    for (const auto& [epoch, running] : worker.running) runs.emplace_back(id, epoch);
  }
  return runs;
}

int64_t HeadWorld::RunningOf(ExperimentId sweep) const {
  int64_t count = 0;
  for (const auto& [id, worker] : workers) {
    for (const auto& [epoch, running] : worker.running) {
      count += running.start.ref.sweep == sweep ? 1 : 0;
    }
  }
  return count;
}

int64_t HeadWorld::OpenCount() const {
  int64_t open = 0;
  for (const auto& [id, sweep] : stored) open += sweep.ended ? 0 : 1;
  return open;
}

void HeadWorld::Restart() {
  controller_ = std::make_unique<Controller>(options_);
  std::erase_if(workers, [](const auto& entry) { return entry.second.session.empty(); });
  for (auto& [id, worker] : workers) worker.is_connected = false;
  std::map<WorkerId, WorkerRow> rows;
  for (auto& [id, sweep] : stored) {
    if (sweep.ended) continue;
    EnlistAt(*controller_, id);
    Follow(*controller_, id);
    NoteRows(id);
    for (const auto& [worker, row] : sweep.workers) rows[worker] = row;
  }
  std::vector<WorkerRow> all;
  for (const auto& [worker, row] : rows) all.push_back(row);
  const Status restored = controller_->RestoreCluster(all);
  ASSERT_TRUE(restored.ok()) << restored.message();
  Apply({HeadEvent{TunerRestarted{true}}});
}

void HeadWorld::ExpectStreamLeadsToRows(ExperimentId id) {
  Controller alone(options_);
  EnlistAt(alone, id);
  Follow(alone, id);
  const std::vector<TrialRecord>& trials = alone.At(id).sweep.trials();
  const Stored& sweep = stored.at(id);
  ASSERT_EQ(trials.size(), sweep.trials.size());
  for (const TrialRecord& trial : trials) {
    const TrialRow& row = sweep.trials.at(trial.row.number);
    EXPECT_EQ(trial.row.status, row.status) << "trial " << row.number.value;
    EXPECT_EQ(trial.row.iterations, row.iterations);
    EXPECT_EQ(trial.row.attempts, row.attempts);
    EXPECT_EQ(trial.row.best_value, row.best_value);
  }
}

void HeadWorld::EnlistAt(Controller& controller, ExperimentId id) {
  const Stored& sweep = stored.at(id);
  auto parts = MakeSweepParts(sweep.spec, 7, sweep.spec.name, "/artifacts");
  TUNE_CHECK(parts.ok());
  OpenSweep& open = controller.Enlist(id, std::move(parts->options), std::move(parts->searcher),
                                      std::move(parts->scheduler));
  open.sweep.RestoreSuggestions({sweep.configurations.begin(), sweep.configurations.end()});
}

void HeadWorld::Follow(Controller& controller, ExperimentId id) {
  for (const std::string& text : stored.at(id).streams) {
    const auto stream = DecodeStream(text);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    ASSERT_TRUE(IsStream(text)) << text;
    controller.Follow(id, *stream);
  }
}

void HeadWorld::NoteRows(ExperimentId id) {
  std::vector<WorkerRow> rows;
  for (const auto& [worker, row] : stored.at(id).workers) rows.push_back(row);
  controller_->NoteRows(id, rows);
}

void HeadWorld::Store(ExperimentId id, const Transition& rows) {
  Stored& sweep = stored.at(id);
  ASSERT_FALSE(rows.stream.empty());
  sweep.streams.push_back(EncodeStream(rows.stream));
  for (const NewTrialRow& row : rows.new_trials) {
    sweep.trials[row.trial.number] = row.trial;
    sweep.configurations[row.trial.number] = row.configuration;
  }
  for (const TrialRow& row : rows.trials) sweep.trials[row.number] = row;
  for (const WorkerRow& row : rows.workers) sweep.workers[row.worker] = row;
}

void HeadWorld::SayHello(WorkerId id, std::vector<HeldAttempt> held) {
  const Worker& worker = workers.at(id);
  WorkerCapacity capacity;
  capacity.cpu_milli = worker.cpu_milli;
  const std::string name = "w" + std::to_string(id.value);
  const bool is_local = worker.session.empty();
  Apply({HeadEvent{WorkerJoined{id, name, "10.0.0.2:7", 1, capacity, is_local, worker.session,
                                std::move(held)}}});
}

void HeadWorld::Deliver(WorkerId id, const ToWorker& message) {
  const auto found = workers.find(id);
  if (found == workers.end() || !found->second.is_connected) return;
  Worker& worker = found->second;
  if (const auto* const welcome = std::get_if<Welcome>(&message)) {
    const std::set<ExperimentId> before = std::exchange(worker.knows, {});
    for (const SweepInfo& info : welcome->sweeps) worker.knows.insert(info.sweep);
    for (const ExperimentId sweep : before) {
      if (!worker.knows.contains(sweep)) Forget(worker, sweep);
    }
  } else if (const auto* const info = std::get_if<SweepInfo>(&message)) {
    worker.knows.insert(info->sweep);
  } else if (const auto* const over = std::get_if<SweepOver>(&message)) {
    Forget(worker, over->sweep);
  } else if (std::holds_alternative<Shutdown>(message)) {
    sent_home.insert(id);
  } else if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    Start(worker, *start);
  } else if (const auto* const answer = std::get_if<AnswerReport>(&message)) {
    const auto running = worker.running.find(answer->ref.epoch);
    if (running != worker.running.end() && !GoesOn(answer->answer)) {
      running->second.is_told_to_stop = true;
    }
  } else if (const auto* const kill = std::get_if<KillAttempt>(&message)) {
    Kill(id, worker, *kill);
  }
}

void HeadWorld::Kill(WorkerId id, Worker& worker, const KillAttempt& kill) {
  const auto running = worker.running.find(kill.ref.epoch);
  if (running != worker.running.end() && running->second.start.ref == kill.ref) {
    running->second.is_told_to_die = true;
    return;
  }
  const auto is_it = [&](const StartAttempt& start) { return start.ref == kill.ref; };
  if (std::erase_if(worker.ahead, is_it) == 0) return;
  ++worker.ends;
  pending_ends_.push_back({AttemptFinished{id, {kill.ref, Outcome::kPreempted, ""}}});
}

}  // namespace tune::testing
