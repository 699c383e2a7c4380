// How fast trials of food11 trained, by how many of a shape trained as one: what the reports of a
// database's sweeps say of it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

struct LaneSpeed {
  int64_t lanes = 1;
  double images_per_second = 0;  // Of all lanes together: the median of the reports.
  int64_t report_count = 0;
};

// By shape (trial_runner/fusion.h), each in order of lanes. Nothing where there is no database.
Result<std::map<std::string, std::vector<LaneSpeed>>> ReadLaneSpeeds(const std::string& db_path);

}  // namespace tune
