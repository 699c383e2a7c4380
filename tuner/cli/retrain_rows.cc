#include "tuner/cli/retrain_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/json.h"

namespace tune {

Result<std::vector<BestConfiguration>> ReadBestConfigurations(Database& database,
                                                              const FoundSweep& sweep,
                                                              int64_t count) {
  // Turned so that lower is better. A trial that exploited others had several configurations: the
  // one that its best value is of.
  static constexpr char kBestSql[] =
      "SELECT coalesce((SELECT x.flat FROM exploit_rows AS x WHERE x.trial = t.id"
      "   AND x.iteration < t.best_iteration ORDER BY x.id DESC LIMIT 1), c.flat),"
      " t.number, t.best_value FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id"
      " WHERE t.experiment = ?1 AND t.best_value IS NOT NULL"
      " ORDER BY t.best_value * ?2, t.number";
  TUNE_ASSIGN_OR_RETURN(Statement * row, database.Kept(kBestSql));
  row->BindAll(sweep.id, sweep.direction() == Mode::kMax ? -1 : 1);
  std::vector<BestConfiguration> best;
  std::set<std::string> seen;
  while (static_cast<int64_t>(best.size()) < count) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    BestConfiguration one;
    one.flat = row->Text(0);
    if (!seen.insert(one.flat).second) continue;
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(one.flat));
    TUNE_ASSIGN_OR_RETURN(one.configuration, Configuration::FromFlat(flat));
    one.trial = row->Int(1);
    one.value = row->Real(2);
    best.push_back(std::move(one));
  }
  row->Reset();
  return best;
}

std::optional<double> RetrainedConfiguration::mean() const {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> RetrainedConfiguration::deviation() const {
  if (values.size() < 2) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += (value - *mean()) * (value - *mean());
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Result<std::vector<RetrainedConfiguration>> ReadRetrained(Database& database,
                                                          const FoundSweep& sweep) {
  static constexpr char kTrialsSql[] =
      "SELECT c.flat, t.best_value FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id WHERE t.experiment = ?1 ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(Statement * row, database.Kept(kTrialsSql));
  row->BindAll(sweep.id);
  std::vector<RetrainedConfiguration> retrained;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const std::string flat(row->Text(0));
    auto found = std::find_if(retrained.begin(), retrained.end(),
                              [&](const auto& one) { return one.flat == flat; });
    if (found == retrained.end()) found = retrained.insert(found, {flat, {}, 0});
    ++found->trial_count;
    if (const auto value = row->OptionalReal(1)) found->values.push_back(*value);
  }
  row->Reset();
  return retrained;
}

}  // namespace tune
