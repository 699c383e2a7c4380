#include "tuner/page/metric_ranges.h"

#include <algorithm>
#include <optional>

#include "core/json.h"
#include "tuner/page/page_json.h"

namespace tune {
namespace {

struct Extent {
  double min = 0, max = 0;
};

}  // namespace

Status MetricRanges::Read(Database& database, int64_t trial, int64_t number,
                          std::string& json) const {
  static constexpr const char* kSql[] = {
      "SELECT iteration, value, decision IS NOT NULL FROM report_rows WHERE trial = ?1"
      " ORDER BY iteration, attempt",
      "SELECT iteration, json_extract(metrics, ?2), decision IS NOT NULL FROM report_rows"
      " WHERE trial = ?1 ORDER BY iteration, attempt",
      "SELECT r.iteration, m.value, r.decision IS NOT NULL"
      " FROM report_rows AS r, json_each(r.metrics) AS m"
      " WHERE r.trial = ?1 AND m.key = ?2 ORDER BY r.iteration, r.attempt"};
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql[column_.kind]));
  row->Bind(1, trial);
  if (!column_.parameter.empty()) row->Bind(2, column_.parameter);
  std::optional<Extent> extent;
  double last = 0;
  std::optional<double> value;  // Of `iteration`, which may come again.
  int64_t iteration = -1;
  bool is_present_decided = false;  // Such a report counts before one that is not (best_trial.h).
  const auto take = [&] {
    if (!value) return;
    if (!extent) extent = Extent{*value, *value};
    extent->min = std::min(extent->min, *value);
    extent->max = std::max(extent->max, *value);
    last = *value;
  };
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const bool is_decided = row->Int(2) != 0;
    if (row->Int(0) == iteration && is_present_decided && !is_decided) continue;
    if (row->Int(0) != iteration) take();
    iteration = row->Int(0);
    is_present_decided = is_decided;
    const bool is_number =
        row->Kind(1) == ColumnKind::kReal || row->Kind(1) == ColumnKind::kInteger;
    value = is_number ? row->OptionalReal(1) : std::nullopt;
  }
  take();
  json.clear();
  if (!extent) return OkStatus();
  json = "[" + std::to_string(number);
  for (const double one : {last, extent->min, extent->max}) {
    json += ',';
    AppendJsonNumber(one, json);
  }
  json += ']';
  return OkStatus();
}

Result<std::string> MetricRanges::Answer(Database& database, const TrialRows& trials) {
  std::string out = "{";
  AppendField("metric", metric_, out);
  out += R"(,"columns":["number","last","min","max"],"rows":[)";
  std::map<int64_t, Range> present;
  for (const TrialRows::Mark& trial : trials.Marks()) {
    Range range = ranges_[trial.id];
    if (range.revision != trial.revision) {
      TUNE_RETURN_IF_ERROR(Read(database, trial.id, trial.number, range.json));
      range.revision = trial.revision;
    }
    if (!range.json.empty()) {
      if (out.back() != '[') out += ',';
      out += range.json;
    }
    present.emplace(trial.id, std::move(range));
  }
  ranges_ = std::move(present);
  return out + "]}";
}

}  // namespace tune
