// trials.csv and reports.csv. Lines end with "\n".
#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "core/csv.h"
#include "tuner/export/formats.h"
#include "tuner/export/output_file.h"

namespace tune {
namespace {

constexpr std::string_view kTrialColumns[] = {
    "number",     "status",   "stop_reason", "iterations", "best_value",  "best_iteration",
    "last_value", "attempts", "created_at",  "started_at", "finished_at", "run_seconds"};
constexpr std::string_view kReportColumns[] = {"trial", "attempt", "iteration", "reported_at"};

template <typename T>
Value OrNull(const std::optional<T>& value) {
  return value.has_value() ? Value(*value) : Value();
}
Value TimeOrNull(const std::optional<Instant>& time) {
  return time.has_value() ? Value(FormatInstant(*time)) : Value();
}

Status AppendLine(const std::vector<Value>& fields, OutputFile& file) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line.push_back(',');
    AppendCsvField(fields[i], line);
  }
  return file.Append(line + "\n");
}

// `has_limits`: with what the trial violates of the sweep's limits on results.
std::vector<Value> CellsOf(const ExportedTrial& trial, bool has_limits,
                           const std::vector<std::string>& names) {
  std::vector<Value> cells = {trial.number,
                              trial.status,
                              trial.stop_reason.empty() ? Value() : Value(trial.stop_reason),
                              trial.iterations,
                              OrNull(trial.best_value),
                              OrNull(trial.best_iteration),
                              OrNull(trial.last_value),
                              trial.attempts,
                              FormatInstant(trial.created_at),
                              TimeOrNull(trial.started_at),
                              TimeOrNull(trial.finished_at),
                              trial.run_seconds};
  if (has_limits) {
    cells.push_back(trial.violation ? Value(*trial.violation == 0 ? 1 : 0) : Value());
    cells.push_back(OrNull(trial.violation));
  }
  for (const std::string& name : names) {
    const Value* const value = trial.config.Find(name);
    cells.push_back(value == nullptr ? Value() : *value);
  }
  return cells;
}

class ReportsFile {
 public:
  static Result<ReportsFile> Create(SweepRows& rows, const std::string& path) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, rows.MetricNames());
    TUNE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
    ReportsFile reports(std::move(file));
    std::vector<Value> header(std::begin(kReportColumns), std::end(kReportColumns));
    for (const std::string& name : names) {
      const bool is_taken = std::find(std::begin(kReportColumns), std::end(kReportColumns), name) !=
                            std::end(kReportColumns);
      reports.columns_.emplace(name, header.size());
      header.emplace_back(is_taken ? "metric." + name : name);
    }
    reports.column_count_ = header.size();
    TUNE_RETURN_IF_ERROR(AppendLine(header, reports.file_));
    return reports;
  }

  Status Add(const ExportedTrial& trial, const ExportedReport& report) {
    std::vector<Value> cells(column_count_);
    cells[0] = trial.number;
    cells[1] = report.attempt;
    cells[2] = report.iteration;
    cells[3] = FormatInstant(report.reported_at);
    TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
    for (const auto& [name, value] : metrics) {
      if (const auto column = columns_.find(name); column != columns_.end()) {
        cells[column->second] = value;
      }
    }
    return AppendLine(cells, file_);
  }

  Status Close() { return file_.Close(); }

 private:
  explicit ReportsFile(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  std::map<std::string, size_t> columns_;  // By metric.
  size_t column_count_ = 0;
};

}  // namespace

Status ExportCsv(SweepRows& rows, const ExportPlace& place) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, rows.ParameterNames());
  TUNE_ASSIGN_OR_RETURN(OutputFile trials, OutputFile::Create(place.folder + "/trials.csv"));
  std::vector<Value> header(std::begin(kTrialColumns), std::end(kTrialColumns));
  const bool has_limits = rows.sweep().has_limits;
  if (has_limits) header.insert(header.end(), {Value("feasible"), Value("violation")});
  for (const std::string& name : names) header.emplace_back("config/" + name);
  TUNE_RETURN_IF_ERROR(AppendLine(header, trials));
  TUNE_ASSIGN_OR_RETURN(ReportsFile reports,
                        ReportsFile::Create(rows, place.folder + "/reports.csv"));
  for (ExportedTrial trial;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows.NextTrial(trial));
    if (!has_trial) break;
    TUNE_RETURN_IF_ERROR(AppendLine(CellsOf(trial, has_limits, names), trials));
    for (ExportedReport report;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_report, rows.NextReport(report));
      if (!has_report) break;
      TUNE_RETURN_IF_ERROR(reports.Add(trial, report));
    }
  }
  TUNE_RETURN_IF_ERROR(trials.Close());
  return reports.Close();
}

}  // namespace tune
