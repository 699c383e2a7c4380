#include "tuner/sqlite/stored_lines.h"

#include <string>

namespace tune {
namespace {

Status ReadTrials(Database& database, int64_t experiment, SweepLines& lines) {
  static constexpr char kTrialsSql[] =
      "SELECT number, status, coalesce(stop_reason, ''), iterations, last_value, best_value,"
      " best_iteration, attempts, created_us, started_us, finished_us, run_seconds, violation FROM "
      "trial_rows"
      " WHERE experiment = ?1 ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    lines.trials[row->Int(0)] = RowLine()
                                    .Add("status", row->Text(1))
                                    .Add("stop_reason", row->Text(2))
                                    .Add("iterations", row->Int(3))
                                    .Add("last_value", row->OptionalReal(4))
                                    .Add("best_value", row->OptionalReal(5))
                                    .Add("best_iteration", row->OptionalInt(6))
                                    .Add("attempts", row->Int(7))
                                    .Add("created_us", row->Int(8))
                                    .Add("started_us", row->OptionalInt(9))
                                    .Add("finished_us", row->OptionalInt(10))
                                    .Add("run_seconds", row->OptionalReal(11))
                                    .Add("violation", row->OptionalReal(12))
                                    .text();
  }
  return OkStatus();
}

Status ReadAttempts(Database& database, int64_t experiment, SweepLines& lines) {
  static constexpr char kAttemptsSql[] =
      "SELECT t.number, a.number, w.number, a.outcome, a.from_iteration, a.started_us,"
      " a.finished_us, coalesce(a.error, '') FROM trial_rows AS t"
      " JOIN attempt_rows AS a ON a.trial = t.id LEFT JOIN worker_rows AS w ON w.id = a.worker"
      " WHERE t.experiment = ?1 ORDER BY t.number, a.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kAttemptsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    lines.attempts[{row->Int(0), row->Int(1)}] = RowLine()
                                                     .Add("worker", row->OptionalInt(2))
                                                     .Add("outcome", row->Text(3))
                                                     .Add("from_iteration", row->Int(4))
                                                     .Add("started_us", row->Int(5))
                                                     .Add("finished_us", row->OptionalInt(6))
                                                     .Add("error", row->Text(7))
                                                     .text();
  }
  return OkStatus();
}

Status ReadReports(Database& database, int64_t experiment, SweepLines& lines) {
  static constexpr char kReportsSql[] =
      "SELECT t.number, r.attempt, r.iteration, r.value, r.reported_us, r.decision, r.rung,"
      " r.cutoff, r.rank, r.count, r.metrics FROM report_rows AS r JOIN trial_rows AS t ON t.id = "
      "r.trial"
      " WHERE t.experiment = ?1 ORDER BY r.rowid";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kReportsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    lines.reports.push_back(RowLine()
                                .Add("trial", row->Int(0))
                                .Add("attempt", row->Int(1))
                                .Add("iteration", row->Int(2))
                                .Add("value", row->OptionalReal(3))
                                .Add("metrics", row->Text(10))
                                .Add("reported_us", row->Int(4))
                                .Add("decision", row->OptionalInt(5))
                                .Add("rung", row->OptionalInt(6))
                                .Add("cutoff", row->OptionalReal(7))
                                .Add("rank", row->OptionalInt(8))
                                .Add("count", row->OptionalInt(9))
                                .text());
  }
  return OkStatus();
}

Status ReadOrders(Database& database, int64_t experiment, SweepLines& lines) {
  static constexpr char kOrdersSql[] =
      "SELECT t.number, o.iteration, o.kind, o.rung, o.cutoff, o.rank, o.count, o.ordered_us"
      " FROM order_rows AS o JOIN trial_rows AS t ON t.id = o.trial"
      " WHERE t.experiment = ?1 ORDER BY o.rowid";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kOrdersSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    lines.orders.push_back(RowLine()
                               .Add("trial", row->Int(0))
                               .Add("iteration", row->Int(1))
                               .Add("kind", row->Int(2))
                               .Add("rung", row->OptionalInt(3))
                               .Add("cutoff", row->OptionalReal(4))
                               .Add("rank", row->OptionalInt(5))
                               .Add("count", row->OptionalInt(6))
                               .Add("ordered_us", row->Int(7))
                               .text());
  }
  return OkStatus();
}

Status ReadExploits(Database& database, int64_t experiment, SweepLines& lines) {
  static constexpr char kExploitsSql[] =
      "SELECT t.number, x.iteration, x.source, x.source_iteration, x.flat"
      " FROM exploit_rows AS x JOIN trial_rows AS t ON t.id = x.trial"
      " WHERE t.experiment = ?1 ORDER BY x.id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kExploitsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    lines.exploits.push_back(RowLine()
                                 .Add("trial", row->Int(0))
                                 .Add("iteration", row->Int(1))
                                 .Add("source", row->Int(2))
                                 .Add("source_iteration", row->Int(3))
                                 .Add("config", row->Text(4))
                                 .text());
  }
  return OkStatus();
}

}  // namespace

Result<SweepLines> ReadStoredLines(Database& database, int64_t experiment) {
  SweepLines lines;
  TUNE_RETURN_IF_ERROR(ReadTrials(database, experiment, lines));
  TUNE_RETURN_IF_ERROR(ReadAttempts(database, experiment, lines));
  TUNE_RETURN_IF_ERROR(ReadReports(database, experiment, lines));
  TUNE_RETURN_IF_ERROR(ReadOrders(database, experiment, lines));
  TUNE_RETURN_IF_ERROR(ReadExploits(database, experiment, lines));
  return lines;
}

}  // namespace tune
