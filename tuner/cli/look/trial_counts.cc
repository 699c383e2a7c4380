#include "tuner/cli/look/trial_counts.h"

#include <algorithm>

namespace tune {

int64_t TrialCounts::Of(std::string_view status) const {
  const auto found = by_status.find(status);
  return found == by_status.end() ? 0 : found->second;
}

Result<TrialCounts> CountTrials(Database& database, int64_t experiment) {
  // One statement: what is read is of one moment.
  static constexpr char kSql[] =
      "SELECT NULL, (SELECT max(number) + 1 FROM trial_rows WHERE experiment = ?1)"
      " UNION ALL SELECT status, count() FROM trial_rows"
      " WHERE experiment = ?1 AND status <> 'TERMINATED' GROUP BY status";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(experiment);
  TrialCounts counts;
  int64_t terminated = 0;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    if (row->IsNull(0)) {
      counts.total = terminated = row->OptionalInt(1).value_or(0);
      continue;
    }
    counts.by_status.emplace(row->Text(0), row->Int(1));
    terminated -= row->Int(1);
  }
  if (terminated > 0) counts.by_status.emplace("TERMINATED", terminated);
  return counts;
}

}  // namespace tune
