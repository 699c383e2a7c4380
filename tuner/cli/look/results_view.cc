#include "tuner/cli/look/results_view.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tune {
namespace {

constexpr size_t kFailureWidthMin = 24;
constexpr size_t kParametersWidthMin = 16;

// Parameters with one value everywhere would only make a table wide.
std::vector<size_t> ConstantColumns(const TrialListing& table) {
  std::vector<size_t> constants;
  if (table.rows.size() < 2) return constants;
  for (size_t i = table.param_begin; i < table.metric_begin; ++i) {
    const bool is_constant =
        std::all_of(table.rows.begin(), table.rows.end(),
                    [&](const auto& row) { return row[i] == table.rows[0][i]; });
    if (is_constant) constants.push_back(i);
  }
  return constants;
}

// Number, status, the value or one for each objective.
std::vector<size_t> LeadingColumns(const FoundSweep& sweep, const TrialListing& table) {
  std::vector<size_t> columns = {*table.Find("number"), *table.Find("status")};
  if (sweep.objectives.size() == 1) columns.push_back(*table.Find("best_value"));
  if (sweep.has_limits()) {
    columns.push_back(*table.Find("feasible"));
    columns.push_back(*table.Find("violation"));
  }
  if (sweep.objectives.size() == 1) return columns;
  for (const Objective& objective : sweep.objectives) {
    std::optional<size_t> column = table.Find("metric." + objective.metric);
    if (!column) column = table.Find(objective.metric);
    if (column && *column >= table.metric_begin) columns.push_back(*column);
  }
  return columns;
}

void PrintColumns(const ResultsView& view, const TrialListing& table,
                  const std::vector<size_t>& columns, const std::vector<size_t>& rows,
                  std::ostream& out) {
  RowPrinter printer(view.format, view.width, out);
  std::vector<std::string> names;
  for (const size_t column : columns) names.push_back(table.columns[column]);
  printer.Begin(std::move(names));
  for (const size_t row : rows) {
    std::vector<Value> cells;
    for (const size_t column : columns) cells.push_back(table.rows[row][column]);
    printer.Row(cells);
  }
  printer.End();
}

TextTable Laid(const TrialListing& table, const std::vector<size_t>& columns,
               const std::vector<size_t>& rows) {
  std::vector<TableColumn> laid;
  for (const size_t column : columns) {
    const bool is_failure = column == table.failure;
    laid.push_back({table.columns[column], is_failure ? Fit::kCut : Fit::kWhole, kFailureWidthMin});
  }
  TextTable text(std::move(laid));
  for (const size_t row : rows) {
    std::vector<Value> cells;
    for (const size_t column : columns) cells.push_back(table.rows[row][column]);
    text.Row(cells);
  }
  return text;
}

// "lr=0.1 optimizer/kind=adam", without those that a trial does not have.
std::string DescribeParameters(const TrialListing& table, const std::vector<size_t>& parameters,
                               size_t row) {
  std::string text;
  for (const size_t column : parameters) {
    const Value& value = table.rows[row][column];
    if (value.is_null()) continue;
    text += (text.empty() ? "" : " ") + table.columns[column] + "=" + ShortText(value);
  }
  return text;
}

// What stands before the parameters of a row, and after them.
struct OwnColumns {
  std::vector<size_t> leading, trailing;
};

// All parameters in the last column, and why a trial failed below them.
void PrintNarrow(const ResultsView& view, const TrialListing& table, const OwnColumns& columns,
                 const std::vector<size_t>& parameters, const std::vector<size_t>& rows,
                 std::ostream& out) {
  std::vector<size_t> own = columns.leading;
  own.insert(own.end(), columns.trailing.begin(), columns.trailing.end());
  std::vector<TableColumn> laid;
  for (const size_t column : own) laid.push_back({table.columns[column], Fit::kWhole});
  laid.push_back({"parameters", Fit::kWrap, kParametersWidthMin});
  TextTable text(std::move(laid));
  for (const size_t row : rows) {
    std::vector<Value> cells;
    for (const size_t column : own) cells.push_back(table.rows[row][column]);
    cells.emplace_back(DescribeParameters(table, parameters, row));
    text.Row(cells);
    const Value& failure = table.rows[row][table.failure];
    if (failure.is_null()) continue;
    std::fill(cells.begin(), cells.end(), Value());
    cells.back() = Value("failed: " + ShortText(failure));
    text.Row(cells);
  }
  text.Print(view.width, out);
}

void PrintUsual(const ResultsView& view, const TrialListing& table, const OwnColumns& own,
                const std::vector<size_t>& hidden, const std::vector<size_t>& rows,
                std::ostream& out) {
  std::vector<size_t> parameters;
  for (size_t i = table.param_begin; i < table.metric_begin; ++i) {
    if (std::find(hidden.begin(), hidden.end(), i) == hidden.end()) parameters.push_back(i);
  }
  std::vector<size_t> columns = own.leading;
  columns.insert(columns.end(), parameters.begin(), parameters.end());
  columns.insert(columns.end(), own.trailing.begin(), own.trailing.end());
  const bool has_failure = std::any_of(rows.begin(), rows.end(), [&](size_t row) {
    return !table.rows[row][table.failure].is_null();
  });
  if (has_failure) columns.push_back(table.failure);
  const TextTable text = Laid(table, columns, rows);
  if (view.width == 0 || text.MinWidth() <= view.width) {
    text.Print(view.width, out);
  } else {
    PrintNarrow(view, table, own, parameters, rows, out);
  }
}

// A block a trial, a line a column.
void PrintBlocks(const ResultsView& view, const TrialListing& table,
                 const std::vector<size_t>& columns, const std::vector<size_t>& rows,
                 std::ostream& out) {
  for (const size_t row : rows) {
    TextTable text({{"trial", Fit::kWhole},
                    {ShortText(table.Own(row, "number")), Fit::kWrap, kParametersWidthMin}});
    for (const size_t column : columns) {
      const Value& value = table.rows[row][column];
      if (column != 0 && !value.is_null()) text.Row({table.columns[column], ShortText(value)});
    }
    if (row != rows.front()) out << "\n";
    text.Print(view.width, out);
  }
}

void PrintWithoutConstants(const ResultsView& view, const TrialListing& table,
                           const OwnColumns& own, const std::vector<size_t>& rows,
                           std::ostream& out, std::ostream& err) {
  const std::vector<size_t> hidden = ConstantColumns(table);
  PrintUsual(view, table, own, hidden, rows, out);
  if (hidden.empty()) return;
  err << "the same in all trials:";
  for (const size_t i : hidden) {
    err << " " << Printable(table.columns[i]) << "=" << ShortText(table.rows[0][i]);
  }
  err << "\n";
}

}  // namespace

void PrintTrials(const ResultsView& view, const FoundSweep& sweep, const TrialListing& table,
                 const std::vector<size_t>& rows, std::ostream& out, std::ostream& err) {
  std::vector<size_t> columns = view.columns;
  if (view.shown == ShownColumns::kAll) {
    for (size_t i = 0; i < table.columns.size(); ++i) columns.push_back(i);
  }
  if (view.format != OutputFormat::kTable) return PrintColumns(view, table, columns, rows, out);
  if (view.shown != ShownColumns::kUsual) {
    const TextTable text = Laid(table, columns, rows);
    if (view.width == 0 || text.MinWidth() <= view.width) return text.Print(view.width, out);
    return PrintBlocks(view, table, columns, rows, out);
  }
  PrintWithoutConstants(view, table, {LeadingColumns(sweep, table), {*table.Find("iterations")}},
                        rows, out, err);
}

void PrintConfigurations(const ResultsView& view, const TrialListing& table,
                         const std::vector<size_t>& rows, std::ostream& out, std::ostream& err) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) columns.push_back(i);
  if (view.format != OutputFormat::kTable) return PrintColumns(view, table, columns, rows, out);
  TrialListing shown = table;
  const size_t runs = *table.Find("runs");
  const size_t repeat = *table.Find("repeat");
  for (std::vector<Value>& row : shown.rows) {
    if (row[runs] == row[repeat]) continue;
    row[runs] = Value(ShortText(row[runs]) + " of " + ShortText(row[repeat]));
  }
  OwnColumns own;
  for (const char* const name : {"configuration", "runs", "mean", "deviation", "best", "worst"})
    own.leading.push_back(*table.Find(name));
  for (size_t i = *table.Find("trials") + 1; i < table.param_begin; ++i) own.leading.push_back(i);
  own.trailing.push_back(*table.Find("best_trial"));
  PrintWithoutConstants(view, shown, own, rows, out, err);
}

}  // namespace tune
