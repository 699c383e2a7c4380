#include "tuner/experiment_controller.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/check.h"
#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "trial_runner/end_notes.h"
#include "tuner/artifact_path.h"
#include "tuner/best_trial.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

constexpr char kIterationName[] = "training_iteration";
constexpr char kTimeTotalName[] = "time_total";
// Far above the steps of an epoch: a program may report each step and validate once an epoch.
constexpr int64_t kReportsWithoutMetricMax = 10'000;

// As two runs of one arithmetic differ on a device.
constexpr double kRoundingMax = 1e-6;

std::string ShortNumber(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

bool IsCommand(const Value& trainable) {
  return trainable.is_map() && trainable.Find("command") != nullptr;
}

}  // namespace

ExperimentController::ExperimentController(ControllerOptions options,
                                           std::unique_ptr<Searcher> searcher,
                                           std::unique_ptr<TrialScheduler> scheduler)
    : options_(std::move(options)),
      searcher_(std::move(searcher)),
      scheduler_(std::move(scheduler)),
      retention_(options_.spec.checkpoint, options_.spec.mode),
      samples_(options_.spec.samples),
      trial_count_max_(TrialCountOf(options_.spec, options_.space, samples_)),
      max_concurrent_(options_.spec.limits.max_concurrent),
      repeated_runs_(RepeatCount(options_.spec.search)) {}

void ExperimentController::RestoreSuggestions(
    std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
  for (auto& [number, configuration] : suggestions) {
    suggestions_.emplace(number, std::move(configuration));
  }
}

bool ExperimentController::HasMoreToCreate() const {
  return !space_exhausted_ &&
         (trial_count_max_ < 0 || static_cast<int64_t>(trials_.size()) < trial_count_max_);
}

Transition ExperimentController::Apply(const std::vector<Event>& events, Instant now) {
  now_ = now;
  if (!life_start_) life_start_ = last_active_ = now;
  for (const Event& event : events) {
    std::visit([this](const auto& e) { On(e); }, event);
  }
  CheckTimeLimits();
  Fill();
  TellWhetherMoreCome();
  WatchForUnplaceable();
  FinishIfDone();
  CheckInvariants();
  return TakeTransition();
}

// ---- reports

void ExperimentController::On(const ReportArrived& event) {
  const AttemptReport& message = event.message;
  const AttemptRef& ref = message.ref;
  const bool is_known = ref.trial.value >= 0 &&
                        ref.trial.value < static_cast<int64_t>(trials_.size()) &&
                        leases_.IsRunning(event.worker, ref) && At(ref.trial).lease == ref;
  if (!is_known) {
    if (leases_.HasWorker(event.worker)) {
      Send(event.worker, AnswerReport{ref, message.sequence, ReportAnswer::kRefused});
    }
    return;
  }
  TrialRecord& trial = At(ref.trial);
  if (message.sequence <= trial.last_sequence) {
    // It came twice: the same answer again.
    Send(event.worker, AnswerReport{ref, message.sequence, trial.last_answer});
    return;
  }
  if (!trial.takes_reports()) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    return;
  }
  if (const auto objection = Objection(trial, message.report)) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    Kill(trial, Outcome::kCrashed, *objection);
    return;
  }

  RemoveCheckpoints(retention_.Unpin(trial.row.number));
  SayNote(trial, message.report.note);
  CompareBeginnings(trial, message.report);
  const Report report = Joined(trial, message.report);
  const Metric value = FindObjective(report.metrics, options_.spec.metric);
  std::optional<Decision> decision;
  if (trial.open_iteration == 0) decision = Decide(trial, report, value);
  NotePace(trial);
  trial.progress_at = now_;
  WorkerRecord& reporter = workers_.at(event.worker);
  reporter.has_reported = true;
  reporter.failed_starts = 0;
  unproven_.erase(event.worker);
  out_.reports.push_back(
      ReportRow{ref.trial, ref.attempt, report.iteration, value, report.metrics, now_, decision});
  MeasureLanes(trial, report);
  KeepCheckpoint(trial, report, value);
  const StopReason reason = ReasonToStop(trial, report, decision);
  if (reason == StopReason::kStopCondition && trial.row.iterations == 0) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    Kill(trial, Outcome::kBadConfig,
         "no_metric: a condition of `stop` ended it before it ever reported " +
             options_.spec.metric);
    return;
  }
  if (!trial.has_reported_metric && ++trial.reports_without_metric >= kReportsWithoutMetricMax) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    Kill(trial, Outcome::kBadConfig,
         "no_metric: it was ended, since none of its " + std::to_string(kReportsWithoutMetricMax) +
             " reports had " + options_.spec.metric);
    return;
  }
  ReportAnswer answer = ReportAnswer::kContinue;
  if (reason != StopReason::kNone) {
    EndTrial(trial, TrialStatus::kTerminated, reason);
    answer = ReportAnswer::kStop;
  } else {
    const auto command = CommandToPause(trial, report);
    const bool by_scheduler = decision && decision->verdict == Verdict::kPause;
    if (by_scheduler) trial.held_by_scheduler = true;
    if (command) trial.held_by_command = command;
    if (trial.is_held()) {
      Pause(trial);
      answer = ReportAnswer::kStop;
    } else if (MayPauseAfter(trial, trial.attempt_iteration)) {
      answer = ReportAnswer::kSave;
    }
  }
  Answer(event.worker, trial, message, answer);
  MarkChanged(trial);
  if (decision) FollowOrders();
}

// The report with what its iteration has so far. Without a value of the sweep's metric, be it NaN,
// the iteration stays open: it is stored, and neither scheduler nor searcher hear of it.
Report ExperimentController::Joined(TrialRecord& trial, const Report& part) {
  Metrics metrics = part.metrics;
  for (const auto& open : trial.open_metrics) {
    const bool goes_on = part.iteration == trial.open_iteration;
    if (goes_on && !HasMetric(metrics, open.first)) metrics.push_back(open);
  }
  const bool is_constrained = !options_.spec.scores.constrained_names().empty();
  if (part.final && is_constrained) {
    for (const auto& held : trial.held_metrics) {
      if (!HasMetric(metrics, held.first)) metrics.push_back(held);
    }
  }
  Report report = part;
  report.metrics = options_.spec.scores.Scored(metrics);
  if (HasMetric(report.metrics, options_.spec.metric)) {
    const bool has_parts = trial.open_iteration != 0;
    if (!trial.has_reported_metric) trial.first_was_whole = !has_parts;
    trial.later_had_parts = trial.later_had_parts || has_parts;
    trial.has_reported_metric = true;
    SayMissingConstraint(trial, metrics);
    if (is_constrained) trial.held_metrics = metrics;
    alike_failures_.OnSuccess();
    trial.attempt_iteration = part.iteration;
    trial.open_iteration = 0;
    trial.open_metrics.clear();
  } else {
    SayMissingMetric(trial, metrics);
    trial.open_iteration = part.iteration;
    trial.open_metrics = std::move(metrics);
  }
  return report;
}

// Of a program, before any trial has reported the sweep's metric: once at the first report, and
// once where another name seems to be meant.
void ExperimentController::SayMissingMetric(const TrialRecord& trial, const Metrics& metrics) {
  if (alike_failures_.has_success() || !IsCommand(options_.spec.trainable)) return;
  if (said_meant_metric_) return;
  std::vector<std::string_view> names;
  std::string reported;
  for (const auto& [name, value] : metrics) {
    names.push_back(name);
    reported += (reported.empty() ? "" : ", ") + name;
  }
  std::string wanted;
  std::string meant;
  for (const std::string& name : options_.spec.scores.reported_names()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    wanted += (wanted.empty() ? "" : ", ") + name;
    const auto nearest = NearestName(name, names);
    if (nearest && meant.empty()) meant = "; did you mean '" + std::string(*nearest) + "'?";
  }
  if (std::exchange(said_missing_metric_, true) && meant.empty()) return;
  said_meant_metric_ = !meant.empty();
  out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) + " reports " +
                             reported + "; the sweep wants " + wanted + meant +
                             (meant.empty() ? ", which has not come yet;" : "") +
                             " reports without it are stored and are no iterations"});
}

// Once: it may come with a later report, or be named otherwise.
void ExperimentController::SayMissingConstraint(const TrialRecord& trial, const Metrics& metrics) {
  if (said_missing_constraint_) return;
  for (const std::string& name : options_.spec.scores.constrained_names()) {
    if (FindVariable(metrics, name)) continue;
    said_missing_constraint_ = true;
    std::vector<std::string_view> names;
    for (const auto& metric : metrics) names.push_back(metric.first);
    const auto nearest = NearestName(name, names);
    SayDoubt(trial, "missing constraint",
             "trial " + std::to_string(trial.row.number.value) + " reports " +
                 options_.spec.metric + " and no number as " + name +
                 ", which metric_constraints name; such a report is never the best" +
                 (nearest ? "; did you mean '" + std::string(*nearest) + "'?" : ""));
    return;
  }
}

// Its kind is what stands before its colon.
void ExperimentController::SayNote(const TrialRecord& trial, const std::string& note) {
  if (note.empty()) return;
  SayDoubt(trial, note.substr(0, note.find(':')),
           "trial " + std::to_string(trial.row.number.value) + ": " + note);
}

void ExperimentController::SayDoubt(const TrialRecord& trial, const std::string& kind,
                                    const std::string& text) {
  std::optional<Doubts::Added> added = doubts_.Add(trial.row.number, kind, text);
  if (!added) return;
  out_.notes.push_back(std::move(added->row));
  if (added->is_first) out_.actions.push_back(Say{text});
}

// Each iteration had those of the one before it. What comes once, at the end, is meant so.
void ExperimentController::SayLateParts(const TrialRecord& trial) {
  const bool is_late = trial.first_was_whole && trial.later_had_parts;
  if (!is_late || trial.open_metrics.empty()) return;
  const std::string& late = trial.open_metrics.front().first;
  const std::string& metric = options_.spec.metric;
  SayNote(trial, "'" + late + "' is reported behind '" + metric +
                     "', which makes the iteration: each iteration has the '" + late +
                     "' of the one before, and the last one is of none; report both in one call, "
                     "or '" +
                     metric + "' last");
}

void ExperimentController::SayProgramChanges(const TrialRecord& trial) {
  if (program_changes_.empty()) return;
  std::string text = "trial " + std::to_string(trial.row.number.value) +
                     " runs what was changed since the sweep began, so that its values may not"
                     " compare with those of before: ";
  for (const std::string& line : program_changes_) {
    text += (&line == &program_changes_.front() ? "" : "; ") + line;
  }
  SayDoubt(trial, "program changed", text);
}

// What an attempt reports again, behind the checkpoint that it went on from: values that differ
// from those of the attempt before belong to another run, and the trial's curve is of both.
void ExperimentController::CompareWithBefore(TrialRecord& trial, const Report& report,
                                             Metric value) {
  std::optional<TrialRecord::Unsaved>& unsaved = trial.first_unsaved;
  if (!value) return;
  if (!unsaved || unsaved->iteration <= trial.resume_iteration) {
    unsaved = {report.iteration, *value, trial.attempt.number};
    return;
  }
  if (report.iteration != unsaved->iteration || trial.attempt.number == unsaved->attempt) return;
  const double size = std::max(std::abs(*value), std::abs(unsaved->value));
  if (std::abs(*value - unsaved->value) <= kRoundingMax * size) return;
  const int64_t from = trial.attempt.from_iteration;
  SayNote(trial,
          "its curve is made of runs that differ: attempt " +
              std::to_string(trial.attempt.number.value) +
              (from == 0 ? " was given no checkpoint"
                         : " went on from the checkpoint of iteration " + std::to_string(from)) +
              " and reports " + ShortNumber(*value) + " at iteration " +
              std::to_string(report.iteration) + ", where attempt " +
              std::to_string(unsaved->attempt.value) + " had reported " +
              ShortNumber(unsaved->value) +
              ", which stands; save checkpoints, with all that the program goes on from, or "
              "let it draw by TUNE_SEED alone; if it goes on by itself, let `iteration` (or step) "
              "say where it is");
}

void ExperimentController::CompareBeginnings(const TrialRecord& trial, const Report& report) {
  const bool is_first_report = trial.last_sequence == 0 && trial.attempt.from_iteration == 0;
  if (!is_first_report || trial.attempt.number.value != 1) return;
  for (const std::string& line : compared_trials_.OnFirstReport(
           trial.row.number, report.iteration, ParseFirstReading(report.reading))) {
    SayNote(trial, line);
  }
}

std::optional<std::string> ExperimentController::Objection(const TrialRecord& trial,
                                                           const Report& report) const {
  if (report.iteration <= trial.attempt_iteration || report.iteration < trial.open_iteration) {
    const int64_t before = std::max(trial.attempt_iteration, trial.open_iteration);
    return "reported iteration " + std::to_string(report.iteration) + " after iteration " +
           std::to_string(before) + "; iterations must rise";
  }
  const std::string& path = report.checkpoint.path;
  if (report.has_checkpoint && !path.empty() && !WithinArtifacts(trial, path)) {
    return "reported a checkpoint outside of its artifact folder: " + path;
  }
  return std::nullopt;
}

// Told by the end of the folder's path, .../<name>/<trial number>/: a replay must come to the same
// answer where the database was moved since.
std::optional<std::string> ExperimentController::WithinArtifacts(const TrialRecord& trial,
                                                                 const std::string& path) const {
  return WithinTrialFolder(path, options_.name, trial.row.number.value);
}

// Nothing for an iteration that was reported before a retry: it is stored and reaches no one. One
// that comes again with another trial's configuration counts for the trial's best alone.
std::optional<Decision> ExperimentController::Decide(TrialRecord& trial, const Report& report,
                                                     Metric value) {
  TrialRow& row = trial.row;
  CompareWithBefore(trial, report, value);
  if (report.iteration <= trial.config_iteration) return std::nullopt;
  trial.config_iteration = report.iteration;
  const bool is_new = report.iteration > row.iterations;
  if (TakeValue(report.iteration, value, options_.spec.mode, row)) {
    trial.best_configuration.reset();
    trial.best_lineage = trial.exploit_count;
  }
  if (!is_new) return std::nullopt;
  repeated_runs_.OnReport(row.number, report.iteration, value);
  compared_trials_.OnReport(row.number, report.iteration, value);
  TellSearcher(trial, report, value);
  return scheduler_->OnReport(row.number, report.iteration,
                              FindProvisional(report.metrics, options_.spec.metric));
}

void ExperimentController::TellSearcher(TrialRecord& trial, const Report& report, Metric value) {
  trial.last_values = {value};
  for (const Objective& objective : options_.spec.more_objectives) {
    trial.last_values.push_back(FindObjective(report.metrics, objective.metric));
    if (FindMetric(report.metrics, objective.metric) ||
        std::exchange(said_missing_objective_, true))
      continue;
    SayDoubt(trial, "missing objective",
             "trial " + std::to_string(trial.row.number.value) + " reported no " +
                 objective.metric + ": a report without one of the objectives counts for nothing");
  }
  const bool is_whole = std::all_of(trial.last_values.begin(), trial.last_values.end(),
                                    [](const Metric& metric) { return metric.has_value(); });
  if (is_whole) {
    trial.whole_values.clear();
    for (const Metric& metric : trial.last_values) trial.whole_values.push_back(*metric);
  }
  searcher_->OnReport(trial.row.number, report.iteration, trial.last_values);
}

StopReason ExperimentController::ReasonToStop(const TrialRecord& trial, const Report& report,
                                              const std::optional<Decision>& decision) const {
  // One that never reported the metric has not completed: its end says so.
  if (report.final && trial.row.iterations > 0) return StopReason::kCompleted;
  for (const StopCondition& condition : options_.spec.stop) {
    Metric reached;
    if (condition.metric == kIterationName) {
      reached = static_cast<double>(trial.attempt_iteration);
    } else if (condition.metric == kTimeTotalName) {
      reached = trial.row.run_seconds + (now_ - trial.running_since()).seconds();
    } else {
      reached = FindMetric(report.metrics, condition.metric);
    }
    if (reached &&
        (condition.at_or_above ? *reached >= condition.value : *reached <= condition.value)) {
      return StopReason::kStopCondition;
    }
  }
  if (decision && decision->verdict == Verdict::kStop) {
    return decision->cause == StopCause::kMaxT ? StopReason::kMaxT : StopReason::kScheduler;
  }
  if (sweep_over_) return StopReason::kSweepLimit;
  if (end_status_ == ExperimentStatus::kStopped) return end_reason_;
  return trial.is_stop_wanted ? StopReason::kUser : StopReason::kNone;
}

// Whether the scheduler may pause it at its next iteration, which then needs a checkpoint, so that
// nothing is trained twice.
bool ExperimentController::MayPauseAfter(const TrialRecord& trial, int64_t iteration) const {
  return options_.spec.checkpoint.every > 1 && iteration >= trial.row.iterations &&
         scheduler_->PausesAt(trial.row.number, iteration + 1);
}

// Commands wait for a checkpoint, so that nothing is trained twice.
std::optional<PauseCommand> ExperimentController::CommandToPause(const TrialRecord& trial,
                                                                 const Report& report) const {
  if (!report.has_checkpoint) return std::nullopt;
  if (trial.pause_wanted) return trial.pause_wanted;
  return is_paused_ ? std::optional(PauseCommand::kSweep) : std::nullopt;
}

void ExperimentController::KeepCheckpoint(TrialRecord& trial, const Report& report, Metric value) {
  if (!report.has_checkpoint) return;
  trial.resume_iteration = report.iteration;
  trial.resume_path = WithinArtifacts(trial, report.checkpoint.path).value_or("");
  trial.resume_owner.reset();
  trial.resume_has_other_config = false;
  if (report.checkpoint.path.empty()) return;  // All there is to it is its iteration.
  out_.checkpoints.push_back(CheckpointRow{trial.row.number, report.iteration, report.checkpoint,
                                           CheckpointState::kDurable});
  RemoveCheckpoints(retention_.Add(
      {trial.row.number, report.iteration, report.checkpoint, value, trial.exploit_count}));
  if (!retention_.is_over_budget() || said_over_budget_) return;
  said_over_budget_ = true;
  out_.actions.push_back(
      Say{"checkpoint.disk_budget: " + std::to_string(retention_.bytes()) +
          " bytes of checkpoints are needed by trials that are not over, more than the budget of " +
          std::to_string(*options_.spec.checkpoint.disk_budget_bytes) + "; they stay"});
}

void ExperimentController::RemoveCheckpoints(
    const std::vector<CheckpointRetention::Entry>& removed) {
  for (const CheckpointRetention::Entry& entry : removed) {
    out_.checkpoints.push_back(
        CheckpointRow{entry.trial, entry.iteration, entry.ref, CheckpointState::kRemoved});
    // Where it lies now: the database may have been moved since.
    const auto within = WithinTrialFolder(entry.ref.path, options_.name, entry.trial.value);
    out_.actions.push_back(RemoveCheckpoint{
        within ? options_.artifact_root + "/" + std::to_string(entry.trial.value) + "/" + *within
               : entry.ref.path});
  }
}

void ExperimentController::Answer(WorkerId worker, TrialRecord& trial, const AttemptReport& message,
                                  ReportAnswer answer) {
  trial.last_sequence = message.sequence;
  trial.last_answer = answer;
  Send(worker, AnswerReport{message.ref, message.sequence, answer});
}

// ---- ends

void ExperimentController::On(const AttemptFinished& event) {
  const LeaseTable::Ended ended = leases_.End(event.worker, event.message.ref);
  if (leases_.HasWorker(event.worker) && !workers_.at(event.worker).is_local) {
    acknowledge_.insert(event.worker);
  }
  if (!ended.known) return;
  TrialRecord& trial = At(event.message.ref.trial);
  if (event.message.outcome == Outcome::kPreempted && !trial.is_told_to_end && GivesOut()) {
    // It was not we who ended it: the worker is about to leave.
    Drain(event.worker);
  }
  if (!ended.was_running) {
    DropFromQueue(trial);
    return;
  }
  EndRank(trial, event.message);
  if (!ended.begun) return;
  TrialRecord& next = At(ended.begun->ref.trial);
  Move(next, TrialCause::kBegan);
  BeginAttempt(next, event.worker);
}

// The end of one rank is that of all, but for one that has trained all there was and waits for
// nobody. The cause is what the first one says that was not only told to end, or misses another.
void ExperimentController::EndRank(TrialRecord& trial, const AttemptEnded& end) {
  const bool is_done = trial.lease != end.ref && end.outcome == Outcome::kCompleted;
  const bool was_told = trial.are_ranks_told_to_end && end.outcome == Outcome::kPreempted;
  const bool knows_no_cause = !trial.rank_end || trial.rank_end->detail == EndDetail::kRankLost;
  if (!is_done && !was_told && knows_no_cause) trial.rank_end = end;
  if (--trial.ranks_left == 0) {
    const AttemptEnded last = trial.rank_end.value_or(end);
    EndAttempt(trial, trial.verdict ? *trial.verdict : last);
  } else if (!is_done) {
    EndRanksLeft(trial);
  }
}

void ExperimentController::EndRanksLeft(TrialRecord& trial) {
  NoteToldToEnd(trial);
  trial.are_ranks_told_to_end = true;
  for (const LeaseTable::Lease& rank : leases_.RanksOf(trial.row.number)) {
    Send(rank.placement.worker, KillAttempt{rank.ref, true});
  }
}

// Before it began.
void ExperimentController::DropFromQueue(TrialRecord& trial) {
  DropLease(trial);
  Move(trial, TrialCause::kDropped);
  WaitForLease(trial);
}

void ExperimentController::DropLease(TrialRecord& trial) {
  RemoveCheckpoints(retention_.Unpin(trial.row.number));
  trial.lease.reset();
}

void ExperimentController::EndAttempt(TrialRecord& trial, const AttemptEnded& end) {
  TUNE_CHECK(trial.lease.has_value());
  const Duration ran = now_ - trial.running_since();
  // One that found the disk full waits for the person, and costs its trial nothing.
  trial.attempt.outcome = end.detail == EndDetail::kDiskFull ? Outcome::kPreempted : end.outcome;
  trial.attempt.error = end.error.substr(0, limits::kErrorBytesMax);
  trial.attempt.finished_at = now_;
  trial.row.run_seconds += ran.seconds();
  // An exponential mean with weight 1/8 follows the sweep's pace and is exact in integers.
  mean_attempt_ =
      mean_attempt_ ? Duration{mean_attempt_->us + (ran.us - mean_attempt_->us) / 8} : ran;
  DropLease(trial);
  for (const std::string& note : EndNotesOf(end.outcome, end.error)) SayNote(trial, note);
  Move(trial, TrialCause::kEnd);
  AfterAttempt(trial, end);
  trial.verdict.reset();
  out_.attempts.push_back(trial.attempt);
  MarkChanged(trial);
}

void ExperimentController::AfterAttempt(TrialRecord& trial, const AttemptEnded& end) {
  if (trial.is_over()) {
    trial.row.finished_at = now_;
    return;
  }
  if (end.outcome == Outcome::kCompleted) {
    if (trial.row.iterations == 0) {
      Fail(trial, "ended without reporting " + options_.spec.metric);
    } else {
      SayLateParts(trial);
      EndTrial(trial, TrialStatus::kTerminated, StopReason::kCompleted);
    }
    return;
  }
  if (trial.is_paused()) return;
  if (end.detail == EndDetail::kBadCheckpoint && trial.attempt.from_iteration > 0) {
    LeaveBadCheckpoint(trial);
    WaitForLease(trial);
    return;
  }
  if (end.detail == EndDetail::kDiskFull) {
    WaitForLease(trial);
    if (end_status_) return;
    out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) + ": " +
                               end.error + "; the sweep stops until there is room"});
    StopGiving(ExperimentStatus::kInterrupted);
    return;
  }
  // One that has its last answer owes nothing, however its process ends.
  const bool is_free = trial.last_answer == ReportAnswer::kStop;
  if (!is_free && IsFailure(end.outcome, options_.spec.failure)) {
    AfterFailure(trial, end);
  } else {
    WaitForLease(trial);
  }
}

void ExperimentController::AfterFailure(TrialRecord& trial, const AttemptEnded& end) {
  ++trial.failures[end.outcome];
  NoteFailure(trial, end.outcome);
  const FailureAnswer answer =
      AnswerFailure(options_.spec.failure, {end.outcome, trial.row.number, MayHaveMore(trial)},
                    trial.failures, options_.seed);
  if (answer.gives_up) {
    if (!answer.why.empty()) {
      trial.attempt.error += (trial.attempt.error.empty() ? "" : "; ") + answer.why;
    }
    Fail(trial, trial.attempt.error);
    return;
  }
  trial.on_whole_device = trial.on_whole_device || answer.on_whole_device;
  WaitForLease(trial);
  if (answer.wait.us <= 0 || trial.state != TrialState::kWaiting) return;
  trial.retry_at = now_ + answer.wait;
  Move(trial, TrialCause::kBackOff);
}

// Whether it has shares of devices that could be whole ones. Of several ranks each needs its own.
bool ExperimentController::MayHaveMore(const TrialRecord& trial) const {
  ResourceRequest request = RequestOf(trial);
  if (request.gpu_milli == 0 || request.gpu_milli >= kWholeMilli) return false;
  request.gpu_milli = kWholeMilli;
  // A worker that is away may be one of those that are here, started anew.
  return request.workers == 1 || leases_.CouldPresentTake(request);
}

// What it should have gone on from cannot be used: the next attempt takes the one before, or
// begins anew.
void ExperimentController::LeaveBadCheckpoint(TrialRecord& trial) {
  const TrialNumber owner = trial.resume_owner.value_or(trial.row.number);
  if (const auto dropped = retention_.Drop(owner, trial.resume_path)) {
    out_.checkpoints.push_back(
        CheckpointRow{dropped->trial, dropped->iteration, dropped->ref, CheckpointState::kCorrupt});
  }
  // None is later: the attempt that should have gone on from it saved nothing.
  GoOnFromLatest(trial);
  trial.attempt.error +=
      "; going on from " + (trial.resume_iteration == 0
                                ? std::string("the start")
                                : "iteration " + std::to_string(trial.resume_iteration));
  out_.actions.push_back(
      Say{"trial " + std::to_string(trial.row.number.value) + ": " + trial.attempt.error});
}

// The kept checkpoint that is its latest, or the start.
void ExperimentController::GoOnFromLatest(TrialRecord& trial) {
  const CheckpointRetention::Entry* const latest = retention_.Latest(trial.row.number);
  trial.resume_iteration = latest == nullptr ? 0 : latest->iteration;
  trial.resume_owner.reset();
  trial.resume_has_other_config = latest != nullptr && latest->lineage != trial.exploit_count;
  trial.resume_path =
      latest == nullptr ? "" : WithinArtifacts(trial, latest->ref.path).value_or("");
}

void ExperimentController::WaitForLease(TrialRecord& trial) {
  if (trial.is_over() || trial.is_paused()) return;
  if (const StopReason reason = ReasonNotToGoOn(trial); reason != StopReason::kNone) {
    EndTrial(trial, TrialStatus::kTerminated, reason);
    return;
  }
  if (HasUsedItsTime(trial, Duration{})) return EndByTrialTime(trial);
  MarkChanged(trial);
  if (trial.pause_wanted) PauseByCommand(trial, *trial.pause_wanted);
}

// Why no attempt of it would begin any more, now or later.
StopReason ExperimentController::ReasonNotToGoOn(const TrialRecord& trial) const {
  if (sweep_over_) return StopReason::kSweepLimit;
  if (end_status_ == ExperimentStatus::kStopped) return end_reason_;
  return trial.is_stop_wanted ? StopReason::kUser : StopReason::kNone;
}

void ExperimentController::EndTrial(TrialRecord& trial, TrialStatus status, StopReason reason) {
  CloseTrial(trial, status, reason);
  scheduler_->OnTrialEnded(trial.row.number, status == TrialStatus::kError);
  FollowOrders();
}

// The scheduler knows, or is told by the caller.
void ExperimentController::CloseTrial(TrialRecord& trial, TrialStatus status, StopReason reason) {
  Move(trial, TrialCause::kOver);
  trial.row.status = status;
  trial.row.stop_reason = reason;
  trial.row.finished_at = now_;
  RemoveCheckpoints(retention_.OnTrialOver(trial.row.number, status == TrialStatus::kError));
  trial.held_by_scheduler = false;
  trial.held_by_command.reset();
  trial.pause_wanted.reset();
  trial.is_stop_wanted = false;
  trial.last_values.resize(1 + options_.spec.more_objectives.size());  // It may have said nothing.
  searcher_->OnTrialEnded(trial.row.number, trial.last_values, status == TrialStatus::kError);
  const auto alike = repeated_runs_.OnTrialEnded(trial.row.number, status == TrialStatus::kError);
  if (IsCommand(options_.spec.trainable)) {
    if (alike) SayDoubt(trial, "runs alike", *alike);
    SayDoubtsAtEnd(trial);
  }
  MarkChanged(trial);
}

void ExperimentController::SayDoubtsAtEnd(const TrialRecord& trial) {
  const bool has_failed = trial.row.status == TrialStatus::kError;
  const bool is_repeated = RepeatCount(options_.spec.search) > 1;
  const auto alike = is_repeated ? std::nullopt
                                 : compared_trials_.OnTrialEnded(trial.row.number,
                                                                 trial.configuration, has_failed);
  if (alike) SayDoubt(trial, "trials alike", *alike);
  if (has_failed || trial.row.iterations == 0 || trial.row.best_value) return;
  SayNote(trial, "it ended without a value: all that it reported as " + options_.spec.metric +
                     (options_.spec.scores.constrained_names().empty()
                          ? " is NaN or infinite"
                          : " is NaN, infinite or against metric_constraints") +
                     ", and it is never the best");
}

void ExperimentController::Fail(TrialRecord& trial, const std::string& error) {
  EndTrial(trial, TrialStatus::kError, StopReason::kNone);
  ++error_count_;
  const bool all_fail_alike =
      !trial.has_reported_metric && alike_failures_.Add(trial.attempt.outcome, error);
  if (end_status_) return;
  const auto& failed_max = options_.spec.limits.failed_trials;
  if (failed_max && error_count_ >= *failed_max) {
    out_.actions.push_back(
        Say{"limits.failed_trials: " + Counted(error_count_, "trial") + " failed; the sweep ends"});
    EndSweep(StopReason::kSweepLimit, true);
  } else if (all_fail_alike) {
    out_.actions.push_back(Say{
        "all " + std::to_string(alike_failures_.count()) +
        " trials so far failed alike, before any report of " + options_.spec.metric +
        "; the sweep ends. When the cause is mended: tune resume " + options_.name + " --errored"});
    EndSweep(StopReason::kSweepLimit, true);
  }
}

// The worker ends the process; what we say here stands as the attempt's end.
void ExperimentController::Kill(TrialRecord& trial, Outcome outcome, const std::string& error) {
  if (trial.verdict) return;
  trial.verdict = AttemptEnded{*trial.lease, outcome, error};
  if (trial.takes_reports()) Move(trial, TrialCause::kCondemn);
  TellToEnd(*trial.attempt.worker, trial);
}

// Of several ranks only the first has something to save: its end is the others'.
void ExperimentController::TellToEnd(WorkerId worker, TrialRecord& trial) {
  NoteToldToEnd(trial);
  if (trial.ranks_left > 1 && !trial.is_to_go_on()) return EndRanksLeft(trial);
  Send(worker, KillAttempt{*trial.lease, !trial.is_to_go_on()});
}

void ExperimentController::NoteToldToEnd(TrialRecord& trial) {
  trial.is_told_to_end = true;
  const bool is_news = trial.state == TrialState::kQueued || trial.state == TrialState::kRunning;
  if (is_news) Move(trial, TrialCause::kTellToEnd);
}

// Who holds its lease.
std::optional<WorkerId> ExperimentController::Holder(const TrialRecord& trial) const {
  if (!trial.lease) return std::nullopt;
  for (const auto& [worker, ref] : leases_.All()) {
    if (ref == *trial.lease) return worker;
  }
  return std::nullopt;
}

// ---- the transition

// The one place where a trial's state changes; the table says whether it may.
void ExperimentController::Move(TrialRecord& trial, TrialCause cause) {
  const std::optional<TrialState> next = NextTrialState(trial.state, cause);
  TUNE_CHECK(next.has_value());
  Unlist(trial);
  trial.state = *next;
  if (trial.state != TrialState::kBackingOff) trial.retry_at.reset();
  List(trial);
  if (const auto status = StatusOf(*next)) trial.row.status = *status;
  moved_.insert(trial.row.number);
}

void ExperimentController::List(const TrialRecord& trial) {
  if (trial.state == TrialState::kWaiting) waiting_.insert(trial.row.number);
  if (trial.state == TrialState::kBackingOff) {
    backing_off_.insert({*trial.retry_at, trial.row.number});
  }
  if (trial.is_paused()) paused_.insert(trial.row.number);
}

void ExperimentController::Unlist(const TrialRecord& trial) {
  if (trial.state == TrialState::kWaiting) waiting_.erase(trial.row.number);
  if (trial.state == TrialState::kBackingOff) {
    backing_off_.erase({*trial.retry_at, trial.row.number});
  }
  if (trial.is_paused()) paused_.erase(trial.row.number);
}

void ExperimentController::Send(WorkerId worker, ToWorker message) {
  out_.actions.push_back(SendToWorker{worker, std::move(message)});
}

void ExperimentController::MarkChanged(const TrialRecord& trial) {
  changed_.insert(trial.row.number);
}

Transition ExperimentController::TakeTransition() {
  for (const WorkerId worker : std::exchange(acknowledge_, {})) {
    if (leases_.HasWorker(worker)) Send(worker, EndsAcknowledged{leases_.EndsSeen(worker)});
  }
  for (const TrialNumber number : created_) {
    const TrialRecord& trial = At(number);
    out_.new_trials.push_back(NewTrialRow{trial.row, trial.configuration});
    changed_.erase(number);
  }
  for (const TrialNumber number : changed_) out_.trials.push_back(At(number).row);
  created_.clear();
  changed_.clear();
  moved_.clear();
  return std::exchange(out_, Transition{});
}

}  // namespace tune
