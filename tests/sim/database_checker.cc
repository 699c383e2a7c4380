#include "tests/sim/database_checker.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/standing.h"
#include "search/searcher.h"
#include "tests/sim/plain_schedulers.h"
#include "tuner/experiment_spec.h"
#include "tuner/search_problem.h"

namespace tune::sim {
namespace {

// Tables, not views, where the order of arrival counts.
constexpr char kJournalSql[] = "SELECT count(id) FROM journal_rows";
constexpr char kReportsSql[] =
    "SELECT t.number, r.attempt, r.iteration, r.value, r.reported_us, r.decision, r.rung,"
    " r.cutoff, r.rank, r.count FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
    " ORDER BY r.rowid";
constexpr char kTrialsSql[] =
    "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration,"
    " attempts, started_us, finished_us, run_seconds, violation FROM trial_rows ORDER BY number";
constexpr char kAttemptsSql[] =
    "SELECT t.number, a.number, w.number, a.outcome, a.error, a.from_iteration, a.started_us,"
    " a.finished_us FROM attempt_rows AS a JOIN trial_rows AS t ON t.id = a.trial"
    " LEFT JOIN worker_rows AS w ON w.id = a.worker ORDER BY t.number, a.number";
constexpr char kCheckpointsSql[] =
    "SELECT t.number, c.iteration, c.path, c.bytes, c.checksum, c.state FROM checkpoint_rows AS c"
    " JOIN trial_rows AS t ON t.id = c.trial ORDER BY t.number, c.iteration, c.path";
constexpr char kWorkersSql[] = "SELECT number, name, state FROM worker_rows ORDER BY number";
constexpr char kExperimentSql[] = "SELECT status, samples FROM experiment_rows ORDER BY id";

std::string Text(int64_t number) { return std::to_string(number); }
std::string Text(double number) {
  std::string text;
  AppendJsonNumber(number, text);
  return text;
}
std::string Text(const std::string& text) { return text; }
std::string Text(Instant t) { return std::to_string(t.us); }
template <typename Tag>
std::string Text(Id<Tag> id) {
  return std::to_string(id.value);
}
template <typename T>
std::string Text(const std::optional<T>& value) {
  return value ? Text(*value) : "-";
}

template <typename... Args>
std::string Line(const Args&... args) {
  std::string line;
  ((line += Text(args) + "|"), ...);
  return line;
}

Metric FiniteOrNothing(const Metric& metric) {
  return metric && std::isfinite(*metric) ? metric : std::nullopt;
}

Result<std::vector<std::string>> Read(Database& database, const char* sql) {
  TUNE_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  std::vector<std::string> lines;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
    if (!has_row) return lines;
    std::string& line = lines.emplace_back();
    for (int column = 0; column < statement.column_count(); ++column) {
      switch (statement.Kind(column)) {
        case ColumnKind::kNull:
          line += "-";
          break;
        case ColumnKind::kInteger:
          line += std::to_string(statement.Int(column));
          break;
        case ColumnKind::kReal:
          line += Text(statement.Real(column));
          break;
        default:
          line += statement.Text(column);
      }
      line += "|";
    }
  }
}

Status Compare(Database& database, const char* what, const char* sql,
               const std::vector<std::string>& expected) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> read, Read(database, sql));
  for (size_t i = 0; i < std::max(read.size(), expected.size()); ++i) {
    const std::string there = i < read.size() ? read[i] : "nothing";
    const std::string wanted = i < expected.size() ? expected[i] : "nothing";
    if (there == wanted) continue;
    return DataLoss(std::string(what) + ": row " + std::to_string(i) + " is " + there +
                    ", but what was committed is " + wanted);
  }
  return OkStatus();
}

std::optional<std::string> StopReasonText(StopReason reason) {
  if (reason == StopReason::kNone) return std::nullopt;
  return StopReasonName(reason);
}

std::string ReportLine(const ReportRow& row) {
  const Decision decision = row.decision.value_or(Decision());
  std::optional<int64_t> verdict;
  if (row.decision) verdict = static_cast<int64_t>(decision.verdict);
  return Line(row.trial, row.attempt, row.iteration, FiniteOrNothing(row.value), row.reported_at,
              verdict, decision.rung, decision.cutoff, decision.rank, decision.count);
}

std::vector<std::string> AttemptLines(const CommitLog& log) {
  std::vector<std::string> lines;
  for (const auto& [key, row] : log.attempts()) {
    lines.push_back(Line(row.trial, row.number, row.worker, std::string(OutcomeName(row.outcome)),
                         row.error.empty() ? std::optional<std::string>() : row.error,
                         row.from_iteration, row.started_at, row.finished_at));
  }
  return lines;
}

}  // namespace

Status CompareWithLog(Database& database, const CommitLog& log) {
  // Its text is compared by CommitLog::CheckJournal, whenever it is read.
  TUNE_RETURN_IF_ERROR(
      Compare(database, "journal", kJournalSql, {Line(static_cast<int64_t>(log.steps().size()))}));
  std::vector<std::string> lines;
  lines.reserve(log.reports().size());
  for (const ReportRow& row : log.reports()) lines.push_back(ReportLine(row));
  TUNE_RETURN_IF_ERROR(Compare(database, "reports", kReportsSql, lines));
  lines.clear();
  for (const auto& [number, row] : log.trials()) {
    lines.push_back(Line(row.number, std::string(TrialStatusName(row.status)),
                         StopReasonText(row.stop_reason), row.iterations, row.last_value,
                         row.best_value, row.best_iteration, row.attempts, row.started_at,
                         row.finished_at, row.run_seconds, row.best_violation));
  }
  TUNE_RETURN_IF_ERROR(Compare(database, "trials", kTrialsSql, lines));
  TUNE_RETURN_IF_ERROR(Compare(database, "attempts", kAttemptsSql, AttemptLines(log)));
  lines.clear();
  for (const auto& [key, row] : log.checkpoints()) {
    lines.push_back(Line(row.trial, row.iteration, row.ref.path, row.ref.bytes, row.ref.checksum,
                         std::string(CheckpointStateName(row.state))));
  }
  TUNE_RETURN_IF_ERROR(Compare(database, "checkpoints", kCheckpointsSql, lines));
  lines.clear();
  for (const auto& [number, row] : log.workers()) {
    lines.push_back(Line(number, row.name, std::string(WorkerStateName(row.state))));
  }
  TUNE_RETURN_IF_ERROR(Compare(database, "workers", kWorkersSql, lines));
  const ExperimentRow& row = log.experiment_row();
  return Compare(database, "experiment", kExperimentSql,
                 {Line(std::string(ExperimentStatusName(row.status)), row.samples)});
}

// ---- plain re-computations

namespace {

// What a searcher that learns suggested: none twice, as numbers of `x` go on for ever. That each is
// what results make it, the shadow controller says.
Status CheckLearned(const CommitLog& log, const SearchSpace& space) {
  std::set<std::string> seen;
  for (const auto& [number, configuration] : log.configurations()) {
    if (!space.Allows(configuration)) {
      return Internal("the configuration of trial " + std::to_string(number.value) +
                      " is not of the space");
    }
    if (!seen.insert(ToJson(configuration.ToFlat())).second) {
      return Internal("the configuration of trial " + std::to_string(number.value) +
                      " was there before");
    }
  }
  return OkStatus();
}

Status CheckConfigurations(const CommitLog& log) {
  const Result<SearchSpace> space = SpaceOf(log.spec());
  if (!space.ok()) return space.status();
  TUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Searcher> searcher,
      MakeSearcher(log.spec().search, ProblemOf(log.spec(), *space, log.experiment()->samples,
                                                log.experiment()->seed)));
  if (searcher->LearnsFromResults()) return CheckLearned(log, *space);
  for (const auto& [number, configuration] : log.configurations()) {
    const std::optional<Configuration> fresh = searcher->Suggest(number);
    if (fresh && *fresh == configuration) continue;
    return Internal("the configuration of trial " + std::to_string(number.value) +
                    " is not what a fresh searcher gives");
  }
  return OkStatus();
}

// Whether these failures of a trial, the last of them this one, are reason enough to give it up.
bool GivesUp(const FailurePolicy& policy, const std::map<Outcome, int64_t>& failures,
             Outcome last) {
  if (last == Outcome::kBadConfig) return true;
  const auto own = policy.causes.find(last);
  if (own != policy.causes.end() && own->second.max_failures) {
    return *own->second.max_failures >= 0 && failures.at(last) > *own->second.max_failures;
  }
  if (last == Outcome::kDeviceOutOfMemory) return true;  // Where it had no share, at the least.
  if (last == Outcome::kOutOfMemory && failures.at(last) > 1) return true;
  int64_t sum = 0;
  for (const auto& [cause, count] : failures) {
    const bool is_failure = cause == Outcome::kCrashed || cause == Outcome::kKilled ||
                            cause == Outcome::kOutOfMemory ||
                            cause == Outcome::kDeviceOutOfMemory || cause == Outcome::kHung;
    if (is_failure) sum += count;
  }
  return policy.max_failures >= 0 && sum > policy.max_failures;
}

// The attempts with which the trial's configurations end, each at a decision, and the iteration
// after which the next one goes on.
std::map<AttemptNumber, int64_t> LastAttemptsOfConfigurations(const CommitLog& log,
                                                              TrialNumber trial) {
  std::map<AttemptNumber, int64_t> last;
  const auto exploits = log.exploits().find(trial);
  if (exploits == log.exploits().end()) return last;
  for (const ReportRow& report : log.reports()) {
    if (report.trial != trial || !report.decision) continue;
    const auto exploit = exploits->second.find(report.iteration);
    if (exploit != exploits->second.end())
      last[report.attempt] = std::min(report.iteration, exploit->second);
  }
  return last;
}

// Of sweeps with limits on results: what the report says, and more than any where it says nothing.
Metric PlainViolation(const CommitLog& log, const ReportRow& report) {
  if (log.spec().feasible.empty()) return std::nullopt;
  return FindMetric(report.metrics, kViolationName).value_or(kViolationUnknown);
}

// Feasible ones first, then those that violate less, then the better ones.
bool IsBefore(double value, Metric violation, const TrialRow& best, const CommitLog& log) {
  const double own = violation.value_or(0);
  const double other = best.best_violation.value_or(0);
  if (own != other) return own < other;
  return IsBetter(value, *best.best_value, log.spec().mode);
}

// The first limit is a plain one, and the only one in half of the sweeps that have some.
Status CheckViolation(const CommitLog& log, const ReportRow& report) {
  if (log.spec().feasible.empty()) return OkStatus();
  const bool has_cost = HasMetric(report.metrics, "cost");
  const Metric cost = FindMetric(report.metrics, "cost");
  const Metric violation = FindMetric(report.metrics, kViolationName);
  const double least = cost ? std::max(0.0, (*cost - kCostMax) / kCostMax) : kViolationUnknown;
  const bool is_right =
      violation.has_value() == has_cost &&
      (!has_cost || (log.spec().feasible.size() == 1 ? *violation == least : *violation >= least));
  if (is_right) return OkStatus();
  return Internal("trial " + std::to_string(report.trial.value) + ", iteration " +
                  std::to_string(report.iteration) + ": its violation is not that of its cost");
}

Status CheckTrial(const CommitLog& log, const TrialRow& row) {
  const std::string name = "trial " + std::to_string(row.number.value);
  TrialRow plain;
  const std::map<AttemptNumber, int64_t> lasts = LastAttemptsOfConfigurations(log, row.number);
  std::map<std::ptrdiff_t, int64_t> told;  // With each configuration, up to which iteration.
  for (const auto& [attempt, taken_over] : lasts) {
    told[std::distance(lasts.begin(), lasts.upper_bound(attempt))] = taken_over;
  }
  for (const ReportRow& report : log.reports()) {
    if (report.trial != row.number) continue;
    if (report.decision) {
      plain.iterations = std::max(plain.iterations, report.iteration);
      plain.last_value = report.value;
    }
    if (!HasMetric(report.metrics, log.spec().metric)) continue;
    TUNE_RETURN_IF_ERROR(CheckViolation(log, report));
    int64_t& told_to = told[std::distance(lasts.begin(), lasts.lower_bound(report.attempt))];
    if (report.iteration <= told_to) continue;
    told_to = report.iteration;
    const Metric violation = PlainViolation(log, report);
    if (report.value && (!plain.best_value || IsBefore(*report.value, violation, plain, log))) {
      plain.best_value = report.value;
      plain.best_iteration = report.iteration;
      plain.best_violation = violation;
    }
  }
  if (plain.iterations != row.iterations || plain.last_value != row.last_value ||
      plain.best_value != row.best_value || plain.best_iteration != row.best_iteration ||
      plain.best_violation != row.best_violation) {
    return Internal(name + " does not add up from its reports");
  }
  int64_t attempts = 0;
  std::map<Outcome, int64_t> failures;
  Outcome last = Outcome::kRunning;
  for (const auto& [key, attempt] : log.attempts()) {
    if (key.first != row.number) continue;
    ++attempts;
    last = attempt.outcome;
    ++failures[last];
  }
  if (attempts != row.attempts) return Internal(name + " does not add up from its attempts");
  if (row.status != TrialStatus::kError) return OkStatus();
  const bool has_no_metric = last == Outcome::kCompleted && row.iterations == 0;
  if (!has_no_metric && !GivesUp(log.spec().failure, failures, last)) {
    return Internal(name + " is ERROR, but its attempts are no reason");
  }
  return OkStatus();
}

}  // namespace

Status Recompute(const CommitLog& log) {
  TUNE_RETURN_IF_ERROR(RecomputeDecisions(log));
  TUNE_RETURN_IF_ERROR(CheckConfigurations(log));
  for (const auto& [number, row] : log.trials()) TUNE_RETURN_IF_ERROR(CheckTrial(log, row));
  return OkStatus();
}

}  // namespace tune::sim
