#include "tuner/export/sweep_rows.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/json.h"
#include "tuner/best_trial.h"

namespace tune {
namespace {

constexpr int64_t kReportsPerProgress = 100'000;

std::optional<Instant> OptionalTime(const Statement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return Instant{row.Int(column)};
}

Result<Configuration> ParseConfiguration(std::string_view flat) {
  TUNE_ASSIGN_OR_RETURN(const Value value, ParseJson(flat));
  return Configuration::FromFlat(value);
}

// The first copy of a database of an older version came with migration 3; the others have no such
// table.
constexpr char kHasCopiesSql[] =
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'exploit_rows'";
#define TUNE_EXPORTED_SQL(CONFIG, VIOLATION)                                                \
  "SELECT t.id, t.number, t.status, t.stop_reason, t.iterations, t.best_value,"             \
  " t.best_iteration, t.last_value, t.attempts, t.created_us, t.started_us, t.finished_us," \
  " t.run_seconds, " CONFIG ", " VIOLATION                                                  \
  " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id"                    \
  " WHERE t.experiment = ?1 ORDER BY t.number"
constexpr char kTrialsSql[] = TUNE_EXPORTED_SQL("c.flat", "NULL");
constexpr char kTrialsWithCopiesSql[] = TUNE_EXPORTED_SQL(TUNE_CONFIG_OF_BEST_SQL("flat"), "NULL");
constexpr char kTrialsWithLimitsSql[] =
    TUNE_EXPORTED_SQL(TUNE_CONFIG_OF_BEST_SQL("flat"), "t.violation");
#undef TUNE_EXPORTED_SQL

}  // namespace

Result<Metrics> ParseMetrics(std::string_view metrics_json) {
  TUNE_ASSIGN_OR_RETURN(const Value value, ParseJson(metrics_json));
  Metrics metrics;
  if (!value.is_map()) return DataLoss("metrics: read " + std::string(value.KindName()));
  for (const MapEntry& entry : value.AsMap()) {
    const std::optional<double> number = ReadNumber(entry.value);
    metrics.emplace_back(entry.key, number.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return metrics;
}

Result<SweepRows> SweepRows::Open(Database& database, ExportedSweep sweep,
                                  std::function<void(int64_t, int64_t)> on_progress) {
  static constexpr char kCountSql[] =
      "SELECT count(*) FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1";
  TUNE_RETURN_IF_ERROR(database.Execute("BEGIN"));
  SweepRows rows(database, std::move(sweep), std::move(on_progress));
  TUNE_RETURN_IF_ERROR(rows.ReadSpec());
  TUNE_ASSIGN_OR_RETURN(const int64_t copies, database.QueryInt(kHasCopiesSql));
  rows.has_copies_ = copies > 0;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement count, database.Kept(kCountSql));
  count->BindAll(rows.sweep_.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, count->Step());
  rows.report_total_ = has_row ? count->Int(0) : 0;
  return rows;
}

SweepRows::SweepRows(SweepRows&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      sweep_(std::move(other.sweep_)),
      spec_(std::move(other.spec_)),
      on_progress_(std::move(other.on_progress_)),
      report_total_(other.report_total_),
      report_count_(other.report_count_),
      has_copies_(other.has_copies_),
      trials_(std::move(other.trials_)),
      reports_(std::move(other.reports_)),
      trial_(other.trial_),
      iteration_(other.iteration_) {}

SweepRows::~SweepRows() {
  if (database_ == nullptr) return;
  trials_.reset();
  reports_.reset();
  // Nothing was written: what could fail here changes nothing.
  (void)database_->Execute("COMMIT");
}

Status SweepRows::ReadSpec() {
  static constexpr char kSpecSql[] = "SELECT spec FROM experiment_rows WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kSpecSql));
  row->BindAll(sweep_.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return NotFound(sweep_.name + ": the sweep was deleted");
  Result<Value> spec = ParseJson(row->Text(0));
  if (!spec.ok()) return spec.status().At("the stored spec of " + sweep_.name);
  spec_ = *std::move(spec);
  return OkStatus();
}

Result<SearchSpace> SweepRows::Space() const {
  const Value* const space = spec_.is_map() ? spec_.Find("space") : nullptr;
  if (space == nullptr) return SearchSpace::Parse(Value());
  Result<SearchSpace> parsed = SearchSpace::Parse(*space);
  if (!parsed.ok()) return parsed.status().At("the stored spec of " + sweep_.name);
  return parsed;
}

Result<std::vector<std::string>> SweepRows::MetricNames() {
  static constexpr char kNamesSql[] =
      "SELECT DISTINCT m.key FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial,"
      " json_each(r.metrics) AS m WHERE t.experiment = ?1";
  std::vector<std::string> names;
  for (const Objective& objective : sweep_.objectives) names.push_back(objective.metric);
  const size_t objective_count = names.size();
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kNamesSql));
  row->BindAll(sweep_.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(objective_count);
    if (std::find(names.begin(), end, row->Text(0)) == end) names.emplace_back(row->Text(0));
  }
  // Not SQLite's ORDER BY, which would put every report's names in order.
  std::sort(names.begin() + static_cast<std::ptrdiff_t>(objective_count), names.end());
  return names;
}

Result<std::vector<std::string>> SweepRows::ParameterNames() {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (ExportedTrial trial;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_trial, NextTrial(trial));
    if (!has_trial) break;
    for (const auto& [name, value] : trial.config.parameters()) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

Result<bool> SweepRows::NextTrial(ExportedTrial& trial) {
  if (!trials_) {
    TUNE_ASSIGN_OR_RETURN(trials_, database_->Kept(sweep_.has_limits ? kTrialsWithLimitsSql
                                                   : has_copies_     ? kTrialsWithCopiesSql
                                                                     : kTrialsSql));
    (*trials_)->BindAll(sweep_.id);
  }
  TUNE_ASSIGN_OR_RETURN(const bool has_row, (*trials_)->Step());
  reports_.reset();
  if (!has_row) {
    trials_.reset();
    return false;
  }
  const Statement& row = **trials_;
  trial.id = row.Int(0);
  trial.number = row.Int(1);
  trial.status = row.Text(2);
  trial.stop_reason = row.Text(3);
  trial.iterations = row.Int(4);
  trial.best_value = row.OptionalReal(5);
  trial.best_iteration = row.OptionalInt(6);
  trial.last_value = row.OptionalReal(7);
  trial.attempts = row.Int(8);
  trial.created_at = Instant{row.Int(9)};
  trial.started_at = OptionalTime(row, 10);
  trial.finished_at = OptionalTime(row, 11);
  trial.run_seconds = row.Real(12);
  trial.violation = row.OptionalReal(14);
  Result<Configuration> config = ParseConfiguration(row.Text(13));
  if (!config.ok()) {
    return config.status().At("the configuration of trial " + sweep_.name + "/" +
                              std::to_string(trial.number));
  }
  trial.config = *std::move(config);
  trial_ = trial.id;
  return true;
}

Result<bool> SweepRows::NextReport(ExportedReport& report) {
  // The last column: the attempt ended with this iteration reported in part, without the sweep's
  // metric, and a later attempt reported it again.
  static constexpr char kReportsSql[] =
      "SELECT r.attempt, r.iteration, r.value, r.metrics, r.reported_us,"
      " CASE WHEN r.value IS NULL AND r.decision IS NULL"
      "   AND NOT EXISTS (SELECT 1 FROM json_each(r.metrics) AS m WHERE m.key = ?2)"
      " THEN EXISTS (SELECT 1 FROM report_rows AS later WHERE later.trial = r.trial"
      "   AND later.attempt > r.attempt AND later.iteration = r.iteration) ELSE 0 END"
      " FROM report_rows AS r WHERE r.trial = ?1 ORDER BY r.attempt, r.iteration";
  if (!reports_) {
    TUNE_ASSIGN_OR_RETURN(reports_, database_->Kept(kReportsSql));
    (*reports_)->BindAll(trial_, sweep_.objectives.front().metric);
    iteration_ = 0;
  }
  TUNE_ASSIGN_OR_RETURN(const bool has_row, (*reports_)->Step());
  if (!has_row) {
    reports_.reset();
    return false;
  }
  report.attempt = (*reports_)->Int(0);
  report.iteration = (*reports_)->Int(1);
  report.value = (*reports_)->OptionalReal(2);
  report.metrics_json = (*reports_)->Text(3);
  report.reported_at = Instant{(*reports_)->Int(4)};
  const bool comes_again = (*reports_)->Int(5) != 0;
  report.is_new = !comes_again && report.iteration > iteration_;
  if (report.is_new) iteration_ = report.iteration;
  ++report_count_;
  if (on_progress_ && report_count_ % kReportsPerProgress == 0 && report_count_ <= report_total_) {
    on_progress_(report_count_, report_total_);
  }
  return true;
}

}  // namespace tune
