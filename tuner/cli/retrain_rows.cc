#include "tuner/cli/retrain_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/json.h"
#include "tuner/best_trial.h"

namespace tune {

Result<std::vector<BestConfiguration>> ReadBestConfigurations(Database& database,
                                                              const FoundSweep& sweep,
                                                              int64_t count) {
  const std::string sql =
      "SELECT " TUNE_CONFIG_OF_BEST_SQL("flat") ","
      " t.number, t.best_value FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id WHERE t.experiment = ?1 AND " +
      std::string(kMayBeBestSql) + " ORDER BY " + BestFirstSql(sweep.direction());
  TUNE_ASSIGN_OR_RETURN(Statement row, database.Prepare(sql));
  row.BindAll(sweep.id);
  std::vector<BestConfiguration> best;
  std::map<std::string, size_t> places;
  std::vector<int64_t> trial_counts;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) break;
    const std::string flat(row.Text(0));
    const auto [place, is_new] = places.emplace(flat, best.size());
    if (is_new) {
      best.push_back({flat, {}, row.Int(1), 0});
      trial_counts.push_back(0);
    }
    best[place->second].value += row.Real(2);
    ++trial_counts[place->second];
  }
  for (size_t i = 0; i < best.size(); ++i) best[i].value /= static_cast<double>(trial_counts[i]);
  std::stable_sort(best.begin(), best.end(), [&sweep](const auto& a, const auto& b) {
    return IsBetter(a.value, b.value, sweep.direction());
  });
  if (static_cast<int64_t>(best.size()) > count) best.resize(static_cast<size_t>(count));
  for (BestConfiguration& one : best) {
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(one.flat));
    TUNE_ASSIGN_OR_RETURN(one.configuration, Configuration::FromFlat(flat));
  }
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
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
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
  return retrained;
}

}  // namespace tune
