#include "tuner/cli/look/best_model.h"

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace tune {
namespace {

// A report's metrics as the database has them.
Metrics FromText(std::string_view text) {
  Metrics metrics;
  const Result<Value> map = ParseJson(text);
  if (!map.ok() || !map->is_map()) return metrics;
  for (const MapEntry& entry : map->AsMap()) {
    if (const std::optional<double> number = ReadNumber(entry.value)) {
      metrics.emplace_back(entry.key, *number);
    }
  }
  return metrics;
}

// What was reported of an epoch, and what a later report says of its test.
Metrics WithTest(Metrics epoch, const Metrics& test) {
  for (const auto& [name, value] : test) {
    if (!name.starts_with("test_")) continue;
    std::erase_if(epoch, [&name](const auto& metric) { return metric.first == name; });
    epoch.emplace_back(name, value);
  }
  return epoch;
}

}  // namespace

Result<BestModel> FindBestModel(Database& database, const FoundSweep& sweep,
                                const BestTrial& best) {
  // Each report with a test, the latest first, and what was reported of the epoch that was tested:
  // by the same attempt, or by the last one before it, from whose checkpoint it went on.
  static constexpr char kTestsSql[] =
      "SELECT t.iteration, t.metrics, (SELECT e.metrics FROM reports AS e WHERE e.trial = t.trial"
      "   AND e.iteration = json_extract(t.metrics, '$.test_epoch') AND e.attempt <= t.attempt"
      "   ORDER BY e.attempt DESC LIMIT 1)"
      " FROM reports AS t WHERE t.trial = ?1"
      "   AND json_extract(t.metrics, '$.test_accuracy') IS NOT NULL"
      " ORDER BY t.attempt DESC, t.iteration DESC";
  BestModel model;
  model.epoch = best.iteration;
  // The best value may be a test's own: then the model is the one that was tested.
  const bool is_of_test = sweep.metric.find("test_") != std::string::npos;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTestsSql));
  row->BindAll(best.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return model;
    if (is_of_test && row->Int(0) != best.iteration) continue;
    const Metrics test = FromText(row->Text(1));
    const Metric epoch = FindMetric(test, "test_epoch");
    if (is_of_test && epoch) model.epoch = static_cast<int64_t>(*epoch);
    model.has_other_test = !epoch || static_cast<int64_t>(*epoch) != model.epoch;
    if (model.has_other_test) continue;
    model.tested = WithTest(FromText(row->Text(2)), test);
    return model;
  }
}

}  // namespace tune
