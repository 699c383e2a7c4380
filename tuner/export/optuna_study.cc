#include "tuner/export/optuna_study.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/earlier_sweep.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

// The value that a trial's program was given. `stored`: the number, or the place of the choice.
Result<Value> ExternalValue(double stored, std::string_view distribution_json) {
  TUNE_ASSIGN_OR_RETURN(const Value distribution,
                        ParseJson(distribution_json, JsonDialect::kWithNaN));
  const auto text = [&distribution](std::string_view key) -> std::string {
    const Value* const value = distribution.is_map() ? distribution.Find(key) : nullptr;
    return value != nullptr && value->is_string() ? value->AsString() : "";
  };
  const std::string name = text("name");  // Else the short form, with a `type`.
  if (name == "CategoricalDistribution" || text("type") == "categorical") {
    const Value* const attributes = name.empty() ? &distribution : distribution.Find("attributes");
    const Value* const choices =
        attributes != nullptr && attributes->is_map() ? attributes->Find("choices") : nullptr;
    const bool is_choice = choices != nullptr && choices->is_list() && stored >= 0 &&
                           stored < static_cast<double>(choices->AsList().size());
    if (!is_choice) return InvalidArgument("a choice that its distribution does not have");
    return choices->AsList()[static_cast<size_t>(stored)];
  }
  if (name.starts_with("Int") || text("type") == "int")
    return Value(static_cast<int64_t>(std::llround(stored)));
  return Value(stored);
}

// With the name of SQLite's own file system, the database is not asked whether it is one of ours.
Result<std::unique_ptr<Database>> OpenOfOptuna(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return InvalidArgument("from: " + path + ": is not there, or is no file");
  }
  Result<std::unique_ptr<Database>> database = Database::Open(path, Access::kRead, "unix");
  if (database.ok()) return database;
  return InvalidArgument("from: " + path + ": cannot be read as a file of Optuna's");
}

class StudyReader {
 public:
  StudyReader(Database& database, std::string path) : database_(database), path_(std::move(path)) {}

  // By id. An empty `wanted` is the only one.
  Result<std::pair<int64_t, std::string>> Find(const std::string& wanted);
  Status CheckDirections(int64_t study, const std::string& name, const ExperimentSpec& spec);
  // `limit_count`: of the sweep that learns from them.
  Result<Value> ReadTrials(int64_t study, size_t objective_count, size_t limit_count);

 private:
  Status Wrong(const std::string& text) const { return InvalidArgument("from: " + path_ + text); }
  // `value`, or NULL where it is not finite: newer files tell that beside it.
  Result<std::string> FiniteSql(const std::string& table, const std::string& value);
  Status FindFirstStep(int64_t study);
  Result<Value> ReadConfiguration(int64_t trial);
  Result<Value> ReadReports(int64_t trial, bool is_complete, size_t objective_count);
  Result<std::vector<double>> ReadConstraints(int64_t trial);
  static void AppendToEach(const std::vector<double>& constraints, Value& reports);

  Database& database_;
  std::string path_;
  int64_t to_iteration_ = 0;  // Added to a step.
  std::string intermediate_sql_;
  std::string final_sql_;
};

Result<std::pair<int64_t, std::string>> StudyReader::Find(const std::string& wanted) {
  static constexpr char kTablesSql[] =
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('studies', 'trials',"
      " 'study_directions', 'trial_params', 'trial_values', 'trial_intermediate_values',"
      " 'trial_system_attributes')";
  TUNE_ASSIGN_OR_RETURN(const int64_t tables, database_.QueryInt(kTablesSql));
  if (tables != 7) return Wrong(": is no file of Optuna's (2.4 or newer)");
  TUNE_ASSIGN_OR_RETURN(Statement row,
                        database_.Prepare("SELECT study_id, study_name FROM studies ORDER BY 1"));
  std::vector<std::pair<int64_t, std::string>> studies;
  std::string names;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) break;
    studies.emplace_back(row.Int(0), row.Text(1));
    names += (names.empty() ? "" : ", ") + studies.back().second;
  }
  if (studies.empty()) return Wrong(": holds no study");
  if (wanted.empty() && studies.size() == 1) return studies.front();
  if (wanted.empty()) {
    return Wrong(": holds " + std::to_string(studies.size()) +
                 " studies; name one of them, as in " +
                 "{optuna: FILE, study: " + studies.front().second + "}: " + names);
  }
  std::vector<std::string_view> known;
  for (const auto& study : studies) {
    if (study.second == wanted) return study;
    known.push_back(study.second);
  }
  return Wrong(": holds no study '" + wanted + "'" + DidYouMean(wanted, known) +
               "; there are: " + names);
}

Status StudyReader::CheckDirections(int64_t study, const std::string& name,
                                    const ExperimentSpec& spec) {
  TUNE_ASSIGN_OR_RETURN(Statement row,
                        database_.Prepare("SELECT direction FROM study_directions"
                                          " WHERE study_id = ?1 ORDER BY objective"));
  row.BindAll(study);
  std::string theirs;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) break;
    theirs += (theirs.empty() ? "" : ", ") + std::string(row.Text(0) == "MAXIMIZE" ? "max" : "min");
  }
  std::string ours;
  for (const Objective& objective : spec.objectives()) {
    ours += (ours.empty() ? "" : ", ") + std::string(objective.mode == Mode::kMax ? "max" : "min");
  }
  if (ours == theirs) return OkStatus();
  return Wrong(": the study '" + name + "' has the mode " + theirs + ", this sweep " + ours);
}

Result<std::string> StudyReader::FiniteSql(const std::string& table, const std::string& value) {
  TUNE_ASSIGN_OR_RETURN(Statement row,
                        database_.Prepare("SELECT count(*) FROM pragma_table_info('" + table +
                                          "') WHERE name = '" + value + "_type'"));
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  if (!has_row || row.Int(0) == 0) return value;
  return "CASE " + value + "_type WHEN 'FINITE' THEN " + value + " END";
}

Status StudyReader::FindFirstStep(int64_t study) {
  TUNE_ASSIGN_OR_RETURN(Statement row,
                        database_.Prepare("SELECT min(i.step) FROM trial_intermediate_values AS i"
                                          " JOIN trials AS t ON t.trial_id = i.trial_id"
                                          " WHERE t.study_id = ?1"));
  row.BindAll(study);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  if (has_row) to_iteration_ = std::max<int64_t>(0, 1 - row.OptionalInt(0).value_or(1));
  return OkStatus();
}

Result<Value> StudyReader::ReadConfiguration(int64_t trial) {
  static constexpr char kParamsSql[] =
      "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?1"
      " ORDER BY param_id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_.Kept(kParamsSql));
  row->BindAll(trial);
  Configuration configuration;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return configuration.ToFlat();
    Result<Value> value = ExternalValue(row->Real(1), row->Text(2));
    const std::string name(row->Text(0));
    if (!value.ok()) return Wrong(": '" + name + "': " + value.status().message());
    if (value->is_double() && !std::isfinite(value->AsDouble())) value = Value();
    configuration.Set(name, *std::move(value));
  }
}

Result<Value> StudyReader::ReadReports(int64_t trial, bool is_complete, size_t objective_count) {
  Value reports = Value::MakeList();
  const auto number = [](const Statement& row, int column) {
    const std::optional<double> value = row.OptionalReal(column);
    return value && std::isfinite(*value) ? Value(*value) : Value();
  };
  int64_t last = 0;
  if (objective_count == 1) {
    TUNE_ASSIGN_OR_RETURN(Statement row, database_.Prepare(intermediate_sql_));
    row.BindAll(trial);
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
      if (!has_row) break;
      last = row.Int(0) + to_iteration_;
      reports.AsList().push_back(Value::List{Value(last), number(row, 1)});
    }
  }
  if (!is_complete) return reports;
  TUNE_ASSIGN_OR_RETURN(Statement row, database_.Prepare(final_sql_));
  row.BindAll(trial);
  Value::List final = {Value(last + 1)};
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) break;
    final.push_back(number(row, 0));
  }
  const bool is_known =
      last > 0 && final.size() == 2 && reports.AsList().back().AsList().back() == final.back();
  if (final.size() == objective_count + 1 && !is_known) reports.AsList().push_back(final);
  return reports;
}

// "constraints" holds a list; Optuna 5 has "constraints:NAME", a number each, in the order of their
// names. Above 0: broken. Empty: the trial has none.
Result<std::vector<double>> StudyReader::ReadConstraints(int64_t trial) {
  static constexpr char kConstraintsSql[] =
      "SELECT value_json FROM trial_system_attributes WHERE trial_id = ?1"
      " AND (\"key\" = 'constraints' OR substr(\"key\", 1, 12) = 'constraints:') ORDER BY \"key\"";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_.Kept(kConstraintsSql));
  row->BindAll(trial);
  std::vector<double> constraints;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return constraints;
    const Result<Value> value = ParseJson(row->Text(0), JsonDialect::kWithNaN);
    if (!value.ok()) return Wrong(": constraints: " + value.status().message());
    const Value::List list = value->is_list() ? value->AsList() : Value::List{*value};
    for (const Value& constraint : list) {
      if (constraint.is_number()) constraints.push_back(constraint.AsDouble());
    }
    if (value->is_list()) return constraints;  // It has them all.
  }
}

// A study knows the constraints of a trial, not those of its reports.
void StudyReader::AppendToEach(const std::vector<double>& constraints, Value& reports) {
  for (Value& report : reports.AsList()) {
    for (const double constraint : constraints) {
      report.AsList().push_back(std::isfinite(constraint) ? Value(constraint) : Value());
    }
  }
}

Result<Value> StudyReader::ReadTrials(int64_t study, size_t objective_count, size_t limit_count) {
  TUNE_RETURN_IF_ERROR(FindFirstStep(study));
  TUNE_ASSIGN_OR_RETURN(intermediate_sql_,
                        FiniteSql("trial_intermediate_values", "intermediate_value"));
  intermediate_sql_ = "SELECT step, " + intermediate_sql_ +
                      " FROM trial_intermediate_values WHERE trial_id = ?1 ORDER BY step";
  TUNE_ASSIGN_OR_RETURN(final_sql_, FiniteSql("trial_values", "value"));
  final_sql_ = "SELECT " + final_sql_ + " FROM trial_values WHERE trial_id = ?1 ORDER BY objective";
  TUNE_ASSIGN_OR_RETURN(Statement row,
                        database_.Prepare("SELECT trial_id, number, state FROM trials"
                                          " WHERE study_id = ?1 ORDER BY number, trial_id"));
  row.BindAll(study);
  Value trials = Value::MakeList();
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return trials;
    const int64_t id = row.Int(0);
    const std::string state(row.Text(2));
    TUNE_ASSIGN_OR_RETURN(const std::vector<double> constraints, ReadConstraints(id));
    // The sweep's limits in their order, where there are as many; else what breaks one has failed.
    const bool are_limits = limit_count > 0 && constraints.size() == limit_count;
    const bool is_broken = std::any_of(constraints.begin(), constraints.end(),
                                       [](double constraint) { return !(constraint <= 0); });
    const bool has_failed = state == "FAIL" || (is_broken && !are_limits);
    Value trial = Value::MakeMap();
    trial.Set("number", row.Int(1));
    TUNE_ASSIGN_OR_RETURN(Value configuration, ReadConfiguration(id));
    trial.Set("config", std::move(configuration));
    Value reports = Value::MakeList();
    if (!has_failed && state != "WAITING") {
      TUNE_ASSIGN_OR_RETURN(reports, ReadReports(id, state == "COMPLETE", objective_count));
      if (are_limits) AppendToEach(constraints, reports);
    }
    trial.Set("reports", std::move(reports));
    if (has_failed) trial.Set("failed", true);
    trials.AsList().push_back(std::move(trial));
  }
}

}  // namespace

Status TakeOptunaTrials(ExperimentSpec& spec) {
  if (StudyOf(spec) == nullptr || StudyOf(spec)->Find("trials") != nullptr) return OkStatus();
  Value& from = *spec.document.Find("from");
  const std::filesystem::path file = from.Find("optuna")->AsString();
  const std::string path =
      (std::filesystem::path(spec.base_dir) / file).lexically_normal().string();
  const Value* const wanted = from.Find("study");
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenOfOptuna(path));
  TUNE_RETURN_IF_ERROR(database->Execute("BEGIN"));  // One state, also while a study goes on.
  StudyReader reader(*database, path);
  TUNE_ASSIGN_OR_RETURN(const auto study, reader.Find(wanted == nullptr ? "" : wanted->AsString()));
  TUNE_RETURN_IF_ERROR(reader.CheckDirections(study.first, study.second, spec));
  TUNE_ASSIGN_OR_RETURN(
      Value trials, reader.ReadTrials(study.first, spec.objectives().size(), spec.feasible.size()));
  from.Set("study", study.second);
  from.Set("trials", std::move(trials));
  return OkStatus();
}

}  // namespace tune
