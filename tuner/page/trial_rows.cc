#include "tuner/page/trial_rows.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/page/page_json.h"

namespace tune {
namespace {

// Chained from column to column.
void MixColumn(const Statement& row, int column, uint64_t& hash) {
  const auto mix = [&](uint64_t bits) { hash = Xxh64(std::as_bytes(std::span(&bits, 1)), hash); };
  mix(static_cast<uint64_t>(row.Kind(column)));
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      return;
    case ColumnKind::kInteger:
      return mix(static_cast<uint64_t>(row.Int(column)));
    case ColumnKind::kReal:
      return mix(std::bit_cast<uint64_t>(row.Real(column)));
    case ColumnKind::kText:
    case ColumnKind::kBlob:
      hash = Xxh64(row.Text(column), hash);
  }
}

// The columns of an answer.
#define TUNE_ROW_SQL(LIMIT_COLUMNS)                                                                \
  "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration,"        \
  " attempts, started_at, finished_at, run_seconds, CASE status WHEN 'RUNNING' THEN"               \
  " (SELECT a.started_at FROM attempts AS a WHERE a.trial = ?1 AND a.number = t.attempts)"         \
  " END AS running_since, CASE status WHEN 'RUNNING' THEN (SELECT max(r.reported_at) FROM reports" \
  " AS r WHERE r.trial = ?1 AND r.attempt = t.attempts) END AS heard_at, config, " LIMIT_COLUMNS   \
  " FROM trials AS t WHERE id = ?1"
constexpr char kRowSql[] = TUNE_ROW_SQL("NULL AS feasible, NULL AS violation");
constexpr char kLimitedRowSql[] = TUNE_ROW_SQL("feasible, violation");
#undef TUNE_ROW_SQL

constexpr std::string_view kStatuses[] = {"PENDING", "RUNNING", "PAUSED", "TERMINATED", "ERROR"};
constexpr std::string_view kSorted[] = {"number",     "status",      "stop_reason",    "iterations",
                                        "last_value", "best_value",  "best_iteration", "attempts",
                                        "started_at", "finished_at", "run_seconds"};

// Of the table, whose times are numbers.
std::string SortColumn(const std::string& name) {
  return name == "started_at" ? "started_us" : name == "finished_at" ? "finished_us" : name;
}

template <typename Names>
Status CheckAmong(const std::string& key, const std::string& read, const Names& names) {
  if (std::find(std::begin(names), std::end(names), read) != std::end(names)) return OkStatus();
  std::string known;
  for (const std::string_view name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  return InvalidArgument(key + ": read '" + ToUtf8(read) + "', expected one of " + known);
}

Status ReadCount(const std::string& key, const std::string& text, int64_t min, int64_t max,
                 int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && out >= min && out <= max) return OkStatus();
  return InvalidArgument(key + ": read '" + ToUtf8(text) + "', expected a whole number from " +
                         std::to_string(min) + " to " + std::to_string(max));
}

}  // namespace

Result<std::optional<TrialPage>> ReadTrialPage(const std::map<std::string, std::string>& query) {
  constexpr int64_t kOffsetMax = int64_t{1} << 40;
  constexpr std::string_view kOrders[] = {"asc", "desc"};
  TrialPage page;
  bool is_asked = false;
  for (const auto& [key, text] : query) {
    if (key == "limit") {
      TUNE_RETURN_IF_ERROR(ReadCount(key, text, 1, TrialPage::kLimitMax, page.limit));
    } else if (key == "offset") {
      TUNE_RETURN_IF_ERROR(ReadCount(key, text, 0, kOffsetMax, page.offset));
    } else if (key == "sort") {
      TUNE_RETURN_IF_ERROR(CheckAmong(key, text, kSorted));
      page.sort = text;
    } else if (key == "order") {
      TUNE_RETURN_IF_ERROR(CheckAmong(key, text, kOrders));
      page.is_descending = text == "desc";
    } else if (key == "status") {
      TUNE_RETURN_IF_ERROR(CheckAmong(key, text, kStatuses));
      page.status = text;
    } else {
      continue;
    }
    is_asked = true;
  }
  return is_asked ? std::optional(page) : std::nullopt;
}

Status TrialRows::ReadRow(Database& database, bool has_limits, Row& row) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement found,
                        database.Kept(has_limits ? kLimitedRowSql : kRowSql));
  found->BindAll(row.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, found->Step());
  if (!has_row) return OkStatus();  // Deleted meanwhile; the next look tells.
  row.json = "[";
  for (int i = 0; i < found->column_count(); ++i) {
    if (i > 0) row.json += ',';
    AppendColumn(*found, i, row.json);
  }
  row.json += ']';
  return OkStatus();
}

Result<std::string> TrialRows::ReadColumns(Database& database, bool has_limits) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row,
                        database.Kept(has_limits ? kLimitedRowSql : kRowSql));
  std::string columns;
  for (int i = 0; i < row->column_count(); ++i) {
    if (i > 0) columns += ',';
    AppendJsonString(row->Name(i), columns);
  }
  return columns;
}

Status TrialRows::Refresh(Database& database) {
  // What a trial violates changes with its best value.
  static constexpr char kSql[] =
      "SELECT id, number, status, stop_reason, iterations, last_value, best_value, best_iteration,"
      " attempts, started_us, finished_us, run_seconds FROM trial_rows WHERE experiment = ?1"
      " ORDER BY number";
  if (columns_.empty()) {
    TUNE_ASSIGN_OR_RETURN(columns_, ReadColumns(database, has_limits_));
  }
  std::vector<std::pair<int64_t, Row>> changed;
  size_t count = 0;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement found, database.Kept(kSql));
    found->BindAll(experiment_);
    while (true) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, found->Step());
      if (!has_row) break;
      ++count;
      Row row{found->Int(0), 0, revision_ + 1, {}};
      for (int i = 0; i < found->column_count(); ++i) MixColumn(*found, i, row.fingerprint);
      const auto known = rows_.find(found->Int(1));
      if (known != rows_.end() && known->second.fingerprint == row.fingerprint) continue;
      changed.emplace_back(found->Int(1), std::move(row));
    }
  }
  size_t new_count = 0;
  for (auto& [number, row] : changed) {
    TUNE_RETURN_IF_ERROR(ReadRow(database, has_limits_, row));
    if (row.json.empty()) continue;
    new_count += rows_.insert_or_assign(number, std::move(row)).second ? 1 : 0;
  }
  if (!changed.empty()) ++revision_;
  if (rows_.size() > count) {
    rows_.clear();
    whole_since_ = revision_ + 1;
    return Refresh(database);
  }
  return OkStatus();
}

std::string TrialRows::Answer(std::string_view since) const {
  int64_t known = -1;
  if (since.starts_with(life_) && since.substr(life_.size()).starts_with('.')) {
    since.remove_prefix(life_.size() + 1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(since.data(), since.data() + since.size(), number);
    const bool is_number = error == std::errc() && end == since.data() + since.size();
    if (is_number && number >= whole_since_ && number <= revision_) known = number;
  }
  std::string out = R"({"revision":")" + life_ + "." + std::to_string(revision_) +
                    R"(","is_whole":)" + (known < 0 ? "true" : "false") + R"(,"columns":[)" +
                    columns_;
  out += R"(],"rows":[)";
  for (const auto& [number, row] : rows_) {
    if (row.revision <= known) continue;
    if (out.back() != '[') out += ',';
    out += row.json;
  }
  return out + R"(],"left_out":0})";
}

Result<std::string> TrialRows::First(Database& database, const FoundSweep& sweep, int64_t count) {
  const std::string sql =
      "SELECT id, number FROM (SELECT id, number FROM trial_rows WHERE experiment = ?1"
      "  AND best_value IS NOT NULL AND status <> 'ERROR' ORDER BY " +
      BestFirstSql(sweep.direction(), sweep.ViolationSql()) +
      " LIMIT ?2)"
      " UNION SELECT id, number FROM (SELECT id, number FROM trial_rows WHERE experiment = ?1"
      "  ORDER BY number DESC LIMIT ?2) ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(database, sweep.id));
  TUNE_ASSIGN_OR_RETURN(Statement found, database.Prepare(sql));
  found.BindAll(sweep.id, std::max<int64_t>(1, count / 2));
  std::vector<Row> rows;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, found.Step());
    if (!has_row) break;
    rows.push_back({found.Int(0), 0, 0, {}});
  }
  return AnswerOf(database, sweep.has_limits(), std::move(rows), counts.total);
}

Result<std::string> TrialRows::Page(Database& database, const FoundSweep& sweep,
                                    const TrialPage& page) {
  const std::string column = SortColumn(page.sort);
  const std::string order = page.is_descending ? " DESC" : "";
  const std::string number_order = page.sort == "number" ? order : "";
  const std::string sql =
      "SELECT id FROM trial_rows WHERE experiment = ?1 AND (?2 = '' OR status = ?2)"
      " ORDER BY " +
      (page.sort == "number" ? "" : column + " IS NULL, " + column + order + ", ") + "number" +
      number_order + " LIMIT ?3 OFFSET ?4";
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(database, sweep.id));
  int64_t count = page.status.empty() ? counts.total : 0;
  for (const auto& [status, of_status] : counts.by_status) {
    if (status == page.status) count = of_status;
  }
  TUNE_ASSIGN_OR_RETURN(Statement found, database.Prepare(sql));
  found.BindAll(sweep.id, page.status, page.limit, page.offset);
  std::vector<Row> rows;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, found.Step());
    if (!has_row) break;
    rows.push_back({found.Int(0), 0, 0, {}});
  }
  return AnswerOf(database, sweep.has_limits(), std::move(rows), count);
}

Result<std::string> TrialRows::AnswerOf(Database& database, bool has_limits, std::vector<Row> rows,
                                        int64_t count) {
  TUNE_ASSIGN_OR_RETURN(const std::string columns, ReadColumns(database, has_limits));
  std::string out = R"({"revision":"","is_whole":false,"columns":[)" + columns + R"(],"rows":[)";
  for (Row& row : rows) {
    TUNE_RETURN_IF_ERROR(ReadRow(database, has_limits, row));
    if (row.json.empty()) continue;
    --count;
    if (out.back() != '[') out += ',';
    out += row.json;
  }
  return out + R"(],"left_out":)" + std::to_string(count) + "}";
}

std::vector<TrialRows::Mark> TrialRows::Marks() const {
  std::vector<Mark> marks;
  marks.reserve(rows_.size());
  for (const auto& [number, row] : rows_) marks.push_back({row.id, number, row.revision});
  return marks;
}

}  // namespace tune
