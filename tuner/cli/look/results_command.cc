#include "tuner/cli/look/results_command.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/cli/look/front_course.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/results_view.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_listing.h"
#include "tuner/cli/words/complain.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

constexpr char kSweepParameter[] = ":experiment";
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

// Gives :experiment its value.
Status BindSweep(const ResultsOptions& options, int64_t sweep, Statement& query) {
  const std::vector<std::string> parameters = query.ParameterNames();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] != kSweepParameter) {
      return InvalidArgument("--sql: " + (parameters[i].empty() ? "?" : parameters[i]) +
                             " has no value; the one parameter is :experiment, the sweep's id");
    }
    query.Bind(static_cast<int>(i) + 1, sweep);
  }
  if (!parameters.empty() || options.name.empty()) return OkStatus();
  return InvalidArgument(
      "--sql: the query is over all sweeps and does not say :experiment, the id of '" +
      Printable(options.name) + "'; add WHERE experiment = :experiment, or leave the name out");
}

int PrintQuery(const ResultsOptions& options, Database& database, std::ostream& out,
               std::ostream& err) {
  int64_t sweep = 0;
  if (!options.name.empty() || options.sql.find(kSweepParameter) != std::string::npos) {
    const Result<FoundSweep> found = FindSweep(database, options.name);
    if (!found.ok()) return Complain(found.status(), err);
    sweep = found->id;
  }
  database.ForbidAllButReading();
  Result<Statement> query = database.PrepareQuery(options.sql);
  if (!query.ok()) {
    const std::string& error = query.status().message();
    return Complain(InvalidArgument("--sql: " + error + WhatThereIs(database, error, options.sql)),
                    err);
  }
  if (const Status s = BindSweep(options, sweep, *query); !s.ok()) return Complain(s, err);
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

// Of the temporary table. SQLite's own rowid would be a parameter where one is named so.
constexpr char kPlaceColumn[] = "place in the listing";

// The columns' names in a statement: SQLite takes `n` and `N` for one, so the later is `param.N`.
std::vector<std::string> SqlNames(const TrialListing& table) {
  const auto lower = [](std::string name) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
  };
  std::vector<std::string> names;
  std::set<std::string> taken = {kPlaceColumn};
  for (std::string name : table.columns) {
    while (!taken.insert(lower(name)).second) name = "param." + name;
    names.push_back(std::move(name));
  }
  return names;
}

// A temporary table of the connection's own, so that --where and ORDER BY are SQLite's, over these
// columns; its last one, kPlaceColumn, has the rows' places. The names are data: they stand quoted
// in the statement.
Status FillTemporaryTable(Database& database, const TrialListing& table,
                          const std::vector<std::string>& names) {
  std::string create = "CREATE TEMP TABLE results (";
  std::string places;
  for (const std::string& column : names) {
    create += QuotedName(column) + ", ";
    places += "?, ";
  }
  create += QuotedName(kPlaceColumn);
  places += "?";
  TUNE_RETURN_IF_ERROR(database.Execute((create + ")").c_str()));
  TUNE_ASSIGN_OR_RETURN(Statement insert,
                        database.Prepare("INSERT INTO temp.results VALUES (" + places + ")"));
  int64_t row_place = 0;
  for (const std::vector<Value>& row : table.rows) {
    insert.Bind(static_cast<int>(row.size()) + 1, row_place++);
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

Result<SortOrder> ParseSort(const std::string& sort, const TrialListing& table,
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
    order.descending = is_metric && IsLargeBetter(sweep.direction());
    for (const Objective& objective : sweep.objectives) {
      if (name == objective.metric) order.descending = IsLargeBetter(objective.mode);
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

// The best first: those with a value, then those without, then those that failed.
void SortBestFirst(const ResultsOptions& options, const TrialListing& table,
                   const FoundSweep& sweep, const std::vector<int64_t>& front,
                   std::vector<size_t>& rows) {
  const bool has_one_value = sweep.objectives.size() == 1;
  const auto group = [&](size_t row) {
    if (table.HasFailed(row) && !options.with_failed) return 2;
    if (has_one_value) return table.Own(row, "best_value").is_null() ? 1 : 0;
    return std::count(front.begin(), front.end(), table.Own(row, "number").AsInt()) > 0 ? 0 : 1;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    if (group(a) != group(b)) return group(a) < group(b);
    const Value& first = table.Own(a, "best_value");
    const Value& second = table.Own(b, "best_value");
    const auto violation = [&](size_t row) {
      return sweep.has_limits() ? ReadNumber(table.Own(row, "violation")) : Metric();
    };
    return has_one_value && !first.is_null() && !second.is_null() &&
           IsBetterStanding(*ReadNumber(first), violation(a), *ReadNumber(second), violation(b),
                            sweep.direction());
  });
}

// Places in table.rows that --where keeps, as --sort orders them, else by number.
Result<std::vector<size_t>> Choose(const ResultsOptions& options, Database& database,
                                   const TrialListing& table, const FoundSweep& sweep) {
  std::vector<size_t> chosen;
  if (options.where.empty() && options.sort.empty()) {
    for (size_t i = 0; i < table.rows.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  const std::vector<std::string> names = SqlNames(table);
  std::string order = "number";
  if (!options.sort.empty()) {
    TUNE_ASSIGN_OR_RETURN(const SortOrder sort, ParseSort(options.sort, table, sweep));
    order = QuotedName(names[sort.column]) + (sort.descending ? " DESC" : " ASC") +
            " NULLS LAST, number";
  }
  TUNE_RETURN_IF_ERROR(
      database.Execute("PRAGMA query_only = OFF"));  // For the temporary table alone.
  TUNE_RETURN_IF_ERROR(FillTemporaryTable(database, table, names));
  TUNE_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON"));
  database.ForbidAllButReading();
  // A line of its own, so that a comment in the expression ends with it.
  const std::string where = options.where.empty() ? "1" : options.where;
  Result<Statement> query =
      database.PrepareQuery("SELECT " + QuotedName(kPlaceColumn) + " FROM temp.results WHERE (" +
                            where + "\n) ORDER BY " + order);
  if (!query.ok()) {
    std::string columns;
    for (const std::string& name : names) columns += (columns.empty() ? "" : ", ") + name;
    return InvalidArgument("--where: " + query.status().message() + "; the columns are " + columns);
  }
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, query->Step());
    if (!has_row) break;
    chosen.push_back(static_cast<size_t>(query->Int(0)));
  }
  return chosen;
}

// The best trial's, or those of the Pareto front; `warning`: that they keep no limits.
Result<std::vector<int64_t>> BestNumbers(Database& database, const FoundSweep& sweep,
                                         FailedTrials failed, std::string& warning) {
  std::vector<int64_t> numbers;
  if (sweep.objectives.size() > 1) {
    TUNE_ASSIGN_OR_RETURN(const auto front, ReadParetoFront(database, sweep));
    for (const ObjectiveValues& trial : front) numbers.push_back(trial.trial);
    warning = WarningOf(sweep.limits, front);
    return numbers;
  }
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best,
                        FindBestTrial(database, sweep, failed));
  if (best) numbers.push_back(best->number);
  if (best) warning = WarningOf(sweep, *best);
  return numbers;
}

// Columns of --columns, in its order.
Result<std::vector<size_t>> ParseColumns(const std::string& list, const TrialListing& table) {
  std::vector<size_t> columns;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const std::optional<size_t> column = table.Find(name);
    if (!column.has_value()) {
      const std::vector<std::string_view> known(table.columns.begin(), table.columns.end());
      return InvalidArgument("--columns: there is no column '" + Printable(name) + "'" +
                             DidYouMean(name, known) + "; tune results --all shows them all");
    }
    columns.push_back(*column);
    begin = end + 1;
  }
  return columns;
}

// Whether a row is a configuration.
Result<bool> IsByConfiguration(const ResultsOptions& options, const FoundSweep& sweep) {
  const bool is_of_trials =
      options.all || !options.columns.empty() || !options.where.empty() || !options.sort.empty();
  if (options.rows == ResultRows::kUsual) {
    const bool is_ranked = options.format == OutputFormat::kTable || options.top > 0;
    return sweep.has_means() && is_ranked && !is_of_trials;
  }
  if (options.rows == ResultRows::kRuns) return false;
  if (!sweep.has_means()) {
    return InvalidArgument("--by configuration: " + Printable(sweep.name) +
                           (sweep.repeat > 1 ? " has several objectives, which have no mean"
                                             : " tries each configuration once; search: {repeat: "
                                               "k} tries it k times"));
  }
  if (!is_of_trials) return true;
  return InvalidArgument(
      "--by configuration: --all, --columns, --where and --sort are about single runs; leave them "
      "out, or say --by run");
}

Status PrintByConfiguration(const ResultsOptions& options, const FoundSweep& sweep,
                            const TrialListing& trials, Database& database, std::ostream& out,
                            std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(
      const auto ranked,
      ReadConfigurationRuns(database, sweep,
                            options.with_failed ? FailedTrials::kCount : FailedTrials::kLeaveOut));
  const TrialListing table = ByConfiguration(trials, ranked, sweep.repeat);
  size_t count = table.rows.size();
  if (options.top > 0) count = std::min(ranked.size(), static_cast<size_t>(options.top));
  if (options.best) count = std::min(ranked.size(), size_t{1});
  size_t shown = count;
  if (options.limit > 0) shown = std::min(count, static_cast<size_t>(options.limit));
  std::vector<size_t> rows(shown);
  std::iota(rows.begin(), rows.end(), size_t{0});
  PrintConfigurations({options.format, options.width, ShownColumns::kUsual, {}}, table, rows, out,
                      err);
  if (options.best && ranked.empty()) err << NoBestIn(database, sweep) << "\n";
  if (sweep.has_limits() && !ranked.empty() && ranked.front().violation > 0) {
    err << "warning: " << Printable(WarningOf(sweep.limits, ranked.front())) << "\n";
  }
  if (shown < count) err << shown << " of " << count << " configurations are shown\n";
  if (options.format == OutputFormat::kTable && options.rows == ResultRows::kUsual)
    err << "each row is a configuration of " << sweep.repeat << " runs; --by run shows the runs\n";
  return PrintDoubts(database, sweep.id, err);
}

// A row for each trial that changed it.
Status PrintCourse(const ResultsOptions& options, Database& database, std::ostream& out,
                   std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(database, options.name));
  TUNE_ASSIGN_OR_RETURN(const FrontCourse course,
                        ReadFrontCourse(database, sweep, CourseDetail::kEachStep));
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"ended", "trial", sweep.objectives.size() > 1 ? "hypervolume" : sweep.metric});
  for (const CourseStep& step : course.steps) printer.Row({step.ended, step.trial, step.value});
  printer.End();
  if (course.steps.empty()) {
    const bool is_none_feasible = course.ended > 0 && sweep.has_limits();
    err << (is_none_feasible ? "no trial is feasible, so nothing has a course"
                             : NoBestIn(database, sweep))
        << "\n";
  }
  const std::string described = DescribeCourse(course);
  if (!described.empty()) err << described << "\n";
  return OkStatus();
}

Status PrintSweep(const ResultsOptions& options, Database& database, std::ostream& out,
                  std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(database, options.name));
  TUNE_ASSIGN_OR_RETURN(const bool is_by_configuration, IsByConfiguration(options, sweep));
  TUNE_ASSIGN_OR_RETURN(const TrialListing table, ReadTrialListing(database, sweep));
  if (is_by_configuration) return PrintByConfiguration(options, sweep, table, database, out, err);
  ResultsView view{options.format, options.width, ShownColumns::kUsual, {}};
  if (options.all || options.format != OutputFormat::kTable) view.shown = ShownColumns::kAll;
  if (!options.columns.empty()) {
    view.shown = ShownColumns::kNamed;
    TUNE_ASSIGN_OR_RETURN(view.columns, ParseColumns(options.columns, table));
  }
  std::vector<int64_t> best;
  std::string warning;
  if (options.best || sweep.objectives.size() > 1 || sweep.has_limits()) {
    TUNE_ASSIGN_OR_RETURN(
        best,
        BestNumbers(database, sweep,
                    options.with_failed ? FailedTrials::kCount : FailedTrials::kLeaveOut, warning));
  }
  TUNE_ASSIGN_OR_RETURN(std::vector<size_t> rows, Choose(options, database, table, sweep));
  const bool is_best_first = options.sort.empty() && !options.best &&
                             (options.top > 0 || options.format == OutputFormat::kTable);
  if (is_best_first) SortBestFirst(options, table, sweep, best, rows);
  std::erase_if(rows, [&](size_t row) {
    if (options.best) return std::count(best.begin(), best.end(), table.rows[row][0].AsInt()) == 0;
    return options.top > 0 && (table.Own(row, "best_value").is_null() ||
                               (table.HasFailed(row) && !options.with_failed));
  });
  if (options.top > 0) rows.resize(std::min(rows.size(), static_cast<size_t>(options.top)));
  const size_t count = rows.size();
  if (options.limit > 0) rows.resize(std::min(count, static_cast<size_t>(options.limit)));
  PrintTrials(view, sweep, table, rows, out, err);
  if (options.best && best.empty()) err << NoBestIn(database, sweep) << "\n";
  if (!warning.empty()) err << "warning: " << Printable(warning) << "\n";
  if (sweep.objectives.size() > 1 && options.format == OutputFormat::kTable && !rows.empty()) {
    err << "metrics are those of each trial's last report that has all of " << ObjectiveNames(sweep)
        << (sweep.is_constrained ? " and is feasible" : "") << "\n";
    TUNE_ASSIGN_OR_RETURN(const FrontCourse course,
                          ReadFrontCourse(database, sweep, CourseDetail::kQuarters));
    const std::string described = DescribeCourse(course);
    if (!described.empty()) err << described << "\n";
  }
  if (rows.size() < count) err << rows.size() << " of " << count << " trials are shown\n";
  return PrintDoubts(database, sweep.id, err);
}

// Options that do not go with each other.
Status CheckOptions(const ResultsOptions& options) {
  const bool chooses = !options.sort.empty() || !options.where.empty() || options.top > 0;
  if (!options.sql.empty() &&
      (options.rows != ResultRows::kUsual || options.best || options.all || options.with_failed ||
       chooses || options.limit > 0 || !options.columns.empty())) {
    return InvalidArgument(
        "--sql is a whole query: of the other options only --format and the sweep's name, for "
        ":experiment, go with it");
  }
  if (options.best && chooses) {
    return InvalidArgument("--best is one trial; --sort, --where and --top do not go with it");
  }
  if (options.top > 0 && !options.sort.empty()) {
    return InvalidArgument("--top N is the best first; with --sort, say --limit N");
  }
  if (options.course && (options.best || chooses || options.all || !options.columns.empty() ||
                         options.limit > 0 || !options.sql.empty())) {
    return InvalidArgument("--course is a table of its own; only --format goes with it");
  }
  if (options.all && !options.columns.empty())
    return InvalidArgument("--all and --columns do not go together: say one of them");
  return OkStatus();
}

}  // namespace

int ResultsCommand(const ResultsOptions& options, std::ostream& out, std::ostream& err) {
  if (const Status s = CheckOptions(options); !s.ok()) return Complain(s, err);
  const Result<std::unique_ptr<Database>> database = OpenForAnswer(options.db_path, err);
  if (!database.ok()) return Complain(database.status(), err);
  if (!options.sql.empty()) return PrintQuery(options, **database, out, err);
  const Status status = options.course ? PrintCourse(options, **database, out, err)
                                       : PrintSweep(options, **database, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
