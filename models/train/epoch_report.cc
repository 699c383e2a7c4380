#include "models/train/epoch_report.h"

#include <array>
#include <string>
#include <utility>

#include "core/json.h"
#include "models/train/food11_options.h"

namespace tune::models {
namespace {

constexpr std::array<std::pair<EndReason, std::string_view>, 4> kReasons = {{
    {EndReason::kNone, "none"},
    {EndReason::kAllEpochs, "all_epochs"},
    {EndReason::kPatience, "patience"},
    {EndReason::kDiverged, "diverged"},
}};

}  // namespace

std::string_view EndReasonName(EndReason reason) {
  return kReasons[static_cast<size_t>(reason)].second;
}

Metrics ToMetrics(const EpochReport& report) {
  Metrics metrics = {{"train_loss", report.train_loss},
                     {"train_accuracy", report.train_accuracy},
                     {"val_loss", report.val_loss},
                     {"val_accuracy", report.val_accuracy},
                     {"epoch_seconds", report.epoch_seconds},
                     {"images_per_second", report.images_per_second},
                     {"lanes", static_cast<double>(report.lanes)}};
  if (report.test_loss) metrics.emplace_back("test_loss", *report.test_loss);
  if (report.test_accuracy) metrics.emplace_back("test_accuracy", *report.test_accuracy);
  if (report.test_epoch) metrics.emplace_back("test_epoch", *report.test_epoch);
  return metrics;
}

Value ToValue(const EpochReport& report) {
  Value map = Value::MakeMap();
  map.Set("epoch", report.epoch);
  for (const auto& [name, number] : ToMetrics(report)) map.Set(name, number);
  map.Set("end", EndReasonName(report.end));
  return map;
}

Result<EpochReport> EpochReportFromValue(const Value& value) {
  const Status bad = DataLoss("an epoch's metrics are not readable");
  if (!value.is_map()) return bad;
  EpochReport report;
  const Value* const epoch = value.Find("epoch");
  if (epoch == nullptr || !epoch->is_int() || epoch->AsInt() < 1 || epoch->AsInt() > 1'000'000) {
    return bad;
  }
  report.epoch = static_cast<int>(epoch->AsInt());
  const std::array<std::pair<std::string_view, double*>, 6> fields = {{
      {"train_loss", &report.train_loss},
      {"train_accuracy", &report.train_accuracy},
      {"val_loss", &report.val_loss},
      {"val_accuracy", &report.val_accuracy},
      {"epoch_seconds", &report.epoch_seconds},
      {"images_per_second", &report.images_per_second},
  }};
  for (const auto& [name, field] : fields) {
    const Value* const number = value.Find(name);
    const std::optional<double> read = number == nullptr ? std::nullopt : ReadNumber(*number);
    if (!read) return bad;
    *field = *read;
  }
  // Checkpoints of before there were lanes do not say it.
  if (const Value* const lanes = value.Find("lanes")) {
    const std::optional<double> read = ReadNumber(*lanes);
    if (!read || *read < 1 || *read > kLanesMax) return bad;
    report.lanes = static_cast<int>(*read);
  }
  if (const Value* const loss = value.Find("test_loss")) report.test_loss = ReadNumber(*loss);
  if (const Value* const hits = value.Find("test_accuracy")) {
    report.test_accuracy = ReadNumber(*hits);
  }
  if (const Value* const tested = value.Find("test_epoch")) {
    const std::optional<double> read = ReadNumber(*tested);
    if (!read || *read < 1 || *read > report.epoch) return bad;
    report.test_epoch = static_cast<int>(*read);
  }
  const Value* const end = value.Find("end");
  if (end == nullptr || !end->is_string()) return bad;
  for (const auto& [reason, name] : kReasons) {
    if (name != end->AsString()) continue;
    report.end = reason;
    return report;
  }
  return bad;
}

}  // namespace tune::models
