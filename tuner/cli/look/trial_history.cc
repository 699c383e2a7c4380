#include "tuner/cli/look/trial_history.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/json.h"
#include "schedulers/scheduler_names.h"
#include "trial_runner/fusion.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/result_limits.h"

namespace tune {
namespace {

using std::string_literals::operator""s;

// As report_rows.decision has them, then as order_rows.kind.
constexpr const char* kDecisionNames[] = {"continue", "stop", "pause", "resume", "stop", "resume"};
constexpr int64_t kFirstOrder = 3;

std::string Text(const Statement& row, int column) { return std::string(row.Text(column)); }

Status ReadTrial(Database& database, TrialHistory& history) {
  static constexpr char kTrialSql[] =
      "SELECT status, coalesce(stop_reason, ''), config, iterations, best_value, best_iteration,"
      " run_seconds, (SELECT count() FROM trials AS o WHERE o.experiment = t.experiment"
      " AND o.status = 'ERROR') FROM trials AS t WHERE id = ?1";
  static constexpr char kViolationSql[] = "SELECT violation FROM trials WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialSql));
  row->BindAll(history.trial.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_trial, row->Step());
  if (!has_trial) return NotFound(database.path() + ": the trial is gone");
  history.status = Text(*row, 0);
  history.stop_reason = Text(*row, 1);
  const Result<Value> config = ParseJson(row->Text(2));
  if (config.ok()) history.config = *config;
  history.iterations = row->Int(3);
  history.best_value = row->OptionalReal(4);
  history.best_iteration = row->OptionalInt(5);
  history.run_seconds = row->Real(6);
  history.failed_trials = row->Int(7);
  if (history.trial.sweep.has_limits()) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement limited, database.Kept(kViolationSql));
    limited->BindAll(history.trial.id);
    TUNE_ASSIGN_OR_RETURN(const bool is_there, limited->Step());
    if (is_there) history.violation = limited->OptionalReal(0);
  }

  Result<ExperimentSpec> spec = ReadStoredSpec(database, history.trial.sweep);
  if (spec.ok()) history.spec = *std::move(spec);
  return OkStatus();
}

Status ReadReports(Database& database, TrialHistory& history) {
  // The table, not the views: it says which attempt a decision belongs to.
  // SQLite takes bare columns from the row that has the max().
  static constexpr char kReportsSql[] =
      "SELECT attempt, iteration, value, metrics, reported_us, decision, rung, cutoff, rank, count,"
      " '', '' FROM report_rows WHERE trial = ?1"
      " UNION ALL SELECT r.attempt, o.iteration, r.value, r.metrics, o.ordered_us, 3 + o.kind,"
      " o.rung, o.cutoff, o.rank, o.count, CASE o.kind WHEN 2 THEN coalesce("
      "(SELECT 'trial ' || x.source || ' at iteration ' || x.source_iteration"
      " FROM exploit_rows AS x WHERE x.trial = o.trial AND x.iteration = o.iteration), '') ELSE ''"
      " END, coalesce((SELECT x.nested FROM exploit_rows AS x WHERE x.trial = o.trial"
      " AND x.iteration = o.iteration), '')"
      // Later attempts may report that iteration again.
      " FROM order_rows AS o JOIN report_rows AS r ON r.trial = o.trial"
      " AND r.iteration = o.iteration AND r.attempt = coalesce("
      "(SELECT max(y.attempt) FROM report_rows AS y WHERE y.trial = o.trial"
      " AND y.iteration = o.iteration AND y.reported_us <= o.ordered_us),"
      " (SELECT min(y.attempt) FROM report_rows AS y WHERE y.trial = o.trial"
      " AND y.iteration = o.iteration)) WHERE o.trial = ?1 ORDER BY 1, 2, 5, 6";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kReportsSql));
  row->BindAll(history.trial.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    HistoryReport& report = history.reports.emplace_back();
    report.attempt = row->Int(0);
    report.iteration = row->Int(1);
    report.value = row->OptionalReal(2);
    const Result<Value> metrics = ParseJson(row->Text(3));
    if (metrics.ok()) report.metrics = *metrics;
    report.reported_us = row->Int(4);
    const std::optional<int64_t> decision = row->OptionalInt(5);
    if (decision && *decision >= 0 && *decision < std::ssize(kDecisionNames)) {
      report.decision = kDecisionNames[*decision];
      report.is_order = *decision >= kFirstOrder;
    }
    report.rung = row->OptionalInt(6);
    report.cutoff = row->OptionalReal(7);
    report.rank = row->OptionalInt(8);
    report.count = row->OptionalInt(9);
    report.copied = Text(*row, 10);
    const Result<Value> config = ParseJson(row->Text(11));
    if (config.ok()) report.copied_config = *config;
  }
  return OkStatus();
}

Status ReadAttempts(Database& database, TrialHistory& history) {
  static constexpr char kAttemptsSql[] =
      "SELECT a.number, coalesce(w.name, ''), a.outcome, coalesce(a.error, ''), a.from_iteration,"
      " a.started_us, a.finished_us"
      " FROM attempt_rows AS a LEFT JOIN worker_rows AS w ON w.id = a.worker"
      " WHERE a.trial = ?1 ORDER BY a.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kAttemptsSql));
  row->BindAll(history.trial.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    HistoryAttempt& attempt = history.attempts.emplace_back();
    attempt.number = row->Int(0);
    attempt.worker = Text(*row, 1);
    attempt.outcome = Text(*row, 2);
    attempt.error = Text(*row, 3);
    attempt.from_iteration = row->Int(4);
    attempt.started_us = row->Int(5);
    attempt.finished_us = row->OptionalInt(6);
  }
  return OkStatus();
}

// An attempt went on from what the latest one before it had made of that iteration: later ones may
// have made it again.
Status ReadCheckpoints(Database& database, TrialHistory& history) {
  static constexpr char kCheckpointsSql[] =
      "SELECT iteration, path, state FROM checkpoint_rows WHERE trial = ?1 ORDER BY iteration";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kCheckpointsSql));
  row->BindAll(history.trial.id);
  std::vector<int64_t> made_by(history.attempts.size(), -1);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const int64_t iteration = row->Int(0);
    const std::string path = Text(*row, 1);
    if (row->Text(2) == "durable") history.durable.push_back(iteration);
    const int64_t maker = AttemptThatMade(path, iteration);
    for (size_t i = 0; i < history.attempts.size(); ++i) {
      HistoryAttempt& attempt = history.attempts[i];
      if (attempt.from_iteration != iteration || maker >= attempt.number) continue;
      if (maker <= made_by[i]) continue;
      made_by[i] = maker;
      attempt.checkpoint =
          FindArtifact(path, database.path(), history.trial.sweep.name, history.trial.number);
      attempt.checkpoint_state = Text(*row, 2);
    }
  }
  return OkStatus();
}

// Its kinds on all devices: which one it had, and will have, is the tuner's to know.
Status ReadLaneLimits(Database& database, TrialHistory& history) {
  if (!history.spec) return OkStatus();
  const ResourceRequest& request = history.spec->resources;
  const Fusion fusion = FusionOf(history.spec->trainable, history.config, request.gpu_milli);
  if (fusion.lanes_max == 1 || fusion.is_asked || request.workers > 1) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(history.lane_limits, ReadLaneLimits(database, history.trial.sweep.id));
  std::erase_if(history.lane_limits,
                [&](const KindLimit& limit) { return limit.kind.shape != fusion.shape; });
  return OkStatus();
}

// ---- sentences

// "1st", "2nd", "11th".
std::string Ordinal(int64_t n) {
  const int64_t tens = n % 100;
  const int64_t ones = n % 10;
  const bool is_teen = tens >= 11 && tens <= 13;
  const char* const ending = is_teen     ? "th"
                             : ones == 1 ? "st"
                             : ones == 2 ? "nd"
                             : ones == 3 ? "rd"
                                         : "th";
  return std::to_string(n) + ending;
}

// Of a sweep with limits on results; nothing: nobody could tell when it was reported.
std::optional<double> ViolationOf(const HistoryReport& report) {
  const Value* const violation =
      report.metrics.is_map() ? report.metrics.Find(kViolationName) : nullptr;
  return violation == nullptr ? std::nullopt : ReadNumber(*violation);
}

// Behind a place in a rung, ", infeasible: ...": why a good value has a bad place.
std::string LimitsWords(const TrialHistory& history, const HistoryReport& report) {
  const std::optional<double> violation = ViolationOf(report);
  const bool is_told = history.trial.sweep.has_limits() && !IsFeasible(violation);
  return is_told ? ", " + DescribeViolation(*violation) : "";
}

std::string PlaceInRung(const HistoryReport& report) {
  if (!report.rank || !report.count) return "no value to rank";
  if (*report.count == 1) return "the first to arrive";
  return (*report.rank == 1 ? "the best" : Ordinal(*report.rank) + " best") + " of " +
         std::to_string(*report.count);
}

std::string RungWord(const TrialHistory& history) {
  return HasRungs(history.trial.sweep.scheduler) ? "rung" : "check";
}

// Some schedulers compare a value with a cutoff, and not with those of other trials.
bool IsRanked(const HistoryReport& report) { return report.rank || !report.value; }

std::string AtRung(const TrialHistory& history, const HistoryReport& report) {
  std::string text = (IsRanked(report) ? RungWord(history) : "check") + " " +
                     std::to_string(*report.rung) + ": " +
                     (IsRanked(report) ? PlaceInRung(report) : ReportedValue(history, report)) +
                     LimitsWords(history, report);
  if (report.cutoff) text += ", the cutoff was " + CutoffWords(*report.cutoff);
  return text;
}

// " (the best of every 4 goes on)": what the cutoff of successive halving is.
std::string WhoGoesOn(const TrialHistory& history) {
  if (!history.spec || !history.spec->scheduler.is_map()) return std::string();
  const Value* const asha = history.spec->scheduler.Find("asha");
  if (asha == nullptr) return std::string();
  const Value* const factor = asha->is_map() ? asha->Find("reduction_factor") : nullptr;
  constexpr int64_t kDefaultFactor = 4;
  const int64_t among = factor != nullptr && factor->is_int() ? factor->AsInt() : kDefaultFactor;
  return " (the best of every " + std::to_string(among) + " goes on)";
}

const HistoryReport* LastDecided(const TrialHistory& history, const std::string& decision) {
  const auto found = std::find_if(
      history.reports.rbegin(), history.reports.rend(), [&](const HistoryReport& report) {
        return decision.empty() ? !report.decision.empty() : report.decision == decision;
      });
  return found == history.reports.rend() ? nullptr : &*found;
}

std::string ByTheScheduler(const TrialHistory& history, const std::string& decision) {
  const std::string text = (decision == "stop" ? "stopped by " : "paused by ") +
                           Printable(history.trial.sweep.scheduler);
  const HistoryReport* const report = LastDecided(history, decision);
  if (report == nullptr) return text;
  if (!report->rung) return text + " at iteration " + std::to_string(report->iteration);
  const std::string metric = Printable(history.trial.sweep.metric);
  std::string why = text + " at " + (IsRanked(*report) ? RungWord(history) : "check") + " " +
                    std::to_string(*report->rung) + ": ";
  why += report->rank
             ? metric + " " + ReportedValue(history, *report) + " was " + PlaceInRung(*report)
         : report->value ? metric + " was " + ReportedValue(history, *report)
                         : "the report had no " + metric + " to rank";
  why += LimitsWords(history, *report);
  if (report->cutoff) {
    why += ", the cutoff was " + CutoffWords(*report->cutoff) + WhoGoesOn(history);
  }
  return why;
}

// Which of the conditions in the space file held at the last report.
std::string ByACondition(const TrialHistory& history) {
  const std::string error = history.attempts.empty() ? "" : history.attempts.back().error;
  if (error.starts_with("limits.trial_time")) {
    return "stopped: limits.trial_time was reached after " + ShortNumber(history.run_seconds) +
           " s";
  }
  const HistoryReport* const last = LastDecided(history, "");
  if (!history.spec || last == nullptr) return "stopped: a condition of `stop` held";
  for (const StopCondition& condition : history.spec->stop) {
    std::optional<double> reached;
    if (condition.metric == "training_iteration") {
      reached = static_cast<double>(last->iteration);
    } else if (condition.metric == "time_total") {
      reached = history.run_seconds;
    } else if (last->metrics.is_map()) {
      const Value* const metric = last->metrics.Find(condition.metric);
      if (metric != nullptr) reached = ReadNumber(*metric);
    }
    if (!reached) continue;
    const bool holds =
        condition.at_or_above ? *reached >= condition.value : *reached <= condition.value;
    if (!holds) continue;
    return "stopped at iteration " + std::to_string(last->iteration) + ": " +
           Printable(condition.metric) + " = " + ShortNumber(*reached) + " reached " +
           ShortNumber(condition.value) + " (`stop` in the space file: " +
           (condition.at_or_above ? "at or above)" : "at or below)");
  }
  return "stopped: a condition of `stop` held";
}

// Which limit it was is not stored; mostly there is one. A sweep whose time is used up is FINISHED,
// the others leave it STOPPED.
std::string ByASweepLimit(const TrialHistory& history) {
  const std::string& status = history.trial.sweep.status;
  bool by_time = !history.spec || history.spec->limits.sweep_time;
  bool by_failures = !history.spec || history.spec->limits.failed_trials;
  if (history.spec && status == "STOPPED") {
    by_time = false;
    by_failures = by_failures && history.failed_trials >= *history.spec->limits.failed_trials;
  } else if (by_time && status == "FINISHED") {
    by_failures = false;
  }
  std::string text;
  if (by_time) text = "limits.sweep_time was reached";
  if (by_failures) text += (text.empty() ? "" : ", or ") + "limits.failed_trials was reached"s;
  if (text.empty()) {
    text = "its first trials failed alike, before any report of " +
           Printable(history.trial.sweep.metric);
  }
  return "ended with its sweep: " + text;
}

std::string WhyTerminated(const TrialHistory& history) {
  const std::string& reason = history.stop_reason;
  const std::string iterations = std::to_string(history.iterations);
  if (reason == "completed") return "completed by itself after iteration " + iterations;
  if (reason == "stop_condition") return ByACondition(history);
  if (reason == "max_t") {
    return "reached max_t: iteration " + iterations + " is the last one that " +
           Printable(history.trial.sweep.scheduler) + " allows";
  }
  if (reason == "scheduler") return ByTheScheduler(history, "stop");
  if (reason == "sweep_limit") return ByASweepLimit(history);
  if (reason == "user") return "stopped by a person (tune stop)";
  return "ended: " + reason;
}

std::string LastAttempt(const TrialHistory& history) {
  const HistoryAttempt& last = history.attempts.back();
  return "attempt " + std::to_string(last.number) + " ended as " + last.outcome +
         (last.error.empty() ? "" : ": " + Printable(last.error));
}

std::string WhyFailed(const TrialHistory& history) {
  if (history.attempts.empty()) {
    return history.trial.sweep.is_told() ? "failed, as was told (tune tell --failed)"
                                         : "failed before its first attempt";
  }
  const HistoryAttempt& last = history.attempts.back();
  if (last.outcome == "completed" || last.error.starts_with("no_metric")) {
    return "failed: it ended without reporting " + Printable(history.trial.sweep.metric);
  }
  if (last.outcome == "bad_config") return "failed: its configuration was refused: " + last.error;
  return "failed: " + LastAttempt(history) + "; no retry is left (`failure` in the space file)";
}

std::string ResumeHint(const TrialHistory& history) {
  if (history.trial.sweep.status != "INTERRUPTED") return std::string();
  return "; the sweep is interrupted, go on with: " + history.resume_command;
}

std::string WhyPending(const TrialHistory& history) {
  if (history.attempts.empty()) return "waits for its first attempt" + ResumeHint(history);
  return "waits for its next attempt: " + LastAttempt(history) + ResumeHint(history);
}

std::string WhyRunning(const TrialHistory& history) {
  if (history.attempts.empty()) return "runs" + ResumeHint(history);
  const HistoryAttempt& last = history.attempts.back();
  const bool runs = history.trial.sweep.status == "RUNNING";
  std::string text = (runs ? "runs: attempt " : "was running when its tuner ended: attempt ") +
                     std::to_string(last.number);
  if (!last.worker.empty()) text += " on worker " + Printable(last.worker);
  text += " since " + FormatInstant(Instant{last.started_us});
  if (history.iterations > 0) text += ", at iteration " + std::to_string(history.iterations);
  return text + ResumeHint(history);
}

// What the scheduler compared. Requires a value.
double RankedOf(const TrialHistory& history, const HistoryReport& report) {
  const FoundSweep& sweep = history.trial.sweep;
  if (!sweep.has_limits()) return *report.value;
  return RankedValue(*report.value, ViolationOf(report), sweep.direction());
}

// Of a configuration as it is shown: names joined by '/'.
void Flatten(const Value& value, const std::string& name, Configuration& flat) {
  if (!value.is_map()) return flat.Set(name, value);
  for (const MapEntry& entry : value.AsMap()) {
    Flatten(entry.value, name.empty() ? entry.key : name + "/" + entry.key, flat);
  }
}

std::string WhyPaused(const TrialHistory& history) {
  const HistoryReport* const last = LastDecided(history, "");
  const bool by_scheduler = last != nullptr && last->decision == "pause";
  return (by_scheduler ? ByTheScheduler(history, "pause")
                       : "paused by a person (tune unpause goes on with it)") +
         ResumeHint(history);
}

}  // namespace

Result<TrialHistory> ReadTrialHistory(Database& database, const std::string& trial) {
  // One state for all queries. A connection for reading writes nothing; it ends with the database.
  TUNE_RETURN_IF_ERROR(database.Execute("BEGIN"));
  TrialHistory history;
  TUNE_ASSIGN_OR_RETURN(history.trial, FindTrial(database, trial));
  history.resume_command = ShellCommand("resume", history.trial.sweep.name, database.path());
  TUNE_RETURN_IF_ERROR(ReadTrial(database, history));
  TUNE_RETURN_IF_ERROR(ReadReports(database, history));
  TUNE_RETURN_IF_ERROR(ReadAttempts(database, history));
  TUNE_RETURN_IF_ERROR(ReadCheckpoints(database, history));
  TUNE_RETURN_IF_ERROR(ReadLaneLimits(database, history));
  TUNE_ASSIGN_OR_RETURN(history.notes, ReadNotes(database, history.trial.id));
  TUNE_RETURN_IF_ERROR(database.Execute("COMMIT"));
  return history;
}

std::string ReportedValue(const TrialHistory& history, const HistoryReport& report) {
  if (report.value) return ShortNumber(*report.value);
  const Value* const value =
      report.metrics.is_map() ? report.metrics.Find(history.trial.sweep.metric) : nullptr;
  return value == nullptr ? "missing" : ShortText(*value);
}

std::string ExplainReport(const TrialHistory& history, const HistoryReport& report) {
  const std::string& metric = history.trial.sweep.metric;
  const bool has_metric = report.metrics.is_map() && report.metrics.Find(metric) != nullptr;
  if (report.decision.empty() && !has_metric && !report.is_order) {
    return "no iteration: reported without " + Printable(metric);
  }
  if (report.decision.empty()) {
    return history.trial.sweep.is_told() ? "told by tune tell; no scheduler decides"
                                         : "repeated after a retry; the first report decided";
  }
  const std::string& scheduler = history.trial.sweep.scheduler;
  const bool is_worse =
      report.cutoff && report.value &&
      IsBetter(*report.cutoff, RankedOf(history, report), history.trial.sweep.direction());
  std::string at_end;
  if (report.decision == "stop" && !report.value && history.stop_reason != "max_t") {
    at_end = "what is not finite is the worst, and stops";
  } else if (report.decision == "stop" && !is_worse && history.stop_reason == "max_t") {
    at_end = "reached max_t of " + scheduler;
  } else if (report.decision == "stop" && !report.rung) {
    at_end = "stopped by " + scheduler;
  }
  if (report.decision == "resume") {
    return report.copied.empty() ? "resumed" + (report.rung ? "; " + AtRung(history, report) : "")
                                 : "goes on as a copy of " + report.copied + ", with " +
                                       DescribeConfig(report.copied_config);
  }
  if (report.rung) return AtRung(history, report) + (at_end.empty() ? "" : "; " + at_end);
  if (!at_end.empty()) return at_end;
  if (scheduler == "fifo") return "fifo lets every trial go on";
  return "between " + RungWord(history) + "s";
}

std::optional<std::vector<LimitStanding>> StandingsOfBest(const TrialHistory& history) {
  if (!history.spec || history.spec->feasible.empty()) return std::nullopt;
  const auto best = std::find_if(
      history.reports.begin(), history.reports.end(), [&](const HistoryReport& report) {
        return report.iteration == history.best_iteration && report.value == history.best_value;
      });
  if (best == history.reports.end() || !best->metrics.is_map()) return std::nullopt;
  Metrics metrics;
  for (const MapEntry& entry : best->metrics.AsMap()) {
    metrics.emplace_back(entry.key, ReadNumber(entry.value).value_or(std::nan("")));
  }
  Configuration configuration;
  Flatten(history.config, "", configuration);
  return history.spec->feasible.Standings(metrics, configuration);
}

std::string ExplainLanes(const TrialHistory& history) {
  const Value* lanes = nullptr;
  if (!history.reports.empty() && history.reports.back().metrics.is_map()) {
    lanes = history.reports.back().metrics.Find("lanes");
  }
  std::string text;
  const bool is_food11 = history.spec && MayFuse(history.spec->trainable);
  const std::optional<double> count = lanes == nullptr ? std::nullopt : ReadNumber(*lanes);
  if (is_food11 && count && (*count > 1 || !history.lane_limits.empty())) {
    text = ShortText(*lanes) + " at its last report";
  }
  for (const KindLimit& limit : history.lane_limits) {
    text += (text.empty() ? "" : "; ") + Describe(limit);
  }
  return text;
}

std::string ExplainStatus(const TrialHistory& history) {
  if (history.status == "TERMINATED") return WhyTerminated(history);
  if (history.status == "ERROR") return WhyFailed(history);
  if (history.status == "PENDING") return WhyPending(history);
  if (history.status == "RUNNING") return WhyRunning(history);
  if (history.status == "PAUSED") return WhyPaused(history);
  return history.status;
}

}  // namespace tune
