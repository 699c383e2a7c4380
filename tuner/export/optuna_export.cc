// optuna.db: a study in the tables of Optuna's RDBStorage, as Optuna 3.0 to 5.0 have them.
//
// The tables that name a version (version_info, alembic_version) are left out: Optuna opens a
// storage of its own version alone, and takes one that names none for one that it has just made.
// Whichever opens the file first writes its version there. The index is that of newer ones under
// the name that they give it, not the name by which `optuna storage upgrade` adds it to older
// storages.
//
// Source: optuna/storages/_rdb/models.py, storage.py (_VersionManager).
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/json.h"
#include "core/standing.h"
#include "tuner/export/formats.h"
#include "tuner/export/optuna_distribution.h"
#include "tuner/metric_scores.h"
#include "tuner/result_limits.h"

namespace tune {
namespace {

constexpr char kOptunaSchema[] =
    "CREATE TABLE studies (study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL,"
    "  PRIMARY KEY (study_id));"
    "CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);"
    "CREATE TABLE study_directions (study_direction_id INTEGER NOT NULL,"
    "  direction VARCHAR(8) NOT NULL, study_id INTEGER NOT NULL, objective INTEGER NOT NULL,"
    "  PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective),"
    "  FOREIGN KEY(study_id) REFERENCES studies (study_id));"
    "CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER NOT NULL,"
    "  study_id INTEGER, \"key\" VARCHAR(512), value_json TEXT,"
    "  PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, \"key\"),"
    "  FOREIGN KEY(study_id) REFERENCES studies (study_id));"
    "CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER NOT NULL,"
    "  study_id INTEGER, \"key\" VARCHAR(512), value_json TEXT,"
    "  PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, \"key\"),"
    "  FOREIGN KEY(study_id) REFERENCES studies (study_id));"
    "CREATE TABLE trials (trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER,"
    "  state VARCHAR(8) NOT NULL, datetime_start DATETIME, datetime_complete DATETIME,"
    "  PRIMARY KEY (trial_id), FOREIGN KEY(study_id) REFERENCES studies (study_id));"
    "CREATE INDEX ix_trials_study_id ON trials (study_id);"
    "CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER NOT NULL,"
    "  trial_id INTEGER, \"key\" VARCHAR(512), value_json TEXT,"
    "  PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, \"key\"),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));"
    "CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER NOT NULL,"
    "  trial_id INTEGER, \"key\" VARCHAR(512), value_json TEXT,"
    "  PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, \"key\"),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));"
    "CREATE TABLE trial_params (param_id INTEGER NOT NULL, trial_id INTEGER,"
    "  param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT,"
    "  PRIMARY KEY (param_id), UNIQUE (trial_id, param_name),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));"
    "CREATE TABLE trial_values (trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL,"
    "  objective INTEGER NOT NULL, value FLOAT, value_type VARCHAR(7) NOT NULL,"
    "  PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));"
    "CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER NOT NULL,"
    "  trial_id INTEGER NOT NULL, step INTEGER NOT NULL, intermediate_value FLOAT,"
    "  intermediate_value_type VARCHAR(7) NOT NULL,"
    "  PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));"
    "CREATE TABLE trial_heartbeats (trial_heartbeat_id INTEGER NOT NULL,"
    "  trial_id INTEGER NOT NULL, heartbeat DATETIME NOT NULL,"
    "  PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id),"
    "  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));";

constexpr int64_t kStudy = 1;

// "2026-11-21 09:30:00.125000": UTC, without saying so, as Optuna's times name no zone.
std::optional<std::string> OptunaTime(const std::optional<Instant>& time) {
  if (!time.has_value()) return std::nullopt;
  std::string text = FormatInstant(*time);  // 2026-11-21T09:30:00.125Z
  text[text.find('T')] = ' ';
  text.back() = '0';
  return text + "00";
}

// As Optuna keeps numbers beside their kind: SQL has no infinities.
struct OptunaNumber {
  std::optional<double> value;
  const char* type = "NAN";
};
OptunaNumber ToOptuna(const Metric& number) {
  if (!number.has_value() || std::isnan(*number)) return {};
  if (std::isinf(*number)) return {std::nullopt, *number > 0 ? "INF_POS" : "INF_NEG"};
  return {*number, "FINITE"};
}

class StudyWriter {
 public:
  StudyWriter(SweepRows& rows, Database& study) : rows_(rows), study_(study) {}

  Status Write();

 private:
  struct Trial {
    std::vector<Metric> values;  // One for each objective; empty: none.
    std::string last_metrics;    // JSON of the last report; empty: none.
    Metrics counted;             // Of the report that the values are of.
  };

  Status WriteStudy();
  Status WriteTrial(const ExportedTrial& trial);
  Result<Trial> WriteReports(const ExportedTrial& trial, int64_t id);
  Status WriteConstraints(const ExportedTrial& trial, const Metrics& counted, int64_t id);
  Status WriteParameters(const ExportedTrial& trial, int64_t id);
  Status WriteAttributes(const ExportedTrial& trial, const std::string& last_metrics, int64_t id);
  // The values of all objectives, if the report has them.
  std::vector<Metric> WholeValues(const Metrics& metrics) const;

  SweepRows& rows_;
  Database& study_;
  ResultLimits limits_;
  std::map<std::string, OptunaDistribution> distributions_;  // By parameter; not of constants.
};

Status StudyWriter::Write() {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, rows_.Space());
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain != nullptr) distributions_.emplace(parameter.name, OptunaDistribution(*domain));
  }
  if (const Value* const texts = rows_.spec().is_map() ? rows_.spec().Find("feasible") : nullptr) {
    TUNE_ASSIGN_OR_RETURN(limits_, ResultLimits::Parse(*texts, space.parameters()));
  }
  TUNE_RETURN_IF_ERROR(study_.Execute("BEGIN"));
  TUNE_RETURN_IF_ERROR(WriteStudy());
  for (ExportedTrial trial;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows_.NextTrial(trial));
    if (!has_trial) break;
    TUNE_RETURN_IF_ERROR(WriteTrial(trial));
  }
  return study_.Execute("COMMIT");
}

Status StudyWriter::WriteStudy() {
  static constexpr char kStudySql[] = "INSERT INTO studies (study_id, study_name) VALUES (?1, ?2)";
  static constexpr char kDirectionSql[] =
      "INSERT INTO study_directions (study_id, objective, direction) VALUES (?1, ?2, ?3)";
  static constexpr char kUserSql[] =
      "INSERT INTO study_user_attributes (study_id, \"key\", value_json) VALUES (?1, ?2, ?3)";
  static constexpr char kSystemSql[] =
      "INSERT INTO study_system_attributes (study_id, \"key\", value_json) VALUES (?1, ?2, ?3)";
  TUNE_RETURN_IF_ERROR(study_.Execute(kOptunaSchema));
  const ExportedSweep& sweep = rows_.sweep();
  TUNE_RETURN_IF_ERROR(study_.Run(kStudySql, kStudy, sweep.name));
  Value names = Value::MakeList();
  for (size_t i = 0; i < sweep.objectives.size(); ++i) {
    const bool is_max = sweep.objectives[i].mode == Mode::kMax;
    TUNE_RETURN_IF_ERROR(study_.Run(kDirectionSql, kStudy, i, is_max ? "MAXIMIZE" : "MINIMIZE"));
    names.AsList().emplace_back(sweep.objectives[i].metric);
  }
  // Optuna 3.2 and newer show it beside the values.
  TUNE_RETURN_IF_ERROR(study_.Run(kSystemSql, kStudy, "study:metric_names", ToJson(names)));
  TUNE_RETURN_IF_ERROR(study_.Run(kUserSql, kStudy, "status", ToJson(sweep.status)));
  return study_.Run(kUserSql, kStudy, "spec", ToJson(rows_.spec()));
}

std::vector<Metric> StudyWriter::WholeValues(const Metrics& metrics) const {
  std::vector<Metric> values;
  for (const Objective& objective : rows_.sweep().objectives) {
    const Metric value = FindObjective(metrics, objective.metric);
    if (!value.has_value()) return {};
    values.push_back(value);
  }
  return values;
}

Result<StudyWriter::Trial> StudyWriter::WriteReports(const ExportedTrial& trial, int64_t id) {
  static constexpr char kReportSql[] =
      "INSERT INTO trial_intermediate_values"
      " (trial_id, step, intermediate_value, intermediate_value_type) VALUES (?1, ?2, ?3, ?4)";
  const std::vector<Objective>& objectives = rows_.sweep().objectives;
  Trial written;
  for (ExportedReport report;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_report, rows_.NextReport(report));
    if (!has_report) break;
    if (!report.is_new) continue;
    written.last_metrics = report.metrics_json;
    Metric value = report.value;
    if (!value.has_value() || objectives.size() > 1 || !limits_.empty()) {
      TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
      const bool is_best = report.iteration == trial.best_iteration && report.value.has_value();
      if (!value.has_value()) value = FindObjective(metrics, objectives.front().metric);
      std::vector<Metric> whole = WholeValues(metrics);
      const bool is_whole = objectives.size() > 1 && !whole.empty();
      if (is_whole || (objectives.size() == 1 && is_best)) written.counted = metrics;
      if (is_whole) written.values = std::move(whole);
    }
    const OptunaNumber stored = ToOptuna(value);
    TUNE_RETURN_IF_ERROR(study_.Run(kReportSql, id, report.iteration, stored.value, stored.type));
  }
  if (objectives.size() == 1 && trial.best_value.has_value()) written.values = {trial.best_value};
  return written;
}

// As a sampler with `constraints_func` leaves them: a number for each limit, above 0 where it is
// broken (optuna/samplers/_base.py, _CONSTRAINTS_KEY). What nobody can tell is broken by the most.
Status StudyWriter::WriteConstraints(const ExportedTrial& trial, const Metrics& counted,
                                     int64_t id) {
  static constexpr char kSql[] =
      "INSERT INTO trial_system_attributes (trial_id, \"key\", value_json)"
      " VALUES (?1, 'constraints', ?2)";
  if (limits_.empty() || counted.empty()) return OkStatus();
  Value list = Value::MakeList();
  for (const Metric& margin : limits_.Margins(counted, trial.config)) {
    list.AsList().emplace_back(margin.value_or(kViolationUnknown));
  }
  return study_.Run(kSql, id, ToJson(list));
}

Status StudyWriter::WriteParameters(const ExportedTrial& trial, int64_t id) {
  static constexpr char kParamSql[] =
      "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json)"
      " VALUES (?1, ?2, ?3, ?4)";
  static constexpr char kFixedSql[] =
      "INSERT INTO trial_system_attributes (trial_id, \"key\", value_json)"
      " VALUES (?1, 'fixed_params', ?2)";
  Value fixed = Value::MakeMap();
  for (const auto& [name, value] : trial.config.parameters()) {
    const auto found = distributions_.find(name);
    if (found == distributions_.end()) continue;
    const std::optional<double> internal = found->second.InternalValue(value);
    if (!internal.has_value()) continue;  // It stands in the attribute `config` all the same.
    fixed.Set(name, found->second.ExternalValue(value));
    if (trial.status == "PENDING") continue;
    TUNE_RETURN_IF_ERROR(
        study_.Run(kParamSql, id, name, *internal, found->second.ToJson(*internal)));
  }
  // As study.enqueue_trial leaves them: who goes on with the study begins with these.
  if (trial.status != "PENDING") return OkStatus();
  return study_.Run(kFixedSql, id, ToJson(fixed));
}

Status StudyWriter::WriteAttributes(const ExportedTrial& trial, const std::string& last_metrics,
                                    int64_t id) {
  static constexpr char kAttributeSql[] =
      "INSERT INTO trial_user_attributes (trial_id, \"key\", value_json) VALUES (?1, ?2, ?3)";
  const auto write = [&](const char* key, const Value& value) {
    return study_.Run(kAttributeSql, id, key, ToJson(value));
  };
  TUNE_RETURN_IF_ERROR(write("number", trial.number));
  TUNE_RETURN_IF_ERROR(write("status", trial.status));
  if (!trial.stop_reason.empty()) TUNE_RETURN_IF_ERROR(write("stop_reason", trial.stop_reason));
  TUNE_RETURN_IF_ERROR(write("iterations", trial.iterations));
  if (trial.best_iteration.has_value())
    TUNE_RETURN_IF_ERROR(write("best_iteration", *trial.best_iteration));
  if (trial.last_value.has_value()) TUNE_RETURN_IF_ERROR(write("last_value", *trial.last_value));
  if (trial.violation.has_value()) {
    TUNE_RETURN_IF_ERROR(write("feasible", *trial.violation == 0));
    TUNE_RETURN_IF_ERROR(write("violation", *trial.violation));
  }
  TUNE_RETURN_IF_ERROR(write("attempts", trial.attempts));
  TUNE_RETURN_IF_ERROR(write("run_seconds", trial.run_seconds));
  TUNE_RETURN_IF_ERROR(write("config", trial.config.ToNested()));
  if (last_metrics.empty()) return OkStatus();
  return study_.Run(kAttributeSql, id, "metrics", last_metrics);
}

// A trial that is complete has a value, which is what Optuna asks of one.
const char* StateOf(const ExportedTrial& trial, bool has_values) {
  if (trial.status == "PENDING") return "WAITING";
  if (trial.status == "ERROR") return "FAIL";
  if (!trial.has_ended()) return "RUNNING";
  if (trial.stop_reason == "scheduler") return "PRUNED";
  return has_values ? "COMPLETE" : "FAIL";
}

Status StudyWriter::WriteTrial(const ExportedTrial& trial) {
  static constexpr char kTrialSql[] =
      "INSERT INTO trials (trial_id, number, study_id, state, datetime_start, datetime_complete)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
  static constexpr char kValueSql[] =
      "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?1, ?2, ?3, ?4)";
  const int64_t id = trial.number + 1;
  TUNE_RETURN_IF_ERROR(WriteParameters(trial, id));
  TUNE_ASSIGN_OR_RETURN(const Trial written, WriteReports(trial, id));
  TUNE_RETURN_IF_ERROR(WriteAttributes(trial, written.last_metrics, id));
  TUNE_RETURN_IF_ERROR(WriteConstraints(trial, written.counted, id));
  const std::string state = StateOf(trial, !written.values.empty());
  if (state == "COMPLETE" || state == "PRUNED") {
    for (size_t i = 0; i < written.values.size(); ++i) {
      const OptunaNumber stored = ToOptuna(written.values[i]);
      TUNE_RETURN_IF_ERROR(study_.Run(kValueSql, id, i, stored.value, stored.type));
    }
  }
  std::optional<Instant> start = trial.started_at;
  std::optional<Instant> end;
  if (trial.has_ended()) {
    start = start.value_or(trial.created_at);
    end = trial.finished_at.value_or(*start);
  }
  return study_.Run(kTrialSql, id, trial.number, kStudy, state, OptunaTime(start), OptunaTime(end));
}

}  // namespace

Status ExportOptuna(SweepRows& rows, const ExportPlace& place) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> study,
                        Database::CreateForeign(place.folder + "/optuna.db"));
  return DiskFullInWords(StudyWriter(rows, *study).Write(), *study);
}

}  // namespace tune
