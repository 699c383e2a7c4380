// The one place of the tuner that knows a trainable's checkpoints: how the classifier's become a
// model.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "tuner/cli/look/best_model.h"

namespace tune {

// The weights of the model's epoch, whose value `tune best` shows, with its configuration and
// scores, for the program food11 and others. Returns the epoch: another one if the checkpoint does
// not have that epoch's weights.
Result<int64_t> ExportFood11(const std::string& checkpoint_dir, const BestModel& model,
                             const std::string& export_dir);

}  // namespace tune
