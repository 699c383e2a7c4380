#include "tuner/cli/keep/export_command.h"

#include <memory>
#include <utility>

#include "core/posix/environment.h"
#include "core/status.h"
#include "trial_runner/command_text.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/export/export_folder.h"
#include "tuner/export/formats.h"
#include "tuner/export/sweep_rows.h"

namespace tune {
namespace {

// How to look at what was written.
std::string Advice(ExportFormat format, const std::string& folder, const std::string& sweep) {
  switch (format) {
    case ExportFormat::kTensorboard:
      return "; see it with: tensorboard --logdir " + ShellQuoted(folder);
    case ExportFormat::kOptuna:
      return "; open it with: optuna.load_study(storage=\"sqlite:///" + folder +
             "/optuna.db\", study_name=\"" + sweep + "\")";
    case ExportFormat::kMlflow:
      return "; see it with: mlflow ui --backend-store-uri " +
             ShellQuoted("sqlite:///" + folder + "/mlflow.db");
    default:
      return "";
  }
}

ExportedSweep ToExport(const FoundSweep& found) {
  ExportedSweep sweep;
  sweep.id = found.id;
  sweep.name = found.name;
  sweep.status = found.status;
  sweep.objectives = found.objectives;
  sweep.has_limits = found.has_limits();
  sweep.created_at = Instant{found.created_us};
  if (found.finished_us.has_value()) sweep.finished_at = Instant{*found.finished_us};
  return sweep;
}

Status Export(const ExportOptions& options, std::ostream& err) {
  const Result<ExportFormat> format = ParseExportFormat(options.format);
  if (!format.ok()) return format.status().At("--to");
  if (options.arguments.empty() || options.arguments.size() > 2) {
    return InvalidArgument("export: read " + std::to_string(options.arguments.size()) +
                           " names, expected [NAME] DIR");
  }
  const std::string name = options.arguments.size() == 2 ? options.arguments.front() : "";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        OpenForAnswer(options.db_path, err));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database, name));
  TUNE_ASSIGN_OR_RETURN(ExportFolder folder, ExportFolder::Begin(options.arguments.back()));
  {
    const auto say = [&err](int64_t done, int64_t total) {
      err << "exported " << done << " of " << total << " reports\n";
    };
    TUNE_ASSIGN_OR_RETURN(SweepRows rows, SweepRows::Open(*database, ToExport(sweep), say));
    TUNE_RETURN_IF_ERROR(ExportSweep(rows, *format, {folder.path(), folder.target()}));
  }
  TUNE_RETURN_IF_ERROR(folder.Commit());
  // Who asks from elsewhere gets the folder, by the name that it was given.
  const bool is_asked_here = EnvironmentText(kRemoteWidth).empty();
  const std::string where = is_asked_here ? folder.target() : options.arguments.back();
  err << "exported " << Printable(sweep.name) << " to " << where
      << Advice(*format, where, sweep.name) << "\n";
  return OkStatus();
}

}  // namespace

int ExportCommand(const ExportOptions& options, std::ostream& err) {
  const Status status = Export(options, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
