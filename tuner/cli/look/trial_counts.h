// How many trials of a sweep are in each state, also of very many: those that have ended well are
// counted without being looked at (schema.cc, version 11). A sweep's numbers have no gap.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/status.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct TrialCounts {
  std::map<std::string, int64_t, std::less<>> by_status;  // Those that occur.
  int64_t total = 0;

  int64_t Of(std::string_view status) const;
  int64_t ended() const { return Of("TERMINATED") + Of("ERROR"); }
};

Result<TrialCounts> CountTrials(Database& database, int64_t experiment);

}  // namespace tune
