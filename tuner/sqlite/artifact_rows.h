// What the database knows of the artifacts, for artifact_garbage.h and for copies of them.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/artifact_garbage.h"
#include "tuner/sqlite/database.h"

namespace tune {

// All sweeps, or the named one, with their trials, and of these the checkpoints that lie in a
// trial's folder and that `is_there` knows of, by their paths (all of them where it is null). From
// one state of the database, which must be in no transaction. `has_tuner` is left false.
using PathTest = std::function<bool(const std::string& path)>;
Result<KnownSweeps> ReadKnownSweeps(Database& database, const std::string& sweep = "",
                                    const PathTest& is_there = nullptr);

// A checkpoint that the database calls durable, of any sweep.
struct DurableCheckpoint {
  int64_t trial_id = 0;
  std::string sweep;
  int64_t trial = 0;  // Its number.
  int64_t iteration = 0;
  std::string path;  // As the row says.
  int64_t bytes = 0;
  std::string checksum;
};
// Ordered by trial, iteration and path.
Result<std::vector<DurableCheckpoint>> ReadDurableCheckpoints(Database& database);

}  // namespace tune
