#include "tuner/cli/look/trial_listing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/configuration.h"
#include "core/json.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/pareto_front.h"

namespace tune {
namespace {

constexpr size_t kColumnsMax = 1900;  // SQLite's limit is 2000.

const char* const kTrialColumns[] = {"number",     "status",     "stop_reason",
                                     "iterations", "best_value", "best_iteration",
                                     "last_value", "attempts",   "run_seconds"};
constexpr size_t kTrialColumnCount = std::size(kTrialColumns);
// Behind them, of a sweep with limits on results.
constexpr char kViolation[] = "violation";
const char* const kLimitColumns[] = {"feasible", kViolation};
constexpr char kFailure[] = "failure";

std::vector<std::string> OwnColumns(const FoundSweep& sweep) {
  std::vector<std::string> columns(std::begin(kTrialColumns), std::end(kTrialColumns));
  if (!sweep.has_limits()) return columns;
  columns.insert(columns.end(), std::begin(kLimitColumns), std::end(kLimitColumns));
  return columns;
}

const char* const kConfigurationColumns[] = {"configuration", "runs",       "repeat",
                                             "mean",          "deviation",  "best",
                                             "worst",         "best_trial", "trials"};

struct TrialData {
  std::vector<Value> own;
  Value failure;
  Configuration params;
  Configuration metrics;  // A metric is a named value, too.
};

// NaN is no number here.
Configuration MetricsOf(const Value& metrics) {
  Configuration numbers;
  for (const MapEntry& entry : metrics.AsMap()) {
    const std::optional<double> number = ReadNumber(entry.value);
    const bool is_number = number.has_value() && !std::isnan(*number);
    numbers.Append(entry.key, is_number ? Value(*number) : Value());
  }
  return numbers;
}

Result<std::vector<TrialData>> ReadTrials(Database& database, const FoundSweep& sweep) {
  static const auto sql_with = [](const std::string& more) {
    return "SELECT t.number, t.status, t.stop_reason, t.iterations, t.best_value, t.best_iteration,"
           " t.last_value, t.attempts, t.run_seconds, " TUNE_CONFIG_OF_BEST_SQL("flat") ","
           " (SELECT r.metrics FROM report_rows AS r WHERE r.trial = t.id"
           "   ORDER BY r.iteration DESC, r.attempt DESC LIMIT 1),"
           // An attempt without an error of its own ended as its outcome says.
           " CASE t.status WHEN 'ERROR' THEN (SELECT coalesce(nullif(a.error, ''), a.outcome)"
           "   FROM attempt_rows AS a WHERE a.trial = t.id ORDER BY a.number DESC LIMIT 1) END" +
           more +
           " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id"
           " WHERE t.experiment = ?1 ORDER BY t.number";
  };
  static const std::string kTrialsSql = sql_with("");
  static const std::string kLimitedSql = sql_with(", t.violation = 0, t.violation");
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row,
                        database.Kept((sweep.has_limits() ? kLimitedSql : kTrialsSql).c_str()));
  row->BindAll(sweep.id);
  std::vector<TrialData> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    TrialData& trial = trials.emplace_back();
    for (size_t i = 0; i < kTrialColumnCount; ++i)
      trial.own.push_back(CellOf(*row, static_cast<int>(i)));
    for (size_t i = 0; sweep.has_limits() && i < std::size(kLimitColumns); ++i)
      trial.own.push_back(CellOf(*row, static_cast<int>(kTrialColumnCount + 3 + i)));
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(kTrialColumnCount)));
    TUNE_ASSIGN_OR_RETURN(trial.params, Configuration::FromFlat(flat));
    trial.failure = CellOf(*row, kTrialColumnCount + 2);
    if (row->IsNull(kTrialColumnCount + 1)) continue;
    TUNE_ASSIGN_OR_RETURN(const Value metrics, ParseJson(row->Text(kTrialColumnCount + 1)));
    trial.metrics = MetricsOf(metrics);
  }
  if (sweep.objectives.size() == 1) return trials;
  TUNE_ASSIGN_OR_RETURN(const auto whole, ReadWholeReports(database, sweep));
  for (TrialData& trial : trials) {
    const auto found = whole.find(trial.own.front().AsInt());
    trial.metrics = found == whole.end() ? Configuration() : MetricsOf(found->second);
  }
  return trials;
}

// The names that occur, each once, in order of appearance. None is looked for among the others: a
// sweep may have a thousand of them in each of ten thousand trials.
class NamedColumns {
 public:
  void Add(const Configuration& values) {
    for (const auto& [name, value] : values.parameters()) {
      if (places_.try_emplace(name, names_.size()).second) names_.push_back(name);
    }
  }
  // The others get no column.
  void KeepFirst(size_t count) { names_.resize(std::min(names_.size(), count)); }
  const std::vector<std::string>& names() const { return names_; }
  // A cell for each; null where there is no such value.
  void AppendCells(const Configuration& values, std::vector<Value>& row) const {
    const size_t begin = row.size();
    row.resize(begin + names_.size());
    for (const auto& [name, value] : values.parameters()) {
      const size_t place = places_.at(name);
      if (place < names_.size()) row[begin + place] = value;
    }
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, size_t> places_;
};

TrialListing Tabulate(const FoundSweep& sweep, std::vector<TrialData> trials) {
  NamedColumns params;
  NamedColumns metrics;
  for (const TrialData& trial : trials) {
    params.Add(trial.params);
    metrics.Add(trial.metrics);
  }
  const std::vector<std::string> own = OwnColumns(sweep);
  const size_t names_max = kColumnsMax - own.size() - 1;
  params.KeepFirst(names_max);
  metrics.KeepFirst(names_max - params.names().size());
  TrialListing table;
  table.columns = own;
  const auto append_names = [&table](const std::vector<std::string>& names, const char* prefix) {
    for (const std::string& name : names) {
      const bool is_taken = name == kFailure || table.Find(name).has_value();
      table.columns.push_back(is_taken ? prefix + name : name);
    }
    return table.columns.size();
  };
  table.param_begin = own.size();
  table.metric_begin = append_names(params.names(), "param.");
  table.failure = append_names(metrics.names(), "metric.");
  table.columns.emplace_back(kFailure);
  for (TrialData& trial : trials) {
    std::vector<Value>& row = table.rows.emplace_back(std::move(trial.own));
    params.AppendCells(trial.params, row);
    metrics.AppendCells(trial.metrics, row);
    row.push_back(std::move(trial.failure));
  }
  return table;
}

// As SQL writes it: bytes that are no text have no other form that JSON and a table can hold.
std::string BlobLiteral(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "x'";
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 0xf];
  }
  return text + "'";
}

}  // namespace

Value CellOf(const Statement& row, int column) {
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      return Value();
    case ColumnKind::kInteger:
      return Value(row.Int(column));
    case ColumnKind::kReal:
      return Value(row.Real(column));
    case ColumnKind::kBlob:
      return Value(BlobLiteral(row.Text(column)));
    case ColumnKind::kText:
      break;
  }
  return Value(row.Text(column));
}

std::optional<size_t> TrialListing::Find(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

const Value& TrialListing::Own(size_t row, std::string_view name) const {
  const std::optional<size_t> column = Find(name);
  TUNE_CHECK(column.has_value());
  return rows[row][*column];
}

TrialListing ByConfiguration(const TrialListing& trials,
                             const std::vector<ConfigurationRuns>& ranked, int64_t repeat) {
  std::map<int64_t, std::vector<size_t>> places;  // Of each configuration's rows.
  for (size_t row = 0; row < trials.rows.size(); ++row) {
    places[trials.rows[row].front().AsInt() / repeat].push_back(row);
  }
  TrialListing table;
  table.columns.assign(std::begin(kConfigurationColumns), std::end(kConfigurationColumns));
  const auto own_end = trials.columns.begin() + static_cast<int64_t>(trials.param_begin);
  const bool has_limits = std::find(trials.columns.begin(), own_end, kViolation) != own_end;
  if (has_limits) table.columns.emplace_back(kViolation);
  table.param_begin = table.columns.size();
  for (size_t i = trials.param_begin; i < trials.metric_begin; ++i) {
    const std::string& name = trials.columns[i];
    const bool is_taken = name == kFailure || table.Find(name).has_value();
    table.columns.push_back(is_taken ? "param." + name : name);
  }
  table.metric_begin = table.failure = table.columns.size();
  table.columns.emplace_back(kFailure);
  const auto add = [&](std::vector<Value> row, Value violation, const std::vector<size_t>& of) {
    if (has_limits) row.push_back(std::move(violation));
    for (size_t i = trials.param_begin; i < trials.metric_begin; ++i)
      row.push_back(trials.rows[of.front()][i]);
    const auto failed = std::find_if(of.begin(), of.end(), [&](size_t run) {
      return !trials.rows[run][trials.failure].is_null();
    });
    row.push_back(failed == of.end() ? Value() : trials.rows[*failed][trials.failure]);
    table.rows.push_back(std::move(row));
  };
  for (const ConfigurationRuns& runs : ranked) {
    Value numbers = Value::MakeList();
    for (const int64_t trial : runs.trials) numbers.AsList().emplace_back(trial);
    add({runs.number, runs.count(), repeat, runs.mean,
         runs.deviation ? Value(*runs.deviation) : Value(), runs.best, runs.worst, runs.best_trial,
         std::move(numbers)},
        runs.violation, places.at(runs.number));
    places.erase(runs.number);
  }
  for (const auto& [number, of] : places) {
    add({number, int64_t{0}, repeat, Value(), Value(), Value(), Value(), Value(),
         Value::MakeList()},
        Value(), of);
  }
  return table;
}

Result<TrialListing> ReadTrialListing(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(std::vector<TrialData> trials, ReadTrials(database, sweep));
  return Tabulate(sweep, std::move(trials));
}

}  // namespace tune
