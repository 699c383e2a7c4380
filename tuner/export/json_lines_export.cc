// trials.jsonl, reports.jsonl and decisions.jsonl: the fields of the database's views, a line each.
// A trial stands by its number.
#include "core/json.h"
#include "tuner/export/formats.h"
#include "tuner/export/output_file.h"

namespace tune {
namespace {

template <typename T>
void SetIfThere(Value& map, const char* key, const std::optional<T>& value) {
  map.Set(key, value.has_value() ? Value(*value) : Value());
}
void SetTime(Value& map, const char* key, const std::optional<Instant>& time) {
  map.Set(key, time.has_value() ? Value(FormatInstant(*time)) : Value());
}

std::string TrialLine(const ExportedTrial& trial) {
  Value line = Value::MakeMap();
  line.Set("number", trial.number);
  line.Set("status", trial.status);
  line.Set("stop_reason", trial.stop_reason.empty() ? Value() : Value(trial.stop_reason));
  line.Set("config", trial.config.ToNested());
  line.Set("iterations", trial.iterations);
  SetIfThere(line, "last_value", trial.last_value);
  SetIfThere(line, "best_value", trial.best_value);
  SetIfThere(line, "best_iteration", trial.best_iteration);
  if (trial.violation) {
    line.Set("feasible", *trial.violation == 0);
    line.Set("violation", *trial.violation);
  }
  line.Set("attempts", trial.attempts);
  SetTime(line, "created_at", trial.created_at);
  SetTime(line, "started_at", trial.started_at);
  SetTime(line, "finished_at", trial.finished_at);
  line.Set("run_seconds", trial.run_seconds);
  return ToJson(line) + "\n";
}

// The metrics as they are stored: most of the bytes, and JSON already.
std::string ReportLine(const ExportedTrial& trial, const ExportedReport& report) {
  std::string line = "{\"trial\":" + std::to_string(trial.number) +
                     ",\"attempt\":" + std::to_string(report.attempt) +
                     ",\"iteration\":" + std::to_string(report.iteration) + ",\"value\":";
  AppendJson(report.value.has_value() ? Value(*report.value) : Value(), line);
  line += ",\"metrics\":";
  line += report.metrics_json;
  line += ",\"reported_at\":\"" + FormatInstant(report.reported_at) + "\"}\n";
  return line;
}

// A trial's; those of one iteration in the order in which they can follow each other: pause,
// resume, stop.
Status AppendDecisions(Database& database, const ExportedTrial& trial, OutputFile& file) {
  static constexpr char kDecisionsSql[] =
      "SELECT iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
      " WHERE trial = ?1 ORDER BY iteration, decision";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kDecisionsSql));
  row->BindAll(trial.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    Value line = Value::MakeMap();
    line.Set("trial", trial.number);
    line.Set("iteration", row->Int(0));
    line.Set("decision", row->Text(1));
    line.Set("scheduler", row->Text(2));
    SetIfThere(line, "rung", row->OptionalInt(3));
    SetIfThere(line, "cutoff", row->OptionalReal(4));
    SetIfThere(line, "rank", row->OptionalInt(5));
    SetIfThere(line, "count", row->OptionalInt(6));
    TUNE_RETURN_IF_ERROR(file.Append(ToJson(line) + "\n"));
  }
  return OkStatus();
}

}  // namespace

Status ExportJsonLines(SweepRows& rows, const ExportPlace& place) {
  TUNE_ASSIGN_OR_RETURN(OutputFile trials, OutputFile::Create(place.folder + "/trials.jsonl"));
  TUNE_ASSIGN_OR_RETURN(OutputFile reports, OutputFile::Create(place.folder + "/reports.jsonl"));
  TUNE_ASSIGN_OR_RETURN(OutputFile decisions,
                        OutputFile::Create(place.folder + "/decisions.jsonl"));
  for (ExportedTrial trial;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows.NextTrial(trial));
    if (!has_trial) break;
    TUNE_RETURN_IF_ERROR(trials.Append(TrialLine(trial)));
    for (ExportedReport report;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_report, rows.NextReport(report));
      if (!has_report) break;
      TUNE_RETURN_IF_ERROR(reports.Append(ReportLine(trial, report)));
    }
    TUNE_RETURN_IF_ERROR(AppendDecisions(rows.database(), trial, decisions));
  }
  TUNE_RETURN_IF_ERROR(trials.Close());
  TUNE_RETURN_IF_ERROR(reports.Close());
  return decisions.Close();
}

}  // namespace tune
