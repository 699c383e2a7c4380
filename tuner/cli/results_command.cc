#include "tuner/cli/results_command.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/pareto_front.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

constexpr size_t kColumnsMax = 1900;  // SQLite's limit is 2000.

const char* const kTrialColumns[] = {"number",     "status",     "stop_reason",
                                     "iterations", "best_value", "best_iteration",
                                     "last_value", "attempts",   "run_seconds"};
constexpr size_t kTrialColumnCount = std::size(kTrialColumns);

constexpr const char* kViews[] = {"experiments", "trials",   "params",      "reports",
                                  "decisions",   "attempts", "checkpoints", "workers"};

std::string QuotedName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

Value CellOf(const Statement& row, int column) {
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      return Value();
    case ColumnKind::kInteger:
      return Value(row.Int(column));
    case ColumnKind::kReal:
      return Value(row.Real(column));
    default:
      return Value(row.Text(column));
  }
}

// ---- --sql

std::string ViewColumns(Database& database, const std::string& view) {
  static constexpr char kColumnsSql[] = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
  Result<Statement> row = database.Prepare(kColumnsSql);
  if (!row.ok()) return view;
  row->BindAll(view);
  std::string list;
  for (;;) {
    const Result<bool> has_row = row->Step();
    if (!has_row.ok() || !*has_row) break;
    list += (list.empty() ? "" : ", ") + std::string(row->Text(0));
  }
  return view + " (" + list + ")";
}

// What there is, for one who wrote a name that is not.
std::string WhatThereIs(Database& database, const std::string& error, const std::string& sql) {
  std::string text;
  if (error.starts_with("no such table")) {
    for (const char* view : kViews)
      text += (text.empty() ? "; the views are " : ", ") + std::string(view);
  } else if (error.starts_with("no such column")) {
    for (const char* view : kViews) {
      if (sql.find(view) != std::string::npos)
        text += "; the columns of " + ViewColumns(database, view);
    }
  }
  return text;
}

int PrintQuery(const ResultsOptions& options, Database& database, std::ostream& out,
               std::ostream& err) {
  database.ForbidAllButReading();
  Result<Statement> query = database.PrepareQuery(options.sql);
  if (!query.ok()) {
    const std::string& error = query.status().message();
    return Complain(InvalidArgument("--sql: " + error + WhatThereIs(database, error, options.sql)),
                    err);
  }
  RowPrinter printer(options.format, options.width, out);
  std::vector<std::string> columns;
  for (int i = 0; i < query->column_count(); ++i) columns.emplace_back(query->Name(i));
  printer.Begin(std::move(columns));
  std::vector<Value> cells(static_cast<size_t>(query->column_count()));
  for (;;) {
    const Result<bool> has_row = query->Step();
    if (!has_row.ok()) {
      printer.End();
      return Complain(InvalidArgument("--sql: " + has_row.status().message()), err);
    }
    if (!*has_row) break;
    for (int i = 0; i < query->column_count(); ++i)
      cells[static_cast<size_t>(i)] = CellOf(*query, i);
    printer.Row(cells);
  }
  printer.End();
  return 0;
}

// ---- trials

struct TrialTable {
  std::vector<std::string> columns;
  size_t param_count = 0;  // They follow the trial's own columns; the metrics follow them.
  std::vector<std::vector<Value>> rows;

  std::optional<size_t> Find(std::string_view name) const {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) return std::nullopt;
    return static_cast<size_t>(found - columns.begin());
  }
};

struct TrialData {
  std::vector<Value> own;
  Configuration params;
  Configuration metrics;  // A metric is a named value, too.
};

Result<std::vector<TrialData>> ReadTrials(Database& database, int64_t experiment) {
  static constexpr char kTrialsSql[] =
      "SELECT t.number, t.status, t.stop_reason, t.iterations, t.best_value, t.best_iteration,"
      // Of several configurations the last, as in the view.
      " t.last_value, t.attempts, t.run_seconds,"
      " coalesce((SELECT x.flat FROM exploit_rows AS x WHERE x.trial = t.id"
      "   ORDER BY x.id DESC LIMIT 1), c.flat),"
      " (SELECT r.metrics FROM report_rows AS r WHERE r.trial = t.id"
      "   ORDER BY r.iteration DESC, r.attempt DESC LIMIT 1)"
      " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id"
      " WHERE t.experiment = ?1 ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(experiment);
  std::vector<TrialData> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    TrialData& trial = trials.emplace_back();
    for (size_t i = 0; i < kTrialColumnCount; ++i)
      trial.own.push_back(CellOf(*row, static_cast<int>(i)));
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(kTrialColumnCount)));
    TUNE_ASSIGN_OR_RETURN(trial.params, Configuration::FromFlat(flat));
    if (row->IsNull(kTrialColumnCount + 1)) continue;
    TUNE_ASSIGN_OR_RETURN(const Value metrics, ParseJson(row->Text(kTrialColumnCount + 1)));
    for (const MapEntry& entry : metrics.AsMap()) {
      const std::optional<double> number = ReadNumber(entry.value);
      trial.metrics.Set(entry.key,
                        number.has_value() && !std::isnan(*number) ? Value(*number) : Value());
    }
  }
  return trials;
}

// The names that occur, each once, in order of appearance.
void CollectNames(const Configuration& values, std::vector<std::string>& names) {
  for (const auto& [name, value] : values.parameters()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

TrialTable Tabulate(std::vector<TrialData> trials) {
  std::vector<std::string> params;
  std::vector<std::string> metrics;
  for (const TrialData& trial : trials) {
    CollectNames(trial.params, params);
    CollectNames(trial.metrics, metrics);
  }
  params.resize(std::min(params.size(), kColumnsMax - kTrialColumnCount));
  metrics.resize(std::min(metrics.size(), kColumnsMax - kTrialColumnCount - params.size()));
  TrialTable table;
  table.param_count = params.size();
  table.columns.assign(std::begin(kTrialColumns), std::end(kTrialColumns));
  for (const std::string& name : params) {
    table.columns.push_back(table.Find(name).has_value() ? "param." + name : name);
  }
  for (const std::string& name : metrics) {
    table.columns.push_back(table.Find(name).has_value() ? "metric." + name : name);
  }
  for (TrialData& trial : trials) {
    std::vector<Value>& row = table.rows.emplace_back(std::move(trial.own));
    const auto append = [&row](const std::vector<std::string>& names, const Configuration& values) {
      for (const std::string& name : names) {
        const Value* const value = values.Find(name);
        row.push_back(value == nullptr ? Value() : *value);
      }
    };
    append(params, trial.params);
    append(metrics, trial.metrics);
  }
  return table;
}

// A temporary table of the connection's own, so that --where and ORDER BY are SQLite's, over these
// columns; its rowids are the rows' places from 1. The names are data: they stand quoted in the
// statement.
Status FillTemporaryTable(Database& database, const TrialTable& table) {
  std::string create;
  std::string places;
  for (const std::string& column : table.columns) {
    create += (create.empty() ? "CREATE TEMP TABLE results (" : ", ") + QuotedName(column);
    places += places.empty() ? "?" : ", ?";
  }
  TUNE_RETURN_IF_ERROR(database.Execute((create + ")").c_str()));
  TUNE_ASSIGN_OR_RETURN(Statement insert,
                        database.Prepare("INSERT INTO temp.results VALUES (" + places + ")"));
  for (const std::vector<Value>& row : table.rows) {
    std::vector<std::string> texts(
        row.size());  // Bound text must live until the statement has run.
    for (size_t i = 0; i < row.size(); ++i) {
      const int place = static_cast<int>(i) + 1;
      const Value& value = row[i];
      if (value.is_null()) {
        insert.Bind(place, nullptr);
      } else if (value.is_bool()) {
        insert.Bind(place, value.AsBool() ? 1 : 0);
      } else if (value.is_int()) {
        insert.Bind(place, value.AsInt());
      } else if (value.is_double()) {
        insert.Bind(place, value.AsDouble());
      } else {
        texts[i] = value.is_string() ? value.AsString() : ToJson(value);
        insert.Bind(place, texts[i]);
      }
    }
    TUNE_RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

struct SortOrder {
  size_t column = 0;
  bool descending = false;
};

Result<SortOrder> ParseSort(const std::string& sort, const TrialTable& table,
                            const FoundSweep& sweep) {
  const bool has_sign = sort.starts_with('-') || sort.starts_with('+');
  std::optional<size_t> column = table.Find(sort);
  SortOrder order;
  if (!column.has_value() && has_sign) {
    column = table.Find(sort.substr(1));
    order.descending = sort.starts_with('-');
  } else if (column.has_value()) {
    const std::string& name = table.columns[*column];
    const bool is_metric = name == sweep.metric || name == "best_value" || name == "last_value";
    order.descending = is_metric && sweep.direction() == Mode::kMax;
    for (const Objective& objective : sweep.objectives) {
      if (name == objective.metric) order.descending = objective.mode == Mode::kMax;
    }
  }
  if (!column.has_value()) {
    const std::vector<std::string_view> known(table.columns.begin(), table.columns.end());
    return InvalidArgument("--sort: there is no column '" + sort + "'" +
                           DidYouMean(has_sign ? sort.substr(1) : sort, known));
  }
  order.column = *column;
  return order;
}

// Places in table.rows, filtered and in order.
Result<std::vector<size_t>> Choose(const ResultsOptions& options, Database& database,
                                   const TrialTable& table, const FoundSweep& sweep) {
  std::vector<size_t> chosen;
  if (options.where.empty() && options.sort.empty()) {
    for (size_t i = 0; i < table.rows.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  std::string order = "number";
  if (!options.sort.empty()) {
    TUNE_ASSIGN_OR_RETURN(const SortOrder sort, ParseSort(options.sort, table, sweep));
    order = QuotedName(table.columns[sort.column]) + (sort.descending ? " DESC" : " ASC") +
            " NULLS LAST, number";
  }
  TUNE_RETURN_IF_ERROR(
      database.Execute("PRAGMA query_only = OFF"));  // For the temporary table alone.
  TUNE_RETURN_IF_ERROR(FillTemporaryTable(database, table));
  TUNE_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON"));
  database.ForbidAllButReading();
  // A line of its own, so that a comment in the expression ends with it.
  const std::string where = options.where.empty() ? "1" : options.where;
  Result<Statement> query = database.PrepareQuery("SELECT rowid FROM temp.results WHERE (" + where +
                                                  "\n) ORDER BY " + order);
  if (!query.ok()) {
    std::string columns;
    for (const std::string& name : table.columns) columns += (columns.empty() ? "" : ", ") + name;
    return InvalidArgument("--where: " + query.status().message() + "; the columns are " + columns);
  }
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, query->Step());
    if (!has_row) break;
    chosen.push_back(static_cast<size_t>(query->Int(0)) - 1);
  }
  return chosen;
}

// Parameters with one value everywhere would only make a table wide.
std::vector<size_t> ConstantColumns(const TrialTable& table) {
  std::vector<size_t> constants;
  if (table.rows.size() < 2) return constants;
  for (size_t i = kTrialColumnCount; i < kTrialColumnCount + table.param_count; ++i) {
    const bool is_constant =
        std::all_of(table.rows.begin(), table.rows.end(),
                    [&](const auto& row) { return row[i] == table.rows[0][i]; });
    if (is_constant) constants.push_back(i);
  }
  return constants;
}

void PrintTrials(const ResultsOptions& options, const TrialTable& table,
                 const std::vector<size_t>& chosen, std::ostream& out, std::ostream& err) {
  std::vector<size_t> hidden;
  if (options.format == OutputFormat::kTable) hidden = ConstantColumns(table);
  std::vector<size_t> shown;
  std::vector<std::string> names;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (std::find(hidden.begin(), hidden.end(), i) != hidden.end()) continue;
    shown.push_back(i);
    names.push_back(table.columns[i]);
  }
  RowPrinter printer(options.format, options.width, out);
  printer.Begin(names);
  std::vector<Value> cells(shown.size());
  for (const size_t place : chosen) {
    for (size_t i = 0; i < shown.size(); ++i) cells[i] = table.rows[place][shown[i]];
    printer.Row(cells);
  }
  printer.End();
  if (hidden.empty()) return;
  err << "the same in all trials:";
  for (const size_t i : hidden) {
    err << " " << Printable(table.columns[i]) << "=" << ShortText(table.rows[0][i]);
  }
  err << "\n";
}

// The best trial's, or those of the Pareto front.
Result<std::vector<int64_t>> BestNumbers(Database& database, const FoundSweep& sweep) {
  std::vector<int64_t> numbers;
  if (sweep.objectives.size() > 1) {
    TUNE_ASSIGN_OR_RETURN(const auto front, ReadParetoFront(database, sweep));
    for (const ObjectiveValues& trial : front) numbers.push_back(trial.trial);
    return numbers;
  }
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(database, sweep));
  if (best) numbers.push_back(best->number);
  return numbers;
}

std::string WhyThereIsNoBest(const FoundSweep& sweep) {
  std::string metrics;
  for (const Objective& objective : sweep.objectives) {
    metrics += (metrics.empty() ? "" : " and ") + Printable(objective.metric);
  }
  return sweep.name + ": no trial has reported " + metrics +
         (sweep.objectives.size() > 1 ? " and kept to the constraints" : "") + " yet";
}

Status PrintSweep(const ResultsOptions& options, Database& database, std::ostream& out,
                  std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(database, options.name));
  TUNE_ASSIGN_OR_RETURN(std::vector<TrialData> trials, ReadTrials(database, sweep.id));
  const TrialTable table = Tabulate(std::move(trials));
  if (options.best) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> best, BestNumbers(database, sweep));
    std::vector<size_t> chosen;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      if (std::count(best.begin(), best.end(), table.rows[i][0].AsInt()) > 0) chosen.push_back(i);
    }
    PrintTrials(options, table, chosen, out, err);
    if (best.empty()) err << WhyThereIsNoBest(sweep) << "\n";
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<size_t> chosen, Choose(options, database, table, sweep));
  PrintTrials(options, table, chosen, out, err);
  return OkStatus();
}

}  // namespace

int ResultsCommand(const ResultsOptions& options, std::ostream& out, std::ostream& err) {
  if (!options.sql.empty() &&
      (options.best || !options.sort.empty() || !options.where.empty() || !options.name.empty())) {
    return Complain(
        InvalidArgument(
            "--sql is a whole query; NAME, --best, --sort and --where do not go with it"),
        err);
  }
  if (options.best && (!options.where.empty() || !options.sort.empty())) {
    return Complain(InvalidArgument("--best is one trial; --sort and --where do not go with it"),
                    err);
  }
  const Result<std::unique_ptr<Database>> database = OpenForQueries(options.db_path);
  if (!database.ok()) return Complain(database.status(), err);
  if (!options.sql.empty()) return PrintQuery(options, **database, out, err);
  const Status status = PrintSweep(options, **database, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
