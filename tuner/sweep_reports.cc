// The way of a report: stored, decided, answered.
#include <algorithm>
#include <utility>

#include "trial_runner/command_spec.h"
#include "tuner/artifact_path.h"
#include "tuner/best_trial.h"
#include "tuner/sweep.h"

namespace tune {
namespace {

constexpr char kIterationName[] = "training_iteration";
constexpr char kTimeTotalName[] = "time_total";
// Far above the steps of an epoch: a program may report each step and validate once an epoch.
constexpr int64_t kReportsWithoutMetricMax = 10'000;

// What a scheduler compares: the value with what the report breaks of the sweep's limits on
// results, as far as that is known.
Metric AtRung(const ControllerOptions& options, const Metrics& judged, Metric value) {
  if (!value) return value;
  const Metric violation = FindViolation(judged);
  const Mode mode = options.spec.mode;
  // Once a program's own metric of that name counted without limits, too, and a value beyond
  // kRankedValueMax for a violation.
  if (options.decision_version < 14) {
    return AsLoss(RankedLoss(AsLoss(*value, mode), violation.value_or(0)), mode);
  }
  return options.spec.feasible.empty() ? value : RankedValue(*value, violation, mode);
}

// What the best checkpoints are chosen by, as the best result is: what cannot be told counts as
// infeasible.
Metric AsResult(const ControllerOptions& options, const Metrics& judged, Metric value) {
  if (options.decision_version < 14) return AtRung(options, judged, value);
  if (!value || options.spec.feasible.empty()) return value;
  const double violation = FindViolation(judged).value_or(kViolationUnknown);
  return RankedValue(*value, violation, options.spec.mode);
}

// For a report of the metric; one that comes last is waited for.
bool WaitsInVain(const ExperimentSpec& spec, TrialRecord& trial) {
  if (trial.has_reported_metric || spec.metric == kExitStatusMetric) return false;
  return ++trial.reports_without_metric >= kReportsWithoutMetricMax;
}

}  // namespace

bool Sweep::Knows(WorkerId worker, const AttemptRef& ref) const {
  return ref.trial.value >= 0 && ref.trial.value < static_cast<int64_t>(trials_.size()) &&
         held_.IsRunning(worker, ref) && At(ref.trial).lease == ref;
}

void Sweep::On(const Reported& reported) {
  const ReportArrived& event = reported.report;
  const AttemptReport& message = event.message;
  const AttemptRef& ref = message.ref;
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

  answer_.is_news = true;
  RemoveCheckpoints(retention_.Unpin(trial.row.number));
  doubts_.AddNote(trial, message.report.note);
  doubts_.OnFirstReport(trial, message.report);
  const Report report = Joined(trial, message.report);
  const Metric value = FindObjective(report.metrics, options_.spec.metric);
  std::optional<Decision> decision;
  if (trial.open_iteration == 0) decision = Decide(trial, report, value);
  NotePace(trial);
  trial.progress_at = now_;
  out_.reports.push_back(
      ReportRow{ref.trial, ref.attempt, report.iteration, value, report.metrics, now_, decision});
  MeasureLanes(trial, report, reported.beside);
  TakeCheckpoint(trial, report, AsResult(options_, report.metrics, value));
  const StopReason reason = ReasonToStop(trial, report, decision);
  if (reason == StopReason::kStopCondition && trial.row.iterations == 0) {
    Answer(event.worker, trial, message, ReportAnswer::kRefused);
    Kill(trial, Outcome::kBadConfig,
         "no_metric: a condition of `stop` ended it before it ever reported " +
             options_.spec.metric);
    return;
  }
  if (WaitsInVain(options_.spec, trial)) {
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
    if (decision && decision->verdict == Verdict::kPause) trial.held_by_scheduler = true;
    if (const auto command = CommandToPause(trial, report)) trial.held_by_command = command;
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
Report Sweep::Joined(TrialRecord& trial, const Report& part) {
  Metrics metrics = part.metrics;
  for (const auto& open : trial.open_metrics) {
    const bool goes_on = part.iteration == trial.open_iteration;
    if (goes_on && !HasMetric(metrics, open.first)) metrics.push_back(open);
  }
  const bool is_constrained = !options_.spec.constrained_names().empty();
  if (part.final && is_constrained) {
    for (const auto& held : trial.held_metrics) {
      if (!HasMetric(metrics, held.first)) metrics.push_back(held);
    }
  }
  Report report = part;
  report.metrics =
      options_.spec.feasible.Judged(options_.spec.scores.Scored(metrics), trial.configuration);
  if (HasMetric(report.metrics, options_.spec.metric)) {
    const bool has_parts = trial.open_iteration != 0;
    if (!trial.has_reported_metric) trial.first_was_whole = !has_parts;
    trial.later_had_parts = trial.later_had_parts || has_parts;
    trial.has_reported_metric = true;
    doubts_.OnReportWithMetric(trial, metrics, report.metrics);
    if (is_constrained) trial.held_metrics = metrics;
    alike_failures_.OnSuccess();
    stride_ = trial.stride = part.iteration - trial.attempt_iteration;
    trial.attempt_iteration = part.iteration;
    trial.open_iteration = 0;
    trial.open_metrics.clear();
  } else {
    if (!alike_failures_.has_success()) doubts_.OnReportWithoutMetric(trial, metrics);
    trial.open_iteration = part.iteration;
    trial.open_metrics = std::move(metrics);
  }
  return report;
}

std::optional<std::string> Sweep::Objection(const TrialRecord& trial, const Report& report) const {
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
std::optional<std::string> Sweep::WithinArtifacts(const TrialRecord& trial,
                                                  const std::string& path) const {
  return WithinTrialFolder(path, options_.name, trial.row.number.value);
}

// Nothing for an iteration that was reported before a retry: it is stored and reaches no one. One
// that comes again with another trial's configuration counts for the trial's best alone.
std::optional<Decision> Sweep::Decide(TrialRecord& trial, const Report& report, Metric value) {
  TrialRow& row = trial.row;
  doubts_.OnIteration(trial, report, value);
  if (report.iteration <= trial.config_iteration) return std::nullopt;
  trial.config_iteration = report.iteration;
  const bool is_new = report.iteration > row.iterations;
  const ResultLimits& feasible = options_.spec.feasible;
  const Metric violation = FindViolation(report.metrics);
  const Metric judged = feasible.empty() ? Metric() : Metric(violation.value_or(kViolationUnknown));
  if (TakeValue(report.iteration, value, options_.spec.mode, row, judged)) {
    trial.best_configuration.reset();
    trial.best_lineage = trial.exploit_count;
  }
  if (!is_new) return std::nullopt;
  doubts_.OnNewIteration(row.number, report.iteration, value);
  TellSearcher(trial, report, value);
  // Where nobody can tell yet whether the limits are kept, the value alone counts at a rung.
  const Metric provisional = FindProvisional(report.metrics, options_.spec.metric);
  const Metric at_rung = AtRung(options_, report.metrics, provisional);
  const bool is_last = options_.decision_version >= 15 &&
                       ReasonToStop(trial, report, std::nullopt) != StopReason::kNone;
  return is_last ? scheduler_->OnLastReport(row.number, report.iteration, at_rung)
                 : scheduler_->OnReport(row.number, report.iteration, at_rung);
}

void Sweep::TellSearcher(TrialRecord& trial, const Report& report, Metric value) {
  trial.last_values = {value};
  for (const Objective& objective : options_.spec.more_objectives) {
    trial.last_values.push_back(FindObjective(report.metrics, objective.metric));
    if (FindMetric(report.metrics, objective.metric) ||
        std::exchange(said_missing_objective_, true))
      continue;
    doubts_.Add(trial, "missing objective",
                "trial " + std::to_string(trial.row.number.value) + " reported no " +
                    objective.metric +
                    ": a report without one of the objectives counts for nothing");
  }
  const bool is_whole = std::all_of(trial.last_values.begin(), trial.last_values.end(),
                                    [](const Metric& metric) { return metric.has_value(); });
  if (is_whole) {
    trial.whole_values.clear();
    for (const Metric& metric : trial.last_values) trial.whole_values.push_back(*metric);
    const bool has_limits = !options_.spec.feasible.empty();
    trial.whole_violation =
        has_limits ? FindViolation(report.metrics).value_or(kViolationUnknown) : 0;
  }
  for (const Metric& margin : options_.spec.feasible.Margins(report.metrics, trial.configuration)) {
    trial.last_values.push_back(margin);
  }
  searcher_->OnReport(trial.row.number, report.iteration, trial.last_values);
}

StopReason Sweep::ReasonToStop(const TrialRecord& trial, const Report& report,
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

// Whether the scheduler may pause it at its next report, which then needs a checkpoint, so that
// nothing is trained twice. That report is expected as far ahead as the last one came, of this
// trial or else of any; before there was one it may be anywhere.
bool Sweep::MayPauseAfter(const TrialRecord& trial, int64_t iteration) const {
  if (options_.spec.checkpoint.every <= 1) return false;
  const auto may_pause_at = [&](int64_t next) {
    return next > trial.row.iterations && scheduler_->PausesAt(trial.row.number, next);
  };
  const int64_t stride = trial.stride > 0 ? trial.stride : stride_;
  if (stride > 0) return may_pause_at(iteration + stride);
  constexpr int64_t kAheadMax = int64_t{1} << 40;
  int64_t ahead = 1;
  while (ahead < kAheadMax && !may_pause_at(iteration + ahead)) ahead += 1 + ahead / 8;
  return ahead < kAheadMax;
}

// Commands wait for a checkpoint, so that nothing is trained twice.
std::optional<PauseCommand> Sweep::CommandToPause(const TrialRecord& trial,
                                                  const Report& report) const {
  // The scheduler pauses it here anyway, whether or not it has saved anything.
  const bool pauses_anyway = trial.held_by_scheduler && options_.decision_version >= 15;
  const bool saves = report.has_checkpoint || report.checkpoint_follows;
  if (!saves && !pauses_anyway) return std::nullopt;
  if (trial.pause_wanted) return trial.pause_wanted;
  return is_paused_ ? std::optional(PauseCommand::kSweep) : std::nullopt;
}

void Sweep::TakeCheckpoint(TrialRecord& trial, const Report& report, Metric value) {
  if (report.checkpoint_follows) {
    auto& coming = trial.coming_checkpoints;
    if (!coming.empty() && coming.back().iteration == report.iteration) coming.pop_back();
    coming.push_back({report.iteration, value, trial.exploit_count});
  }
  if (!report.has_checkpoint) return;
  KeepCheckpoint(
      {trial.row.number, report.iteration, report.checkpoint, value, trial.exploit_count},
      WithinArtifacts(trial, report.checkpoint.path).value_or(""));
}

// Its trial goes on from there, unless it has taken over another one's since.
void Sweep::KeepCheckpoint(const CheckpointRetention::Entry& entry, const std::string& within) {
  TrialRecord& trial = At(entry.trial);
  if (entry.lineage == trial.exploit_count) {
    trial.resume_iteration = entry.iteration;
    trial.resume_path = within;
    trial.resume_owner.reset();
    trial.resume_has_other_config = false;
  }
  if (entry.ref.path.empty()) return;  // All there is to it is its iteration.
  out_.checkpoints.push_back(
      CheckpointRow{entry.trial, entry.iteration, entry.ref, CheckpointState::kDurable});
  RemoveCheckpoints(retention_.Add(entry));
}

// Of a report that was answered before. Nothing was decided by when its checkpoint comes: whatever
// became of the trial since, it goes on from there when it goes on, and may be the best there.
void Sweep::On(const CheckpointArrived& event) {
  const CheckpointDurable& message = event.message;
  TrialRecord& trial = At(message.ref.trial);
  auto& coming = trial.coming_checkpoints;
  const auto found = std::find_if(coming.begin(), coming.end(), [&](const auto& one) {
    return one.iteration == message.iteration;
  });
  const auto within = WithinArtifacts(trial, message.checkpoint.path);
  answer_.is_news = found != coming.end() && within.has_value();
  if (!answer_.is_news) return;
  const TrialRecord::ComingCheckpoint saved = *found;
  coming.erase(coming.begin(), std::next(found));  // Those before were overtaken.
  KeepCheckpoint(
      {trial.row.number, message.iteration, message.checkpoint, saved.value, saved.lineage},
      *within);
}

void Sweep::MeetDiskBudget() {
  RemoveCheckpoints(retention_.MeetBudget());
  if (!retention_.is_over_budget() || said_over_budget_) return;
  said_over_budget_ = true;
  out_.actions.push_back(
      Say{"checkpoint.disk_budget: " + std::to_string(retention_.bytes()) +
          " bytes of checkpoints are needed by trials that are not over, more than the budget of " +
          std::to_string(*options_.spec.checkpoint.disk_budget_bytes) + "; they stay"});
}

void Sweep::RemoveCheckpoints(const std::vector<CheckpointRetention::Entry>& removed) {
  for (const CheckpointRetention::Entry& entry : removed) {
    out_.checkpoints.push_back(
        CheckpointRow{entry.trial, entry.iteration, entry.ref, CheckpointState::kRemoved});
    // Where it lies now: the database may have been moved since.
    const auto within = WithinTrialFolder(entry.ref.path, options_.name, entry.trial.value);
    out_.actions.push_back(RemoveCheckpoint{
        within
            ? options_.checkpoint_root() + "/" + std::to_string(entry.trial.value) + "/" + *within
            : entry.ref.path});
  }
}

void Sweep::Answer(WorkerId worker, TrialRecord& trial, const AttemptReport& message,
                   ReportAnswer answer) {
  trial.last_sequence = message.sequence;
  trial.last_answer = answer;
  Send(worker, AnswerReport{message.ref, message.sequence, answer});
}

}  // namespace tune
