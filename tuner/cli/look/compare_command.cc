#include "tuner/cli/look/compare_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tuner/cli/look/trial_listing.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

constexpr size_t kTrialsMax = 50;
constexpr size_t kValueWidthMin = 8;

// What a person compares first, in this order; parameters and metrics follow.
constexpr const char* kOwn[] = {"status",     "stop_reason", "failure",        "best_value",
                                "feasible",   "violation",   "best_iteration", "last_value",
                                "iterations", "attempts",    "run_seconds"};

struct Compared {
  std::string name;
  std::map<std::string, Value> own, params, metrics;  // By column.
  std::vector<std::string> param_names, metric_names;
};

struct Difference {
  std::string kind;  // "trial", "parameter", "metric".
  std::string name;
  std::vector<Value> values;  // By trial; null: it has none.

  bool differs() const {
    return std::any_of(values.begin(), values.end(),
                       [this](const Value& value) { return !(value == values.front()); });
  }
};

Compared Row(const FoundTrial& trial, const std::string& name, const TrialListing& table) {
  Compared compared;
  compared.name = name;
  const auto is_row = [&](const std::vector<Value>& row) { return row[0] == Value(trial.number); };
  const auto row = std::find_if(table.rows.begin(), table.rows.end(), is_row);
  if (row == table.rows.end()) return compared;
  for (const char* const column : kOwn) {
    // Not every sweep has limits.
    if (const auto at = table.Find(column)) compared.own[column] = (*row)[*at];
  }
  const auto feasible = compared.own.find("feasible");
  if (feasible != compared.own.end() && feasible->second.is_int()) {
    feasible->second = Value(feasible->second.AsInt() != 0);
  }
  for (size_t i = table.param_begin; i < table.metric_begin; ++i) {
    compared.params[table.columns[i]] = (*row)[i];
    compared.param_names.push_back(table.columns[i]);
  }
  for (size_t i = table.metric_begin; i < table.failure; ++i) {
    compared.metrics[table.columns[i]] = (*row)[i];
    compared.metric_names.push_back(table.columns[i]);
  }
  return compared;
}

Result<std::vector<Compared>> ReadTrials(Database& database,
                                         const std::vector<std::string>& texts) {
  std::vector<FoundTrial> found;
  std::map<int64_t, TrialListing> tables;  // By sweep.
  for (const std::string& text : texts) {
    TUNE_ASSIGN_OR_RETURN(FoundTrial trial, FindTrial(database, text));
    if (!tables.contains(trial.sweep.id)) {
      TUNE_ASSIGN_OR_RETURN(tables[trial.sweep.id], ReadTrialListing(database, trial.sweep));
    }
    found.push_back(std::move(trial));
  }
  std::vector<Compared> trials;
  for (const FoundTrial& trial : found) {
    const std::string name = tables.size() == 1 ? std::to_string(trial.number) : trial.Name();
    trials.push_back(Row(trial, name, tables[trial.sweep.id]));
  }
  return trials;
}

void Append(const std::vector<Compared>& trials, const std::string& kind, const std::string& name,
            std::map<std::string, Value> Compared::*values, std::vector<Difference>& rows) {
  Difference row{kind, name, {}};
  for (const Compared& trial : trials) {
    const auto found = (trial.*values).find(name);
    row.values.push_back(found == (trial.*values).end() ? Value() : found->second);
  }
  rows.push_back(std::move(row));
}

std::vector<std::string> Names(const std::vector<Compared>& trials,
                               std::vector<std::string> Compared::*names) {
  std::vector<std::string> all;
  for (const Compared& trial : trials) {
    for (const std::string& name : trial.*names) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    }
  }
  return all;
}

std::vector<Difference> Compare(const std::vector<Compared>& trials) {
  std::vector<Difference> rows;
  for (const char* const name : kOwn) {
    const bool is_any = std::any_of(trials.begin(), trials.end(), [name](const Compared& trial) {
      return trial.own.contains(name);
    });
    if (is_any) Append(trials, "trial", name, &Compared::own, rows);
  }
  for (const std::string& name : Names(trials, &Compared::param_names))
    Append(trials, "parameter", name, &Compared::params, rows);
  for (const std::string& name : Names(trials, &Compared::metric_names))
    Append(trials, "metric", name, &Compared::metrics, rows);
  return rows;
}

// Long values go on below: none is cut.
void PrintForPerson(const CompareOptions& options, const std::vector<Compared>& trials,
                    const std::vector<Difference>& rows, std::ostream& out, std::ostream& err) {
  std::vector<TableColumn> columns = {{"", Fit::kWrap, kValueWidthMin}};
  for (const Compared& trial : trials)
    columns.push_back({"trial " + trial.name, Fit::kWrap, kValueWidthMin});
  TextTable table(std::move(columns));
  std::string same;
  for (const Difference& row : rows) {
    if (!row.differs()) {
      const bool is_told = row.kind != "trial" && !row.values.front().is_null();
      if (is_told) same += " " + Printable(row.name) + "=" + ShortText(row.values.front());
      // What a person always wants to see.
      if (row.name != "status" && row.name != "best_value" && row.name != "iterations") continue;
      if (row.kind != "trial") continue;
    }
    std::vector<Value> cells = {row.kind == "metric" ? "last " + row.name : row.name};
    for (const Value& value : row.values) cells.push_back(value.is_null() ? Value("-") : value);
    table.Row(cells);
  }
  table.Print(options.width, out);
  if (!same.empty()) err << "the same in all:" << same << "\n";
}

void PrintForProgram(const CompareOptions& options, const std::vector<Compared>& trials,
                     const std::vector<Difference>& rows, std::ostream& out) {
  RowPrinter printer(options.format, options.width, out);
  std::vector<std::string> columns = {"kind", "name", "differs"};
  for (const Compared& trial : trials) columns.push_back(trial.name);
  printer.Begin(std::move(columns));
  for (const Difference& row : rows) {
    std::vector<Value> cells = {row.kind, row.name, row.differs()};
    cells.insert(cells.end(), row.values.begin(), row.values.end());
    printer.Row(cells);
  }
  printer.End();
}

}  // namespace

int CompareCommand(const CompareOptions& options, std::ostream& out, std::ostream& err) {
  const std::vector<std::string> texts = TrialTexts(options.words);
  if (texts.size() < 2 || texts.size() > kTrialsMax) {
    return Complain(
        InvalidArgument("expected 2 to " + std::to_string(kTrialsMax) +
                        " trials, as in tune compare 3 7; read " + std::to_string(texts.size())),
        err);
  }
  const Result<std::unique_ptr<Database>> database = OpenForAnswer(options.db_path, err);
  if (!database.ok()) return Complain(database.status(), err);
  const Result<std::vector<Compared>> trials = ReadTrials(**database, texts);
  if (!trials.ok()) return Complain(trials.status(), err);
  const std::vector<Difference> rows = Compare(*trials);
  if (options.format == OutputFormat::kTable) {
    PrintForPerson(options, *trials, rows, out, err);
  } else {
    PrintForProgram(options, *trials, rows, out);
  }
  return 0;
}

}  // namespace tune
