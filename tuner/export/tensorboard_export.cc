// A run folder for each trial, named by its number, and one event file above them that tells the
// HParams tab what was searched.
#include "tuner/export/event_records.h"
#include "tuner/export/formats.h"
#include "tuner/export/output_file.h"

namespace tune {
namespace {

Status ExportRun(SweepRows& rows, const ExportedTrial& trial, const std::vector<HParam>& hparams,
                 const std::string& path) {
  const Instant start = trial.started_at.value_or(trial.created_at);
  TUNE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  TUNE_RETURN_IF_ERROR(file.Append(FileVersionRecord(start)));
  TUNE_RETURN_IF_ERROR(file.Append(SessionStartRecord(start, trial.config, hparams)));
  for (ExportedReport report;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_report, rows.NextReport(report));
    if (!has_report) break;
    if (!report.is_new) continue;
    TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
    TUNE_RETURN_IF_ERROR(file.Append(ScalarsRecord(report.reported_at, report.iteration, metrics)));
  }
  if (trial.has_ended()) {
    const bool has_failed = trial.status == "ERROR";
    TUNE_RETURN_IF_ERROR(
        file.Append(SessionEndRecord(trial.finished_at.value_or(start),
                                     has_failed ? SessionEnd::kFailure : SessionEnd::kSuccess)));
  }
  return file.Close();
}

}  // namespace

Status ExportTensorboard(SweepRows& rows, const ExportPlace& place) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, rows.Space());
  const std::vector<HParam> hparams = HParamsOf(space);
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> metrics, rows.MetricNames());
  const Instant created_at = rows.sweep().created_at;
  const std::string name = "/" + EventFileName(created_at);
  TUNE_RETURN_IF_ERROR(WriteOutputFile(
      place.folder + name,
      FileVersionRecord(created_at) + ExperimentRecord(created_at, hparams, metrics)));
  for (ExportedTrial trial;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows.NextTrial(trial));
    if (!has_trial) return OkStatus();
    const std::string folder = place.folder + "/" + std::to_string(trial.number);
    TUNE_RETURN_IF_ERROR(ExportRun(rows, trial, hparams, folder + name));
  }
}

}  // namespace tune
