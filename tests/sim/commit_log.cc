#include "tests/sim/commit_log.h"

#include <algorithm>

#include "core/json.h"
#include "tests/sim/describe.h"
#include "tests/sim/digest.h"
#include "tests/sim/planted_parts.h"
#include "tuner/artifact_path.h"

namespace tune::sim {
namespace {

bool IsOver(const TrialRow& row) {
  return row.status == TrialStatus::kTerminated || row.status == TrialStatus::kError;
}

}  // namespace

CommitLog::Fingerprint CommitLog::FingerprintOf(const ToWorker& message) {
  if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    return {message.index(), start->ref, 0, start->ahead ? 1 : 0};
  }
  if (const auto* const answer = std::get_if<AnswerReport>(&message)) {
    return {message.index(), answer->ref, answer->sequence, static_cast<int>(answer->answer)};
  }
  if (const auto* const kill = std::get_if<KillAttempt>(&message)) {
    return {message.index(), kill->ref, 0, kill->at_once ? 1 : 0};
  }
  return {message.index(), AttemptRef{}, 0, 0};
}

void CommitLog::Fail(const std::string& finding) {
  environment_.trace.Fail("step " + std::to_string(steps_.size()) + ": " + finding);
}

void CommitLog::Begin(const StoredExperiment& experiment, const ExperimentSpec& spec,
                      Shadows shadows) {
  experiment_ = experiment;
  spec_ = spec;
  shadows_.emplace(std::move(shadows));
  experiment_row_.samples = experiment.samples;
}

// ---- steps

void CommitLog::Committed(const Commit& commit) { Absorb(commit, true); }

void CommitLog::Resolve(int64_t last_step) {
  const int64_t known = this->last_step();
  if (in_doubt_ && last_step == known + 1) {
    environment_.trace.Note("the step in doubt is there", {last_step});
    return Absorb(*std::exchange(in_doubt_, std::nullopt), false);
  }
  in_doubt_.reset();
  if (last_step != known) {
    Fail("the database ends with step " + std::to_string(last_step) + ", but step " +
         std::to_string(known) + " was acknowledged as durable");
  }
}

void CommitLog::CheckJournal(const std::vector<JournalStep>& steps) {
  for (size_t i = 0; i < std::min(steps.size(), steps_.size()); ++i) {
    if (steps[i].at == steps_[i].at && steps[i].events == steps_[i].events) continue;
    Fail("step " + std::to_string(i + 1) + " of the journal is not what was committed");
  }
}

void CommitLog::Absorb(const Commit& commit, bool will_act) {
  const auto& [step, events, transition] = commit;
  if (step.step != last_step() + 1) {
    return Fail("step " + std::to_string(step.step) + " was committed next");
  }
  event_count_ += static_cast<int64_t>(events.size());
  const std::string digest = Digest(transition);
  environment_.trace.Note("committed", {step.step, static_cast<int64_t>(events.size())}, digest);
  if (const auto other = shadows_->Follow(step, events, digest, environment_.swarm.planted)) {
    Fail(*other);
  }
  steps_.push_back({step.at, step.events});
  Count(events, transition);
  turns_.emplace_back();
  TakeEvents(events, transition);
  TakeOrders(transition);
  TakeExploits(transition);
  TakeTrials(transition);
  TakeAttempts(transition);
  TakeCheckpoints(transition);
  TakeGrants(transition);
  for (const WorkerRow& row : transition.workers) workers_[row.worker] = row;
  if (transition.experiment) experiment_row_ = *transition.experiment;
  for (const Action& action : transition.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    const auto* const answer =
        send == nullptr ? nullptr : std::get_if<AnswerReport>(&send->message);
    if (answer != nullptr) answers_[{answer->ref, answer->sequence}] = answer->answer;
  }
  if (!will_act) return;
  for (const Action& action : transition.actions) {
    if (const auto* const send = std::get_if<SendToWorker>(&action)) {
      to_send_[send->worker].push_back(FingerprintOf(send->message));
    } else if (const auto* const remove = std::get_if<RemoveCheckpoint>(&action)) {
      to_remove_.insert(remove->path);
    }
  }
}

void CommitLog::Count(const std::vector<Event>& events, const Transition& transition) {
  for (const Event& event : events) {
    ++coverage_[NameOf(event)];
    const auto* const arrived = std::get_if<ReportArrived>(&event);
    if (arrived == nullptr) continue;
    const Report& report = arrived->message.report;
    if (!report.has_checkpoint && !report.checkpoint_follows) continue;
    const bool is_due = arrived->message.sequence % spec_.checkpoint.every == 0;
    if (!is_due && !arrived->message.report.final) ++coverage_["a trial saved before it was due"];
  }
  for (const AttemptRow& row : transition.attempts) {
    if (row.outcome != Outcome::kRunning) {
      ++coverage_[std::string("attempt ") + OutcomeName(row.outcome)];
    }
  }
  for (const Action& action : transition.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    const auto* const answer =
        send == nullptr ? nullptr : std::get_if<AnswerReport>(&send->message);
    if (answer != nullptr && answer->answer == ReportAnswer::kRefused) {
      ++coverage_["a report was refused"];
    }
  }
}

// ---- reports

// In order of arrival. Each row comes of one report that arrived.
void CommitLog::TakeEvents(const std::vector<Event>& events, const Transition& transition) {
  size_t next = 0;
  moved_.clear();
  for (const Event& event : events) {
    if (const auto* const report = std::get_if<ReportArrived>(&event)) {
      TakeReport(*report, transition, next);
    } else if (const auto* const arrived = std::get_if<CheckpointArrived>(&event)) {
      TakeCheckpoint(*arrived, transition);
    } else if (const auto* const joined = std::get_if<WorkerJoined>(&event)) {
      TakeJoin(*joined);
    } else if (const auto* const finished = std::get_if<AttemptFinished>(&event)) {
      CloseLease(finished->worker, finished->message.ref);
    } else if (const auto* const gone = std::get_if<WorkerGone>(&event)) {
      if (!MayComeBack(*gone, transition)) CloseLeases(gone->worker);
    } else if (const auto* const restarted = std::get_if<TunerRestarted>(&event)) {
      std::erase_if(leases_, [&](const auto& lease) {
        return !restarted->listens || connections_[lease.second.worker].is_local;
      });
    } else if (std::holds_alternative<ErroredRetried>(event)) {
      TakeRetry(transition);
    }
  }
  // One that was away when the sweep was to end has no lease any more, also of a rank whose attempt
  // has other ranks to wait for.
  for (const WorkerRow& row : transition.workers) {
    if (row.state == WorkerState::kLost) CloseLeases(row.worker);
  }
  if (next != transition.reports.size()) Fail("a report was stored that never arrived");
}

// Failed trials go on from what they saved themselves: what they borrowed is theirs no longer. A
// trial may have failed earlier in this step.
void CommitLog::TakeRetry(const Transition& transition) {
  for (const auto& [number, row] : trials_) {
    if (row.status == TrialStatus::kError) may_reopen_.insert(number);
  }
  for (const AttemptRow& row : transition.attempts) {
    const bool has_failed = row.outcome != Outcome::kRunning &&
                            row.outcome != Outcome::kCompleted &&
                            row.outcome != Outcome::kStopped && row.outcome != Outcome::kPreempted;
    if (has_failed && !IsOver(trials_[row.trial])) may_reopen_.insert(row.trial);
  }
  for (const TrialNumber trial : may_reopen_) {
    const auto path = resume_paths_.find(trial);
    if (path == resume_paths_.end() || TrialOfCheckpoint(path->second) == trial.value) continue;
    resume_paths_.erase(path);
  }
}

void CommitLog::TakeReport(const ReportArrived& event, const Transition& transition, size_t& next) {
  CheckEmitted(event);
  if (next == transition.reports.size()) return;
  const ReportRow& row = transition.reports[next];
  if (row.trial != event.message.ref.trial || row.attempt != event.message.ref.attempt ||
      row.iteration != event.message.report.iteration) {
    return;
  }
  ++next;
  CheckReport(row, event);
  const auto part = open_reports_.find({row.trial, row.attempt, row.iteration});
  if (part == open_reports_.end()) {
    reports_.push_back(row);
  } else {
    *part->second = row;
    ++coverage_["an iteration was reported in parts"];
  }
  ReportRow* const stored = part == open_reports_.end() ? &reports_.back() : part->second;
  if (HasMetric(row.metrics, spec_.metric)) {
    open_reports_.erase({row.trial, row.attempt, row.iteration});
  } else {
    open_reports_[{row.trial, row.attempt, row.iteration}] = stored;
  }
  if (row.decision) turns_.back().reports.push_back(stored);
}

// A step's orders follow its reports: no trial reports between a pause and what becomes of it.
void CommitLog::TakeOrders(const Transition& transition) {
  for (const ReportRow& row : transition.reports) {
    if (!row.decision) continue;
    const bool is_new = row.decision->verdict == Verdict::kPause && held_.insert(row.trial).second;
    if (row.decision->verdict == Verdict::kPause && !is_new) {
      Fail("trial " + std::to_string(row.trial.value) + " was paused twice");
    }
  }
  turns_.back().orders = transition.orders;
  for (const OrderRow& row : transition.orders) {
    ++coverage_[row.order.kind == Order::Kind::kStop ? "a paused trial was stopped"
                                                     : "a paused trial was taken up again"];
    if (held_.erase(row.order.trial) == 0) {
      Fail("the scheduler decided about trial " + std::to_string(row.order.trial.value) +
           ", which it had not paused");
    }
  }
  // Its last word may have been a stop as well: the condition of the space file goes first.
  for (const TrialRow& row : transition.trials) {
    if (IsOver(row)) held_.erase(row.number);
  }
}

// It goes on from where the source would go on.
void CommitLog::TakeExploits(const Transition& transition) {
  for (const ExploitRow& row : transition.exploits) {
    ++coverage_["a trial exploited another"];
    exploits_[row.trial][row.iteration] = row.source_iteration;
    const auto source = saved_[row.source].find(row.source_iteration);
    if (source == saved_[row.source].end()) {
      Fail("trial " + std::to_string(row.trial.value) + " exploits trial " +
           std::to_string(row.source.value) + " at an iteration without a checkpoint");
      continue;
    }
    // The source may have reported again later in the step.
    saved_[row.trial][row.source_iteration] = source->second;
    resume_paths_[row.trial] = source->second;
    present_configs_[row.trial] = ToJson(row.configuration.ToNested());
  }
}

// A worker that comes back brings the leases of its earlier connection.
void CommitLog::TakeJoin(const WorkerJoined& event) {
  connections_[event.worker] = {event.is_local, event.session};
  if (event.is_local) return;
  for (auto& [rank, lease] : leases_) {
    const Connection& before = connections_[lease.worker];
    if (before.is_local || before.session != event.session) continue;
    lease.worker = event.worker;
    moved_.insert({lease.ref.epoch, event.worker});
  }
}

// One that is not local is waited for, but not when the sweep is at its end.
bool CommitLog::MayComeBack(const WorkerGone& event, const Transition& transition) const {
  const auto connection = connections_.find(event.worker);
  if (event.how != Departure::kBroken || connection == connections_.end()) return false;
  const bool is_lost = std::any_of(
      transition.workers.begin(), transition.workers.end(), [&event](const WorkerRow& row) {
        return row.worker == event.worker && row.state == WorkerState::kLost;
      });
  return !connection->second.is_local && !is_lost;
}

void CommitLog::CloseLeases(WorkerId worker) {
  std::erase_if(leases_, [&](const auto& lease) { return lease.second.worker == worker; });
}

void CommitLog::CloseLease(WorkerId worker, const AttemptRef& ref) {
  std::erase_if(leases_, [&](const auto& lease) {
    return lease.second.ref == ref && lease.second.worker == worker;
  });
}

// It comes of a trial process that ran under this very lease; what comes twice comes with the same
// sequence number.
void CommitLog::CheckEmitted(const ReportArrived& event) {
  const AttemptRef& ref = event.message.ref;
  const auto emitted = environment_.emitted.find(ref.epoch);
  const auto index = static_cast<size_t>(event.message.sequence - 1);
  if (emitted != environment_.emitted.end() && emitted->second.ref == ref &&
      index < emitted->second.iterations.size() &&
      emitted->second.iterations[index] == event.message.report.iteration) {
    return;
  }
  Fail("iteration " + std::to_string(event.message.report.iteration) + " of " + Describe(ref) +
       ", sequence " + std::to_string(event.message.sequence) +
       ", is in the journal, but no trial process reported it so");
}

void CommitLog::CheckReport(const ReportRow& row, const ReportArrived& event) {
  const AttemptRef& ref = event.message.ref;
  const auto lease = leases_.find({row.trial, 0});
  if (lease == leases_.end() || lease->second.ref != ref || lease->second.worker != event.worker) {
    Fail("a report of " + Describe(ref) + " took effect, but " +
         (lease == leases_.end() ? "nobody holds a lease on the trial"
                                 : "the lease is " + Describe(lease->second.ref)));
  }
  int64_t& last = last_iterations_[{row.trial, row.attempt}];
  if (row.iteration <= last) Fail("iterations do not rise within " + Describe(ref));
  for (const auto& metric : event.message.report.metrics) {
    if (!HasMetric(row.metrics, metric.first)) Fail(Describe(ref) + ": a metric was not stored");
  }
  const Metric violation = FindMetric(row.metrics, kViolationName);
  if (violation) ++coverage_[*violation > 0 ? "a report broke a limit" : "a report kept limits"];
  if (!HasMetric(row.metrics, spec_.metric)) {
    if (row.decision) Fail(Describe(ref) + ": a report without the metric was decided");
    return;
  }
  last = row.iteration;
  int64_t& decided = decided_[row.trial];
  if (row.decision && row.iteration <= std::exchange(decided, row.iteration)) {
    Fail("iteration " + std::to_string(row.iteration) + " of trial " +
         std::to_string(row.trial.value) + " reached the scheduler twice");
  }
  if (!row.decision && row.iteration > decided) {
    Fail("iteration " + std::to_string(row.iteration) + " of trial " +
         std::to_string(row.trial.value) + " never reached the scheduler");
  }
  if (event.message.report.checkpoint_follows) {
    coming_[{row.trial, row.attempt}][row.iteration] = present_configs_[row.trial];
  }
  if (event.message.report.has_checkpoint) {
    saved_[row.trial][row.iteration] = event.message.report.checkpoint.path;
    resume_paths_[row.trial] = event.message.report.checkpoint.path;
    configs_of_checkpoints_[event.message.report.checkpoint.path] = present_configs_[row.trial];
  }
}

// It is of a report that took effect under a lease that is held still, and of no earlier one than
// another that came already: then the trial goes on from it, and a row says so.
void CommitLog::TakeCheckpoint(const CheckpointArrived& event, const Transition& transition) {
  const CheckpointDurable& message = event.message;
  const AttemptRef& ref = message.ref;
  const std::string& path = message.checkpoint.path;
  const auto lease = leases_.find({ref.trial, 0});
  const bool is_alive =
      lease != leases_.end() && lease->second.ref == ref && lease->second.worker == event.worker;
  auto& coming = coming_[{ref.trial, ref.attempt}];
  const auto reported = coming.find(message.iteration);
  if (!is_alive || reported == coming.end()) return;
  const bool has_row = std::any_of(
      transition.checkpoints.begin(), transition.checkpoints.end(), [&](const CheckpointRow& row) {
        return row.trial == ref.trial && row.ref == message.checkpoint &&
               row.iteration == message.iteration && row.state == CheckpointState::kDurable;
      });
  if (!has_row) Fail(path + ", which " + Describe(ref) + " reported, has no row");
  if (environment_.disk.Find(path + "/state") == nullptr) {
    Fail(path + " is said to be durable and is not there");
  }
  saved_[ref.trial][message.iteration] = path;
  resume_paths_[ref.trial] = path;
  configs_of_checkpoints_[path] = reported->second;
  coming.erase(coming.begin(), std::next(reported));
}

// ---- leases

void CommitLog::TakeGrants(const Transition& transition) {
  std::map<TrialNumber, int64_t> granted;
  for (const Action& action : transition.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    const auto* const start = send == nullptr ? nullptr : std::get_if<StartAttempt>(&send->message);
    if (start == nullptr) continue;
    const AttemptRef& ref = start->ref;
    if (moved_.contains({ref.epoch, send->worker})) {
      ++coverage_["a lease was sent again"];
      continue;
    }
    if (ref.epoch <= last_epoch_) Fail(Describe(ref) + ": the epoch is not a new one");
    last_epoch_ = std::max(last_epoch_, ref.epoch);
    CheckRank(*start);
    leases_[{ref.trial, start->rank}] = {ref, send->worker};
    ++granted[ref.trial];
    if (start->world_size > 1) ++coverage_["a rank was granted"];
    if (IsOver(trials_[ref.trial])) Fail(Describe(ref) + " is granted, but the trial is over");
    CheckGrant(*start);
  }
  for (const auto& [trial, count] : granted) {
    if (count == spec_.resources.workers) continue;
    Fail("trial " + std::to_string(trial.value) + " was granted " + std::to_string(count) +
         " leases, and has " + std::to_string(spec_.resources.workers) + " ranks");
  }
}

// A lease that is held of this trial, or nothing.
std::string CommitLog::HolderOf(TrialNumber trial) const {
  const auto held = leases_.lower_bound({trial, 0});
  return held == leases_.end() || held->first.first != trial ? "" : Describe(held->second.ref);
}

// The first rank's lease comes first, when no other is held; those of the same attempt follow.
void CommitLog::CheckRank(const StartAttempt& start) {
  const AttemptRef& ref = start.ref;
  if (start.rank == 0) {
    const std::string held = HolderOf(ref.trial);
    if (!held.empty()) Fail(Describe(ref) + " is granted while " + held + " is held");
    return;
  }
  const auto first = leases_.find({ref.trial, 0});
  if (first == leases_.end() || first->second.ref.attempt != ref.attempt ||
      leases_.contains({ref.trial, start.rank}) || start.ahead) {
    Fail(Describe(ref) + " is granted to rank " + std::to_string(start.rank) +
         ", which cannot begin now");
  }
}

void CommitLog::CheckGrant(const StartAttempt& start) {
  const AttemptRef& ref = start.ref;
  if (start.config != present_configs_[ref.trial]) {
    Fail(Describe(ref) + " is granted with another configuration than its trial has");
  }
  const bool is_saved =
      start.from_iteration == 0 || saved_[ref.trial].contains(start.from_iteration);
  if (!is_saved) {
    Fail(Describe(ref) + " begins after iteration " + std::to_string(start.from_iteration) +
         ", which no checkpoint has");
  }
  if (start.checkpoint_path.empty()) return;
  if (environment_.disk.Find(start.checkpoint_path + "/state") == nullptr) {
    Fail(Describe(ref) + " begins from " + start.checkpoint_path + ", which is not there");
  }
  if (!start.has_other_config && configs_of_checkpoints_[start.checkpoint_path] != start.config) {
    Fail(Describe(ref) + " is not told that its checkpoint has another configuration");
  }
}

// ---- rows

void CommitLog::TakeTrials(const Transition& transition) {
  for (const NewTrialRow& row : transition.new_trials) {
    if (!trials_.emplace(row.trial.number, row.trial).second) Fail("a trial was made twice");
    configurations_[row.trial.number] = row.configuration;
    present_configs_[row.trial.number] = ToJson(row.configuration.ToNested());
    turns_.back().added.push_back(row.trial.number);
    turns_.back().statuses.emplace_back(row.trial.number, row.trial.status);
  }
  for (const TrialRow& row : transition.trials) {
    turns_.back().statuses.emplace_back(row.number, row.status);
    TrialRow& before = trials_[row.number];
    if (IsOver(before) && !may_reopen_.contains(row.number) &&
        (row.status != before.status || row.stop_reason != before.stop_reason ||
         row.iterations != before.iterations || row.last_value != before.last_value ||
         row.best_value != before.best_value || row.best_violation != before.best_violation)) {
      Fail("trial " + std::to_string(row.number.value) + " changed after it was over");
    }
    before = row;
  }
  may_reopen_.clear();
}

void CommitLog::TakeAttempts(const Transition& transition) {
  for (const AttemptRow& row : transition.attempts) {
    const auto key = std::pair(row.trial, row.number);
    const auto before = attempts_.find(key);
    const std::string name = "attempt " + std::to_string(row.number.value) + " of trial " +
                             std::to_string(row.trial.value);
    if (before == attempts_.end()) {
      if (row.number.value > 1 &&
          !attempts_.contains({row.trial, AttemptNumber{row.number.value - 1}})) {
        Fail(name + " has none before it");
      }
      if (row.from_iteration != 0 && !saved_[row.trial].contains(row.from_iteration)) {
        Fail(name + " goes on from an iteration without a checkpoint");
      }
    } else if (before->second.outcome != Outcome::kRunning) {
      Fail(name + " ended twice");
    } else if (row.from_iteration != before->second.from_iteration ||
               row.started_at != before->second.started_at) {
      Fail(name + " changed its beginning");
    }
    if ((row.outcome == Outcome::kRunning) == row.finished_at.has_value()) {
      Fail(name + " has an outcome that does not go with its end");
    }
    attempts_[key] = row;
    if (row.outcome == Outcome::kRunning) continue;
    turns_.back().ended.push_back(row.trial);
    std::erase_if(leases_, [&row](const auto& lease) {
      return lease.first.first == row.trial && lease.second.ref.attempt == row.number;
    });
  }
}

void CommitLog::TakeCheckpoints(const Transition& transition) {
  for (const CheckpointRow& row : transition.checkpoints) {
    checkpoints_[{row.trial, row.iteration, row.ref.path}] = row;
    if (row.state != CheckpointState::kRemoved) continue;
    for (const auto& [trial, path] : resume_paths_) {
      if (path != row.ref.path || IsOver(trials_[trial])) continue;
      Fail("the checkpoint " + row.ref.path + ", from which trial " + std::to_string(trial.value) +
           " would go on, is given up");
    }
  }
}

// ---- what leaves the process

// Where the machines name an attempt alone, it has its sweep on the wire.
void CommitLog::Sent(WorkerId worker, const ToWorker& sent) {
  ToWorker message = sent;
  const auto unmark = [this](ExperimentId& sweep) {
    if (sweep != experiment_->id) Fail("a message names another sweep than the tuner's");
    sweep = {};
  };
  std::visit(
      [&unmark](auto& m) {
        if constexpr (requires { m.ref; }) unmark(m.ref.sweep);
        if constexpr (requires { m.sweeps; }) {
          for (SweepInfo& sweep : m.sweeps) unmark(sweep.sweep);
        }
      },
      message);
  if (std::holds_alternative<Heartbeat>(message)) return;  // No decision.
  if (const auto* const removed = std::get_if<RemoveCached>(&message)) {
    const auto owner = trials_.find(TrialNumber{TrialOfCheckpoint(removed->path).value_or(-1)});
    const bool is_over = owner != trials_.end() && IsOver(owner->second);
    if (is_over || environment_.disk.Find(removed->path + "/state") == nullptr) return;
    return Fail(removed->path + " is said to be needed no more, and is there");
  }
  std::deque<Fingerprint>& expected = to_send_[worker];
  if (expected.empty() || expected.front() != FingerprintOf(message)) {
    if (NeedsNoCommit(worker, message)) return;
    return Fail("a message left the tuner for worker " + std::to_string(worker.value) +
                " that was not committed: " + Describe(message));
  }
  expected.pop_front();
}

// What was decided before may be said again, and what comes under no lease of the worker's refused.
bool CommitLog::NeedsNoCommit(WorkerId worker, const ToWorker& message) const {
  const auto* const answer = std::get_if<AnswerReport>(&message);
  if (answer == nullptr) return false;
  const auto before = answers_.find({answer->ref, answer->sequence});
  if (before != answers_.end() && before->second == answer->answer) return true;
  const auto lease = leases_.find({answer->ref.trial, 0});
  const bool is_alive =
      lease != leases_.end() && lease->second.ref == answer->ref && lease->second.worker == worker;
  return answer->answer == ReportAnswer::kRefused && !is_alive;
}

bool CommitLog::IsLeased(TrialNumber trial, AttemptNumber attempt) const {
  const auto lease = leases_.find({trial, 0});
  return lease != leases_.end() && lease->second.ref.attempt == attempt;
}

void CommitLog::RemovedCheckpoint(const std::string& path) {
  if (to_remove_.erase(path) == 0) Fail(path + " was removed without a commit that says so");
}

void CommitLog::TunerDied() {
  to_send_.clear();
  to_remove_.clear();
}

}  // namespace tune::sim
