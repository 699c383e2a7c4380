#include "tuner/cli/page_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "tuner/cli/stored_doubts.h"
#include "tuner/cli/sweep_lookup.h"

namespace tune {
namespace {

// Columns that hold JSON already.
bool IsJson(std::string_view name) {
  return name == "config" || name == "metrics" || name == "spec" || name == "other_workers";
}

void AppendValue(const Statement& row, int column, std::string& out) {
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      out += "null";
      return;
    case ColumnKind::kInteger:
      out += std::to_string(row.Int(column));
      return;
    case ColumnKind::kReal:
      AppendJson(Value(row.Real(column)), out);
      return;
    case ColumnKind::kText:
    case ColumnKind::kBlob:
      if (IsJson(row.Name(column))) {
        out += row.Text(column);
      } else {
        AppendJsonString(row.Text(column), out);
      }
  }
}

void AppendRow(const Statement& row, std::string& out) {
  out += '{';
  for (int i = 0; i < row.column_count(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(row.Name(i), out);
    out += ':';
    AppendValue(row, i, out);
  }
  out += '}';
}

// "[{...},{...}]" of a query with one parameter.
Result<std::string> Rows(Database& database, const char* sql, int64_t parameter) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database.Kept(sql));
  rows->BindAll(parameter);
  std::string out = "[";
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
    if (!has_row) break;
    if (out.size() > 1) out += ',';
    AppendRow(*rows, out);
  }
  return out + "]";
}

Result<std::string> Counts(Database& database, int64_t experiment) {
  static constexpr char kSql[] =
      "SELECT status, count() FROM trials WHERE experiment = ?1 GROUP BY status ORDER BY status";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database.Kept(kSql));
  rows->BindAll(experiment);
  std::string out = "{";
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
    if (!has_row) break;
    if (out.size() > 1) out += ',';
    AppendJsonString(rows->Text(0), out);
    out += ':' + std::to_string(rows->Int(1));
  }
  return out + "}";
}

void AppendField(std::string_view name, const Value& value, std::string& out) {
  out += out.empty() || out.back() == '{' ? "" : ",";
  AppendJsonString(name, out);
  out += ':';
  AppendJson(value, out);
}

Result<std::string> Summary(Database& database, const FoundSweep& sweep) {
  std::string out = "{";
  AppendField("name", sweep.name, out);
  AppendField("status", sweep.status, out);
  AppendField("metric", sweep.metric, out);
  AppendField("mode", sweep.mode, out);
  AppendField("scheduler", sweep.scheduler, out);
  AppendField("seed", sweep.seed, out);
  AppendField("created_at", FormatInstant(Instant{sweep.created_us}), out);
  AppendField("finished_at",
              sweep.finished_us ? Value(FormatInstant(Instant{*sweep.finished_us})) : Value(), out);
  AppendField("trials_max", TrialCountMax(database, sweep), out);
  TUNE_ASSIGN_OR_RETURN(const std::string counts, Counts(database, sweep.id));
  out += ",\"counts\":" + counts;
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(database, sweep));
  out += ",\"best\":";
  if (!best) return out + "null";
  out += "{";
  AppendField("number", best->number, out);
  AppendField("value", best->value, out);
  AppendField("iteration", best->iteration, out);
  AppendField("config", best->config, out);
  return out + "}";
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

struct Curve {
  int64_t trial = 0;
  std::vector<std::pair<int64_t, std::optional<double>>> points;
};

// Its first and last points, and every `stride`-th.
void AppendCurve(const Curve& curve, size_t stride, std::string& out) {
  std::string iterations, values;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    if (i % stride != 0 && i + 1 != curve.points.size()) continue;
    const auto& [iteration, value] = curve.points[i];
    if (!iterations.empty()) {
      iterations += ',';
      values += ',';
    }
    iterations += std::to_string(iteration);
    AppendJson(value ? Value(*value) : Value(), values);
  }
  out += "{\"trial\":" + std::to_string(curve.trial) + ",\"iterations\":[" + iterations +
         "],\"values\":[" + values + "]}";
}

}  // namespace

Result<std::unique_ptr<PageApi>> PageApi::Open(const std::string& db_path) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenForQueries(db_path));
  return std::unique_ptr<PageApi>(new PageApi(std::move(database)));
}

Result<std::string> PageApi::Sweeps() {
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*database_));
  std::string out = "[";
  for (auto it = sweeps.rbegin(); it != sweeps.rend(); ++it) {
    if (out.size() > 1) out += ',';
    TUNE_ASSIGN_OR_RETURN(const std::string summary, Summary(*database_, *it));
    out += summary + "}";
  }
  return out + "]";
}

Result<std::string> PageApi::Sweep(const std::string& name) {
  static constexpr char kSpecSql[] = "SELECT spec, base_dir FROM experiments WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, name));
  TUNE_ASSIGN_OR_RETURN(std::string out, Summary(*database_, sweep));
  TUNE_ASSIGN_OR_RETURN(const std::string stored, Rows(*database_, kSpecSql, sweep.id));
  out += ",\"stored\":" + stored + ",\"doubts\":[";
  TUNE_ASSIGN_OR_RETURN(const std::vector<Doubt> doubts, ReadDoubts(*database_, sweep.id));
  for (size_t i = 0; i < doubts.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(Describe(doubts[i]), out);
  }
  return out + "]}";
}

Result<std::string> PageApi::Trials(const std::string& name) {
  static constexpr char kSql[] =
      "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration,"
      " attempts, started_at, finished_at, run_seconds, config FROM trials WHERE experiment = ?1"
      " ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, name));
  return Rows(*database_, kSql, sweep.id);
}

Result<std::string> PageApi::Curves(const std::string& name, const HttpRequest& request) {
  static constexpr char kCountsSql[] =
      "SELECT id, number, iterations FROM trials WHERE experiment = ?1 AND iterations > 0"
      " ORDER BY number";
  static constexpr char kReportsSql[] =
      "SELECT iteration, value FROM reports WHERE trial = ?1 ORDER BY iteration, attempt";
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, name));
  std::set<int64_t> wanted;
  const auto named = request.query.find("trials");
  if (named != request.query.end()) {
    std::string_view rest = named->second;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      const std::optional<int64_t> number = WholeNumber(one);
      if (!number) {
        return InvalidArgument("trials: read '" + std::string(one) +
                               "', expected numbers such as 1,2,3");
      }
      wanted.insert(*number);
    }
  }
  struct Found {
    int64_t id, number;
  };
  std::vector<Found> found;
  int64_t points = 0;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database_->Kept(kCountsSql));
    rows->BindAll(sweep.id);
    while (true) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
      if (!has_row) break;
      if (named != request.query.end() && !wanted.contains(rows->Int(1))) continue;
      found.push_back({rows->Int(0), rows->Int(1)});
      points += rows->Int(2);
    }
  }
  // Two points of a trial are the least that make a line.
  const auto trials_max = static_cast<size_t>(kPointsMax / 2);
  const size_t step = (found.size() + trials_max - 1) / std::max<size_t>(1, trials_max);
  const auto stride = static_cast<size_t>(std::max<int64_t>(
      1,
      (points / std::max<int64_t>(1, static_cast<int64_t>(step)) + kPointsMax - 1) / kPointsMax));
  std::string out = "{\"curves\":[";
  size_t shown = 0;
  for (size_t i = 0; i < found.size(); i += std::max<size_t>(1, step)) {
    Curve curve{found[i].number, {}};
    TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database_->Kept(kReportsSql));
    rows->BindAll(found[i].id);
    while (true) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
      if (!has_row) break;
      const std::pair<int64_t, std::optional<double>> point{rows->Int(0), rows->OptionalReal(1)};
      if (!curve.points.empty() && curve.points.back().first == point.first) {
        curve.points.back() = point;  // An iteration that came again.
      } else {
        curve.points.push_back(point);
      }
    }
    if (shown++ > 0) out += ',';
    AppendCurve(curve, stride, out);
  }
  return out + "],\"left_out\":" + std::to_string(found.size() - shown) +
         ",\"stride\":" + std::to_string(stride) + "}";
}

Result<std::string> PageApi::Trial(const std::string& name, int64_t number) {
  static constexpr char kIdSql[] = "SELECT id FROM trials WHERE experiment = ?1 AND number = ?2";
  static constexpr char kTrialSql[] =
      "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration,"
      " attempts, created_at, started_at, finished_at, run_seconds, config FROM trials"
      " WHERE id = ?1";
  static constexpr char kAttemptsSql[] =
      "SELECT a.number AS number, coalesce(nullif(w.name, ''), 'worker ' || a.worker) AS worker,"
      " outcome, error, from_iteration, started_at, finished_at FROM attempts AS a"
      " LEFT JOIN workers AS w ON w.id = a.worker WHERE trial = ?1 ORDER BY a.number";
  static constexpr char kDecisionsSql[] =
      "SELECT iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
      " WHERE trial = ?1 AND (rung IS NOT NULL OR decision <> 'continue') ORDER BY iteration";
  static constexpr char kCheckpointsSql[] =
      "SELECT iteration, bytes, state FROM checkpoints WHERE trial = ?1 ORDER BY iteration";
  static constexpr char kReportsSql[] =
      "SELECT attempt, iteration, value, metrics, reported_at FROM reports WHERE trial = ?1"
      " ORDER BY iteration DESC, attempt DESC LIMIT 200";
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, name));
  int64_t id = 0;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kIdSql));
    row->BindAll(sweep.id, number);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return NotFound(sweep.name + " has no trial " + std::to_string(number));
    id = row->Int(0);
  }
  std::string out;
  const std::pair<const char*, const char*> parts[] = {{"trial", kTrialSql},
                                                       {"attempts", kAttemptsSql},
                                                       {"decisions", kDecisionsSql},
                                                       {"checkpoints", kCheckpointsSql},
                                                       {"latest_reports", kReportsSql}};
  for (const auto& [part, sql] : parts) {
    TUNE_ASSIGN_OR_RETURN(const std::string rows, Rows(*database_, sql, id));
    out += (out.empty() ? "{\"" : ",\"") + std::string(part) + "\":" + rows;
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> notes, ReadNotes(*database_, id));
  out += ",\"notes\":[";
  for (size_t i = 0; i < notes.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(notes[i], out);
  }
  return out + "]}";
}

HttpAnswer PageApi::Answer(const HttpRequest& request) {
  constexpr std::string_view kRoot = "/api/v1/sweeps";
  std::string_view rest = request.path;
  if (!rest.starts_with(kRoot)) return ErrorAnswer(404, "there is nothing at this address");
  rest.remove_prefix(kRoot.size());
  std::vector<std::string> parts;
  while (rest.starts_with('/')) {
    rest.remove_prefix(1);
    parts.emplace_back(rest.substr(0, rest.find('/')));
    rest.remove_prefix(parts.back().size());
  }
  const Result<int64_t> version = database_->QueryInt("PRAGMA data_version");
  const std::string tag = version.ok() ? "\"" + std::to_string(*version) + "\"" : "";
  // The status of a sweep is also its tuner's, which may die without a word in the database.
  const bool has_tag = parts.size() >= 2 && !tag.empty();
  if (has_tag && request.if_none_match == tag) {
    HttpAnswer same;
    same.status = 304;
    same.headers = {{"ETag", tag}};
    return same;
  }
  Result<std::string> body = NotFound("there is nothing at this address");
  if (rest.empty() && parts.empty()) {
    body = Sweeps();
  } else if (rest.empty() && parts.size() == 1) {
    body = Sweep(parts[0]);
  } else if (parts.size() == 2 && parts[1] == "trials") {
    body = Trials(parts[0]);
  } else if (parts.size() == 2 && parts[1] == "curves") {
    body = Curves(parts[0], request);
  } else if (parts.size() == 3 && parts[1] == "trials") {
    const std::optional<int64_t> number = WholeNumber(parts[2]);
    if (number) body = Trial(parts[0], *number);
  }
  if (!body.ok()) {
    const int status = body.status().code() == StatusCode::kNotFound          ? 404
                       : body.status().code() == StatusCode::kInvalidArgument ? 400
                                                                              : 500;
    return ErrorAnswer(status, body.status().message());
  }
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = *std::move(body);
  answer.headers = {{"Cache-Control", "no-cache"}};
  if (has_tag) answer.headers.emplace_back("ETag", tag);
  return answer;
}

}  // namespace tune
