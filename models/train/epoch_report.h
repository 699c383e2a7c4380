// What one epoch of training says of itself.
//
// Thread rule: values.
#pragma once

#include <optional>
#include <string_view>

#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"

namespace tune::models {

// Why a training run is over.
enum class EndReason {
  kNone,       // It is not.
  kAllEpochs,  // total_epochs reached.
  kPatience,   // `patience` epochs without a lower val_loss.
  kDiverged,   // A loss became NaN or infinite; that epoch's losses say so.
};
// "none", "all_epochs", "patience", "diverged".
std::string_view EndReasonName(EndReason reason);

struct EpochReport {
  int epoch = 0;          // From 1.
  double train_loss = 0;  // Means over the images, in nats; as seen while training, with dropout.
  double train_accuracy = 0;
  double val_loss = 0;
  double val_accuracy = 0;
  double epoch_seconds = 0;      // Training and validation.
  double images_per_second = 0;  // Of the training part; of this run alone, if others are lanes.
  int lanes = 1;                 // Runs that trained as one array in this epoch (lane_array.h).
  // Of the best epoch's weights, in the last report of a run that ends by kAllEpochs or kPatience;
  // and which epoch that was. Checkpoints of earlier versions do not say which.
  std::optional<double> test_loss;
  std::optional<double> test_accuracy;
  std::optional<int> test_epoch;
  EndReason end = EndReason::kNone;  // Not kNone: the last report.
};

// The metrics under their reported names.
Metrics ToMetrics(const EpochReport& report);

// For manifests. FromValue fails with kDataLoss.
Value ToValue(const EpochReport& report);
Result<EpochReport> EpochReportFromValue(const Value& value);

}  // namespace tune::models
