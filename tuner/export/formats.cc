#include "tuner/export/formats.h"

#include <algorithm>
#include <iterator>

#include "core/nearest_name.h"

namespace tune {
namespace {

// In the order of ExportFormat.
constexpr std::string_view kNames[] = {"csv", "jsonl", "tensorboard", "optuna", "mlflow"};

}  // namespace

Result<ExportFormat> ParseExportFormat(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return static_cast<ExportFormat>(found - kNames);
  return InvalidArgument("'" + std::string(name) + "' is no format to export to" +
                         DidYouMean(name, kNames));
}

Status ExportSweep(SweepRows& rows, ExportFormat format, const ExportPlace& place) {
  switch (format) {
    case ExportFormat::kCsv:
      return ExportCsv(rows, place);
    case ExportFormat::kJsonLines:
      return ExportJsonLines(rows, place);
    case ExportFormat::kTensorboard:
      return ExportTensorboard(rows, place);
    case ExportFormat::kOptuna:
      return ExportOptuna(rows, place);
    case ExportFormat::kMlflow:
      return ExportMlflow(rows, place);
  }
  return OkStatus();
}

Status DiskFullInWords(Status status, const Database& written) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return ResourceExhausted(written.path() + ": the disk is full");
}

}  // namespace tune
