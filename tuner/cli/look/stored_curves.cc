#include "tuner/cli/look/stored_curves.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/simulate/recorded_configuration.h"

namespace tune {
namespace {

class StoredCurveReader {
 public:
  StoredCurveReader(Database& database, const SearchSpace& space)
      : database_(database), space_(space) {}

  Result<RecordedCurves> Read(const std::string& name, const std::vector<std::string>& needed);

 private:
  Status ReadMetricNames(int64_t experiment);
  Status ReadReports(const FoundSweep& sweep);
  Status BeginCurve(const FoundSweep& sweep, const Statement& row);
  Status AddReport(const Statement& row, double seconds);

  Database& database_;
  const SearchSpace& space_;
  RecordedCurves curves_;
  int64_t point_count_ = 0;
};

Result<RecordedCurves> StoredCurveReader::Read(const std::string& name,
                                               const std::vector<std::string>& needed) {
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(database_, name));
  const std::string place = database_.path() + ": " + sweep.name;
  TUNE_RETURN_IF_ERROR(ReadMetricNames(sweep.id));
  for (const std::string& metric : needed) {
    const auto& metrics = curves_.metrics;
    if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) continue;
    return InvalidArgument(place + ": no trial reported " + metric + ", which the sweep needs");
  }
  TUNE_RETURN_IF_ERROR(ReadReports(sweep));
  if (curves_.curves.empty())
    return InvalidArgument(place + ": no trial that ran has reported anything");
  return std::move(curves_);
}

Status StoredCurveReader::ReadMetricNames(int64_t experiment) {
  static constexpr char kNamesSql[] =
      "SELECT DISTINCT m.key FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial,"
      " json_each(r.metrics) AS m WHERE t.experiment = ?1 ORDER BY m.key";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_.Kept(kNamesSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    curves_.metrics.emplace_back(row->Text(0));
  }
  return OkStatus();
}

// Reports that came again after a retry carry no decision: they are not the curve's, but the time
// of the next one counts from them; what was told of trials that others run has neither decisions
// nor attempts. What a trial reported with a configuration taken over from another one is no curve
// of its own.
Status StoredCurveReader::ReadReports(const FoundSweep& sweep) {
  static constexpr char kReportsSql[] =
      "SELECT t.number, c.flat, r.iteration, r.metrics, r.attempt, r.reported_us,"
      " coalesce(a.started_us, t.started_us, t.created_us), r.decision FROM report_rows AS r JOIN "
      "trial_rows AS t ON t.id = r.trial"
      " JOIN configuration_rows AS c ON c.trial = t.id"
      " LEFT JOIN attempt_rows AS a ON a.trial = r.trial AND a.number = r.attempt"
      " WHERE t.experiment = ?1 AND NOT EXISTS (SELECT 1 FROM exploit_rows AS x"
      "   WHERE x.trial = t.id AND " TUNE_ATTEMPT_BEFORE_EXPLOIT_SQL
      " < r.attempt)"
      " ORDER BY t.number, r.attempt, r.iteration";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_.Kept(kReportsSql));
  row->BindAll(sweep.id);
  std::pair<int64_t, int64_t> attempt{-1, -1};
  int64_t curve_of = -1;
  int64_t before_us = 0;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const int64_t trial = row->Int(0);
    if (std::exchange(attempt, std::pair(trial, row->Int(4))) != attempt) before_us = row->Int(6);
    const int64_t at_us = row->Int(5);
    const double seconds =
        Duration{std::max<int64_t>(0, at_us - std::exchange(before_us, at_us))}.seconds();
    if (row->IsNull(7) && !sweep.is_told()) continue;
    if (std::exchange(curve_of, trial) != trial) TUNE_RETURN_IF_ERROR(BeginCurve(sweep, *row));
    TUNE_RETURN_IF_ERROR(AddReport(*row, seconds));
  }
  return OkStatus();
}

Status StoredCurveReader::BeginCurve(const FoundSweep& sweep, const Statement& row) {
  const std::string place =
      database_.path() + ": trial " + sweep.name + "/" + std::to_string(row.Int(0));
  if (static_cast<int64_t>(curves_.curves.size()) == limits::kCurvesMax) {
    return InvalidArgument(place + ": more than " + std::to_string(limits::kCurvesMax) + " curves");
  }
  TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row.Text(1)));
  TUNE_ASSIGN_OR_RETURN(const Configuration recorded, Configuration::FromFlat(flat));
  Result<Configuration> configuration = InSpace(space_, recorded);
  if (!configuration.ok()) return configuration.status().At(place);
  curves_.curves.push_back({*std::move(configuration), {}, {}, {}, {}});
  return OkStatus();
}

Status StoredCurveReader::AddReport(const Statement& row, double seconds) {
  if (++point_count_ > limits::kCurvePointsMax) {
    return InvalidArgument(database_.path() + ": more than " +
                           std::to_string(limits::kCurvePointsMax) + " reports");
  }
  RecordedCurve& curve = curves_.curves.back();
  curve.iterations.push_back(row.Int(2));
  curve.seconds.push_back(seconds);
  TUNE_ASSIGN_OR_RETURN(const Value metrics, ParseJson(row.Text(3)));
  for (const std::string& name : curves_.metrics) {
    const Value* const value = metrics.is_map() ? metrics.Find(name) : nullptr;
    const std::optional<double> number = value == nullptr ? std::nullopt : ReadNumber(*value);
    curve.values.push_back(number.value_or(std::numeric_limits<double>::quiet_NaN()));
    curve.was_reported.push_back(number.has_value());
  }
  return OkStatus();
}

}  // namespace

Result<RecordedCurves> ReadStoredCurves(const std::string& db_path, const std::string& name,
                                        const SearchSpace& space,
                                        const std::vector<std::string>& needed) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  return StoredCurveReader(*database, space).Read(name, needed);
}

}  // namespace tune
