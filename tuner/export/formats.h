// What a sweep can be exported as. docs/EXPORT.md says what each one writes.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "tuner/export/sweep_rows.h"

namespace tune {

enum class ExportFormat { kCsv, kJsonLines, kTensorboard, kOptuna, kMlflow };

// "csv", "jsonl", "tensorboard", "optuna" or "mlflow"; errors name the nearest.
Result<ExportFormat> ParseExportFormat(std::string_view name);

// Where an export is written, and where it will lie once it is whole: absolute, without '/' at the
// end.
struct ExportPlace {
  std::string folder;
  std::string target;
};

Status ExportSweep(SweepRows& rows, ExportFormat format, const ExportPlace& place);

// The status, for a database that is written: SQLite's words on a full disk end with advice that is
// meant for sweeps.
Status DiskFullInWords(Status status, const Database& written);

// Each into an empty folder, row by row.
Status ExportCsv(SweepRows& rows, const ExportPlace& place);
Status ExportJsonLines(SweepRows& rows, const ExportPlace& place);
Status ExportTensorboard(SweepRows& rows, const ExportPlace& place);
Status ExportOptuna(SweepRows& rows, const ExportPlace& place);
Status ExportMlflow(SweepRows& rows, const ExportPlace& place);

}  // namespace tune
