#include "tuner/page/charts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "core/utf8.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/stored_importance.h"
#include "tuner/cli/look/trial_logs.h"
#include "tuner/page/page_json.h"
#include "tuner/search_problem.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

struct CurveTrial {
  int64_t id = 0, number = 0, iterations = 0;
  std::optional<double> best, violation;
  int64_t started_us = 0;
};

Result<std::vector<CurveTrial>> ReadCurveTrials(Database& database, const FoundSweep& sweep,
                                                const std::set<int64_t>& wanted) {
#define TUNE_CURVE_TRIALS_SQL(VIOLATION)                                                    \
  "SELECT id, number, iterations, best_value, coalesce(started_us, created_us), " VIOLATION \
  " FROM trial_rows WHERE experiment = ?1 AND iterations > 0 ORDER BY number"
  static constexpr char kSql[] = TUNE_CURVE_TRIALS_SQL("NULL");
  static constexpr char kLimitedSql[] = TUNE_CURVE_TRIALS_SQL("violation");
#undef TUNE_CURVE_TRIALS_SQL
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row,
                        database.Kept(sweep.has_limits() ? kLimitedSql : kSql));
  row->BindAll(sweep.id);
  std::vector<CurveTrial> trials;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return trials;
    if (!wanted.empty() && !wanted.contains(row->Int(1))) continue;
    trials.push_back({row->Int(0), row->Int(1), row->Int(2), row->OptionalReal(3),
                      row->OptionalReal(5), row->Int(4)});
  }
}

// More lines are told apart by nobody, and a browser draws them one by one.
constexpr size_t kCurvesMax = 500;

// In order of their numbers.
std::vector<CurveTrial> ChooseCurves(std::vector<CurveTrial> trials, Mode mode) {
  if (trials.size() <= kCurvesMax) return trials;
  std::stable_sort(trials.begin(), trials.end(), [&](const CurveTrial& a, const CurveTrial& b) {
    if (!a.best || !b.best) return a.best.has_value() && !b.best.has_value();
    return IsBetterStanding(*a.best, a.violation, *b.best, b.violation, mode);
  });
  std::vector<CurveTrial> chosen(trials.begin(), trials.begin() + kCurvesMax / 2);
  trials.erase(trials.begin(), trials.begin() + kCurvesMax / 2);
  const size_t step = trials.size() / (kCurvesMax / 2) + 1;
  for (size_t i = 0; i < trials.size(); i += step) chosen.push_back(trials[i]);
  std::sort(chosen.begin(), chosen.end(),
            [](const CurveTrial& a, const CurveTrial& b) { return a.number < b.number; });
  return chosen;
}

struct Point {
  int64_t iteration = 0;
  double seconds = 0;
  std::optional<double> value;
};

Result<std::vector<Point>> ReadPoints(Database& database, const CurveTrial& trial,
                                      const MetricColumn& column) {
  static constexpr const char* kSql[] = {
      "SELECT iteration, reported_us, value, decision IS NOT NULL FROM report_rows WHERE trial = ?1"
      " ORDER BY iteration, attempt",
      "SELECT iteration, reported_us, json_extract(metrics, ?2), decision IS NOT NULL"
      " FROM report_rows WHERE trial = ?1 ORDER BY iteration, attempt",
      "SELECT r.iteration, r.reported_us, m.value, r.decision IS NOT NULL"
      " FROM report_rows AS r, json_each(r.metrics) AS m"
      " WHERE r.trial = ?1 AND m.key = ?2 ORDER BY r.iteration, r.attempt"};
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql[column.kind]));
  row->Bind(1, trial.id);
  if (!column.parameter.empty()) row->Bind(2, column.parameter);
  std::vector<Point> points;
  bool is_back_decided = false;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return points;
    const bool is_number =
        row->Kind(2) == ColumnKind::kReal || row->Kind(2) == ColumnKind::kInteger;
    const double seconds = (Instant{row->Int(1)} - Instant{trial.started_us}).seconds();
    const Point point{row->Int(0), seconds, is_number ? row->OptionalReal(2) : std::nullopt};
    // Of an iteration that came again the report that was decided on counts (tuner/best_trial.h),
    // of a trial that exploits others the last such one.
    const bool is_decided = row->Int(3) != 0;
    if (points.empty() || points.back().iteration != point.iteration) {
      points.push_back(point);
      is_back_decided = is_decided;
    } else if (is_decided || !is_back_decided) {
      points.back() = point;
      is_back_decided = is_decided;
    }
  }
}

// How many points these curves have, at most. Iterations may be numbered with gaps.
Result<int64_t> CountPoints(Database& database, const std::vector<CurveTrial>& trials) {
  static constexpr char kSql[] =
      "SELECT count(DISTINCT iteration) FROM report_rows WHERE trial = ?1";
  int64_t iterations = 0;
  for (const CurveTrial& trial : trials) iterations += trial.iterations;
  if (iterations <= kCurvePointsMax) return iterations;
  int64_t count = 0;
  for (const CurveTrial& trial : trials) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
    row->BindAll(trial.id);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (has_row) count += row->Int(0);
  }
  return count;
}

// Its points number 0, stride, ... and the last.
void AppendCurve(int64_t trial, const std::vector<Point>& points, size_t stride, std::string& out) {
  std::string iterations, seconds, values;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i % stride != 0 && i + 1 != points.size()) continue;
    if (!iterations.empty()) {
      iterations += ',';
      seconds += ',';
      values += ',';
    }
    iterations += std::to_string(points[i].iteration);
    AppendJsonNumber(std::round(points[i].seconds * 1000) / 1000, seconds);
    AppendNumber(points[i].value, values);
  }
  out += "{\"trial\":" + std::to_string(trial) + ",\"iterations\":[" + iterations +
         "],\"seconds\":[" + seconds + "],\"values\":[" + values + "]}";
}

Result<std::vector<std::string>> ReadMetricNames(Database& database, const FoundSweep& sweep) {
  // By the last reports of the latest trials, 20 of each or more: a metric may be reported now and
  // then, and to look at all reports takes seconds.
  static constexpr char kSql[] =
      "WITH latest AS (SELECT id FROM trial_rows WHERE experiment = ?1 AND iterations > 0"
      "   ORDER BY number DESC LIMIT 100)"
      " SELECT DISTINCT m.key FROM latest JOIN report_rows AS r ON r.rowid IN"
      "  (SELECT s.rowid FROM report_rows AS s WHERE s.trial = latest.id"
      "   ORDER BY s.attempt DESC, s.iteration DESC"
      "   LIMIT (SELECT 2000 / count(*) FROM latest)),"
      " json_each(r.metrics) AS m ORDER BY m.key";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep.id);
  std::vector<std::string> names;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return names;
    names.emplace_back(row->Text(0));
  }
}

// Their numbers have no gaps.
Status CheckThereIsTrial(Database& database, const FoundSweep& sweep, int64_t number) {
  static constexpr char kSql[] =
      "SELECT 1 FROM trial_rows WHERE experiment = ?1 AND number >= ?2 LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep.id, number);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (has_row) return OkStatus();
  return NotFound(sweep.name + " has no trial " + std::to_string(number));
}

// For a metric of which no value was found; where it is the sweep's own, it is only late.
Status CheckThereIsMetric(Database& database, const FoundSweep& sweep, const std::string& metric) {
  if (metric == sweep.metric) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadMetricNames(database, sweep));
  if (std::find(names.begin(), names.end(), metric) != names.end()) return OkStatus();
  return NotFound("no trial of " + sweep.name + " reports '" + metric + "'");
}

}  // namespace

Result<std::string> CurvesJson(Database& database, const FoundSweep& sweep,
                               const CurveQuery& query) {
  const std::string& metric = query.metric.empty() ? sweep.metric : query.metric;
  const MetricColumn column = ColumnOf(metric, sweep.metric);
  if (!query.trials.empty()) {
    TUNE_RETURN_IF_ERROR(CheckThereIsTrial(database, sweep, *query.trials.rbegin()));
  }
  TUNE_ASSIGN_OR_RETURN(std::vector<CurveTrial> all,
                        ReadCurveTrials(database, sweep, query.trials));
  const size_t all_count = all.size();
  const std::vector<CurveTrial> trials = ChooseCurves(std::move(all), sweep.direction());
  TUNE_ASSIGN_OR_RETURN(const int64_t point_count, CountPoints(database, trials));
  const int64_t stride =
      std::max<int64_t>(1, (point_count + kCurvePointsMax - 1) / kCurvePointsMax);
  std::string out = "{";
  AppendField("metric", metric, out);
  out += ",\"curves\":[";
  bool has_values = false;
  for (const CurveTrial& trial : trials) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<Point> points, ReadPoints(database, trial, column));
    has_values |= std::any_of(points.begin(), points.end(),
                              [](const Point& point) { return point.value.has_value(); });
    if (out.back() != '[') out += ',';
    AppendCurve(trial.number, points, static_cast<size_t>(stride), out);
  }
  if (!has_values && !trials.empty()) {
    TUNE_RETURN_IF_ERROR(CheckThereIsMetric(database, sweep, metric));
  }
  return out + "],\"left_out\":" + std::to_string(all_count - trials.size()) +
         ",\"stride\":" + std::to_string(stride) + "}";
}

Result<std::string> MetricNamesJson(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadMetricNames(database, sweep));
  std::string out = "[";
  for (const std::string& name : names) {
    if (out.size() > 1) out += ',';
    AppendJsonString(name, out);
  }
  return out + "]";
}

Result<std::string> FrontJson(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<ObjectiveValues> trials,
                        ReadObjectiveValues(database, sweep));
  std::string out = "{\"objectives\":[";
  for (const Objective& objective : sweep.objectives) {
    out += out.back() == '[' ? "{" : ",{";
    AppendField("metric", objective.metric, out);
    AppendField("mode", objective.mode == Mode::kMin ? "min" : "max", out);
    out += '}';
  }
  out += "],\"trials\":[";
  for (const ObjectiveValues& trial : trials) {
    out += (out.back() == '[' ? "[" : ",[") + std::to_string(trial.trial);
    for (const double value : trial.values) {
      out += ',';
      AppendJsonNumber(value, out);
    }
    out += ']';
  }
  out += "],\"front\":[";
  for (const ObjectiveValues& trial : ParetoFront(trials, sweep.objectives)) {
    out += (out.back() == '[' ? "" : ",") + std::to_string(trial.trial);
  }
  return out + "]}";
}

Result<std::string> ImportanceMembers(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(const auto trials, ReadWeighedTrials(database, sweep));
  std::string out = "\"metrics\":[";
  for (const Objective& objective : sweep.objectives) {
    const Result<StoredImportance> weighed =
        WeighParameters(sweep, objective, space, trials, database);
    if (!weighed.ok() && weighed.status().code() == StatusCode::kFailedPrecondition) {
      out.clear();
      AppendField("why_not", weighed.status().message(), out);
      return out;
    }
    if (!weighed.ok()) return weighed.status();
    out += out.back() == '[' ? "{" : ",{";
    AppendField("metric", objective.metric, out);
    AppendField("trials", static_cast<int64_t>(weighed->trial_count), out);
    AppendField("iteration", weighed->iteration ? Value(*weighed->iteration) : Value(), out);
    out += ",\"parameters\":[";
    for (const ParameterImportance& parameter : weighed->parameters) {
      out += out.back() == '[' ? "{" : ",{";
      AppendField("name", parameter.name, out);
      AppendField("share", parameter.share, out);
      AppendField("low", parameter.low, out);
      AppendField("high", parameter.high, out);
      AppendField("is_clear", parameter.is_clear, out);
      out += '}';
    }
    out += "]}";
  }
  return out + "]";
}

Result<std::string> ComparedMembers(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const ComparedValues compared, ReadComparedValues(database, sweep));
  std::string out;
  AppendField("iteration", compared.iteration ? Value(*compared.iteration) : Value(), out);
  out += ",\"rows\":[";
  for (const auto& [trial, value] : compared.values) {
    out += (out.back() == '[' ? "[" : ",[") + std::to_string(trial) + ',';
    AppendJsonNumber(value, out);
    out += ']';
  }
  return out + "]";
}

namespace {

// "[{...},{...}]" of lines of JSON; of what is none nothing is passed on.
std::string JsonList(const std::vector<std::string>& lines) {
  std::string out = "[";
  for (const std::string& line : lines) {
    if (!ParseJson(line).ok()) continue;
    if (out.size() > 1) out += ',';
    out += line;
  }
  return out + "]";
}

}  // namespace

Result<std::string> WorkersJson(Database& database, const FoundSweep& sweep, const Clock& clock) {
  static constexpr char kSql[] =
      "SELECT id, coalesce(nullif(name, ''), 'worker ' || id) AS name, address, cpus, gpus, state,"
      " joined_at, last_seen_at FROM workers WHERE experiment = ?1 ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const std::string known, RowsAsJson(database, kSql, sweep.id));
  const auto told = [&](ControlVerb verb) {
    return LinesOfTuner(database.path(), sweep.name, verb, clock);
  };
  const bool has_tuner = HasTuner(sweep) && !told(ControlVerb::kState).empty();
  std::string out = "{";
  AppendField("is_told", has_tuner, out);
  out += ",\"known\":" + known;
  out += ",\"workers\":" + (has_tuner ? JsonList(told(ControlVerb::kWorkers)) : "[]");
  out += ",\"devices\":" + (has_tuner ? JsonList(told(ControlVerb::kDevices)) : "[]");
  out += ",\"waiting\":" + (has_tuner ? JsonList(told(ControlVerb::kWaiting)) : "[]");
  return out + "}";
}

Result<std::string> TimelineJson(Database& database, const FoundSweep& sweep) {
  static constexpr char kWorkersSql[] =
      "SELECT id, coalesce(nullif(name, ''), 'worker ' || id) AS name, address, cpus, gpus, state,"
      " joined_at, last_seen_at FROM workers WHERE experiment = ?1 ORDER BY id";
  static constexpr char kAttemptsSql[] =
      "SELECT t.number AS trial, a.number AS attempt, a.worker AS worker, a.outcome AS outcome,"
      " a.from_iteration AS from_iteration, a.started_us / 1000 AS started,"
      " a.finished_us / 1000 AS finished, CASE WHEN a.finished_us IS NULL THEN (SELECT"
      " max(r.reported_us) / 1000 FROM report_rows AS r WHERE r.trial = t.id AND r.attempt ="
      " a.number) END AS heard, a.devices AS devices FROM trial_rows AS t"
      " JOIN attempt_rows AS a ON a.trial = t.id WHERE t.experiment = ?1"
      " ORDER BY t.number, a.number";
  // As schemas before 10 have it.
  static constexpr char kOldAttemptsSql[] =
      "SELECT t.number AS trial, a.number AS attempt, a.worker AS worker, a.outcome AS outcome,"
      " a.from_iteration AS from_iteration, a.started_us / 1000 AS started,"
      " a.finished_us / 1000 AS finished, NULL AS heard, NULL AS devices FROM trial_rows AS t"
      " JOIN attempt_rows AS a ON a.trial = t.id WHERE t.experiment = ?1"
      " ORDER BY t.number, a.number";
  TUNE_ASSIGN_OR_RETURN(const std::string workers, RowsAsJson(database, kWorkersSql, sweep.id));
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  const char* const sql = version >= kDevicesOfAttemptsSince ? kAttemptsSql : kOldAttemptsSql;
  TUNE_ASSIGN_OR_RETURN(const std::string attempts, TableAsJson(database, sql, sweep.id));
  return "{\"workers\":" + workers + ",\"attempts\":" + attempts + "}";
}

Result<std::string> LogJson(const std::string& db_path, const std::string& sweep, int64_t trial,
                            const LogOf& of, int64_t from) {
  using Logs = std::map<int64_t, std::filesystem::path>;
  TUNE_ASSIGN_OR_RETURN(const Logs logs,
                        FindLogs(TrialFolder(ArtifactsDirOf(db_path), sweep, trial), of.rank));
  int64_t attempt = of.attempt;
  if (attempt == 0 && !logs.empty()) attempt = logs.rbegin()->first;
  const auto log = logs.find(attempt);
  int64_t size = 0;
  std::string bytes;
  std::ifstream in(log == logs.end() ? std::filesystem::path() : log->second, std::ios::binary);
  if (in.seekg(0, std::ios::end)) {
    size = static_cast<int64_t>(in.tellg());
    from = std::clamp<int64_t>(from < 0 ? size + from : from, 0, size);
    bytes.resize(static_cast<size_t>(std::min(size - from, kLogBytesMax)));
    in.seekg(from);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  } else {
    from = 0;
  }
  std::string out = "{\"attempts\":[";
  for (const auto& [one, path] : logs) out += (out.back() == '[' ? "" : ",") + std::to_string(one);
  out += "]";
  AppendField("attempt", attempt, out);
  AppendField("from", from, out);
  AppendField("to", from + static_cast<int64_t>(bytes.size()), out);
  AppendField("size", size, out);
  out += ",\"text\":";
  AppendJsonString(ToUtf8(bytes), out);
  return out + "}";
}

}  // namespace tune
