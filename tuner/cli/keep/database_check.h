// What `tune doctor` looks at in a database: whether its pages, keys and checkpoints are whole, and
// whether each sweep's journal comes to its rows. Changes nothing and takes no lock; works while a
// tuner writes.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "core/time.h"
#include "tuner/cli/words/finding.h"

namespace tune {

// A database that is not there yet is no problem.
Findings CheckDatabase(const std::string& db_path, Instant now);

}  // namespace tune
