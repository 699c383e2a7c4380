// How fast lanes were in the sweeps of a database (tuner/lane_speeds.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/lane_speeds.h"
#include "tuner/sqlite/database.h"

namespace tune {

// In order of kind, then of lanes; of each the latest sweep's. Nothing where there is no database,
// or one of a version that did not measure.
Result<std::vector<LaneSpeedRow>> ReadLaneSpeeds(const std::string& db_path);

struct KindLimit {
  LaneKind kind;
  LaneLimit limit;
};

// What limits the lanes of a sweep whose space does not say how many, by kind.
Result<std::vector<KindLimit>> ReadLaneLimits(Database& database, int64_t experiment);

// "4 train as one on NVIDIA H200: 8 were slower (2310 against 2480 images/s)".
std::string Describe(const KindLimit& limit);

}  // namespace tune
