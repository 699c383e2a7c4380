// The one place of the tuner that knows a trainable's checkpoints: how the classifier's become a
// model.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

// The weights of the checkpoint's epoch, whose value `tune best` shows, and the configuration, for
// the program food11 and others.
Status ExportFood11(const std::string& checkpoint_dir, const std::string& export_dir);

}  // namespace tune
