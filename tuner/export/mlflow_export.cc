// mlflow.db: a SQLite store of MLflow (mlflow ui --backend-store-uri sqlite:///DIR/mlflow.db).
//
// Its tables are those of MLflow 1.2 (schema 89d4b8295536), before the model registry. MLflow looks
// at a store for the tables that it knows; where one is missing, it takes the store for one to be
// made and brings its schema up to date by itself, in whatever version it is. A store of the newest
// schema would be refused by every other version ("out-of-date database schema").
//
// Ids are drawn from the sweep's name, its time and the trial's number, so that a second export has
// the same.
//
// Source: mlflow/store/db/utils.py (_initialize_tables), mlflow/store/db_migrations/versions.
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/csv.h"
#include "core/hash.h"
#include "core/json.h"
#include "tuner/export/formats.h"

namespace tune {
namespace {

// A line for each column and constraint: SQLAlchemy 1.4 tells constraints apart by their lines.
constexpr char kMlflowSchema[] = R"sql(
CREATE TABLE experiments (
  experiment_id INTEGER NOT NULL,
  name VARCHAR(256) NOT NULL,
  artifact_location VARCHAR(256),
  lifecycle_stage VARCHAR(32),
  CONSTRAINT experiment_pk PRIMARY KEY (experiment_id),
  UNIQUE (name),
  CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted'))
);
CREATE TABLE runs (
  run_uuid VARCHAR(32) NOT NULL,
  name VARCHAR(250),
  source_type VARCHAR(20),
  source_name VARCHAR(500),
  entry_point_name VARCHAR(50),
  user_id VARCHAR(256),
  status VARCHAR(20),
  start_time BIGINT,
  end_time BIGINT,
  source_version VARCHAR(50),
  lifecycle_stage VARCHAR(20),
  artifact_uri VARCHAR(200),
  experiment_id INTEGER,
  CONSTRAINT run_pk PRIMARY KEY (run_uuid),
  CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')),
  CONSTRAINT status CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED')),
  CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
  FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id)
);
CREATE TABLE params (
  "key" VARCHAR(250) NOT NULL,
  value VARCHAR(250) NOT NULL,
  run_uuid VARCHAR(32) NOT NULL,
  CONSTRAINT param_pk PRIMARY KEY ("key", run_uuid),
  FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE metrics (
  "key" VARCHAR(250) NOT NULL,
  value FLOAT NOT NULL,
  timestamp BIGINT NOT NULL,
  run_uuid VARCHAR(32) NOT NULL,
  step BIGINT DEFAULT '0' NOT NULL,
  is_nan BOOLEAN DEFAULT '0' NOT NULL,
  CONSTRAINT metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan),
  FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE latest_metrics (
  "key" VARCHAR(250) NOT NULL,
  value FLOAT NOT NULL,
  timestamp BIGINT,
  step BIGINT NOT NULL,
  is_nan BOOLEAN NOT NULL,
  run_uuid VARCHAR(32) NOT NULL,
  CONSTRAINT latest_metric_pk PRIMARY KEY ("key", run_uuid),
  FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE experiment_tags (
  "key" VARCHAR(250) NOT NULL,
  value VARCHAR(5000),
  experiment_id INTEGER NOT NULL,
  CONSTRAINT experiment_tag_pk PRIMARY KEY ("key", experiment_id),
  FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id)
);
CREATE TABLE tags (
  "key" VARCHAR(250) NOT NULL,
  value VARCHAR(5000),
  run_uuid VARCHAR(32) NOT NULL,
  CONSTRAINT tag_pk PRIMARY KEY ("key", run_uuid),
  FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version (version_num) VALUES ('89d4b8295536');
)sql";

// A metric's last value: SQLite takes the other columns from the row that has the maximum.
constexpr char kLatestSql[] =
    "INSERT INTO latest_metrics (\"key\", value, timestamp, step, is_nan, run_uuid)"
    " SELECT \"key\", value, timestamp, max(step), is_nan, run_uuid FROM metrics"
    " GROUP BY run_uuid, \"key\"";

const char* StatusOf(const ExportedTrial& trial) {
  if (trial.status == "PENDING") return "SCHEDULED";
  if (trial.status == "ERROR") return "FAILED";
  if (!trial.has_ended()) return "RUNNING";
  return trial.stop_reason == "user" ? "KILLED" : "FINISHED";
}

int64_t Milliseconds(Instant at) { return at.us / 1000; }

// "file:///a%20b/c".
std::string FileUri(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("/._-~").find(c) != std::string_view::npos;
    if (is_plain) {
      uri.push_back(c);
    } else {
      uri.push_back('%');
      uri.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      uri.push_back(kHex[static_cast<unsigned char>(c) & 0xf]);
    }
  }
  return uri;
}

// The names of metrics or parameters, with the letters that MLflow allows and no two alike.
class AllowedNames {
 public:
  const std::string& Of(const std::string& name) {
    const auto [entry, is_new] = allowed_.emplace(name, std::string());
    if (is_new) entry->second = Choose(name);
    return entry->second;
  }

 private:
  std::string Choose(const std::string& name) {
    std::string base = name;
    for (char& c : base) {
      const bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') ||
                              std::string_view("_-. /").find(c) != std::string_view::npos;
      if (!is_allowed) c = '_';
    }
    std::string chosen = base;
    for (int i = 2; !taken_.insert(chosen).second; ++i) chosen = base + "_" + std::to_string(i);
    return chosen;
  }

  std::map<std::string, std::string> allowed_;
  std::set<std::string> taken_;
};

// As MLflow keeps numbers: SQL has neither NaN nor infinities.
struct MlflowNumber {
  double value = 0;
  bool is_nan = false;
};
MlflowNumber ToMlflow(double value) {
  if (std::isnan(value)) return {0, true};
  constexpr double kMax = std::numeric_limits<double>::max();
  if (std::isinf(value)) return {value > 0 ? kMax : -kMax, false};
  return {value, false};
}

std::string ParamText(const Value& value) {
  if (value.is_string()) return value.AsString();
  if (value.is_bool()) return value.AsBool() ? "True" : "False";  // As mlflow.log_param has them.
  if (value.is_null()) return "None";
  return value.is_number() ? FullNumber(value) : ToJson(value);
}

class StoreWriter {
 public:
  StoreWriter(SweepRows& rows, Database& store, const ExportPlace& place)
      : rows_(rows), store_(store), artifacts_(FileUri(place.target + "/artifacts")) {
    const ExportedSweep& sweep = rows.sweep();
    identity_ = sweep.name + "\n" + std::to_string(sweep.created_at.us);
    // Eighteen digits, as MLflow's own ids can have; never 0, the default experiment's.
    experiment_ =
        static_cast<int64_t>(Xxh64(identity_) % 900'000'000'000'000'000 + 100'000'000'000'000'000);
  }

  Status Write() {
    static constexpr char kExperimentSql[] =
        "INSERT INTO experiments (experiment_id, name, artifact_location, lifecycle_stage)"
        " VALUES (?1, ?2, ?3, 'active')";
    TUNE_RETURN_IF_ERROR(store_.Execute("BEGIN"));
    TUNE_RETURN_IF_ERROR(store_.Execute(kMlflowSchema));
    TUNE_RETURN_IF_ERROR(store_.Run(kExperimentSql, experiment_, rows_.sweep().name, artifacts_));
    for (ExportedTrial trial;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows_.NextTrial(trial));
      if (!has_trial) break;
      TUNE_RETURN_IF_ERROR(WriteRun(trial));
    }
    TUNE_RETURN_IF_ERROR(store_.Execute(kLatestSql));
    return store_.Execute("COMMIT");
  }

 private:
  std::string RunId(const ExportedTrial& trial) const {
    const std::string run = identity_ + "\n" + std::to_string(trial.number);
    return HashToHex(Xxh64(run, 0)) + HashToHex(Xxh64(run, 1));
  }

  Status WriteRun(const ExportedTrial& trial) {
    static constexpr char kRunSql[] =
        "INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id,"
        "  status, start_time, end_time, source_version, lifecycle_stage, artifact_uri,"
        "  experiment_id)"
        " VALUES (?1, ?2, 'LOCAL', '', '', 'tune', ?3, ?4, ?5, '', 'active', ?6, ?7)";
    static constexpr char kParamSql[] =
        "INSERT INTO params (\"key\", value, run_uuid) VALUES (?1, ?2, ?3)";
    const std::string id = RunId(trial);
    const Instant start = trial.started_at.value_or(trial.created_at);
    std::optional<int64_t> end;
    if (trial.has_ended()) end = Milliseconds(trial.finished_at.value_or(start));
    TUNE_RETURN_IF_ERROR(store_.Run(kRunSql, id, Name(trial), StatusOf(trial), Milliseconds(start),
                                    end, artifacts_ + "/" + id + "/artifacts", experiment_));
    for (const auto& [name, value] : trial.config.parameters()) {
      TUNE_RETURN_IF_ERROR(store_.Run(kParamSql, params_.Of(name), ParamText(value), id));
    }
    TUNE_RETURN_IF_ERROR(WriteMetrics(id));
    return WriteTags(trial, id);
  }

  Status WriteMetrics(const std::string& run) {
    static constexpr char kMetricSql[] =
        "INSERT INTO metrics (\"key\", value, timestamp, run_uuid, step, is_nan)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for (ExportedReport report;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_report, rows_.NextReport(report));
      if (!has_report) return OkStatus();
      if (!report.is_new) continue;
      TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
      for (const auto& [name, value] : metrics) {
        const MlflowNumber stored = ToMlflow(value);
        TUNE_RETURN_IF_ERROR(store_.Run(kMetricSql, metrics_.Of(name), stored.value,
                                        Milliseconds(report.reported_at), run, report.iteration,
                                        stored.is_nan));
      }
    }
  }

  Status WriteTags(const ExportedTrial& trial, const std::string& run) {
    static constexpr char kTagSql[] =
        "INSERT INTO tags (\"key\", value, run_uuid) VALUES (?1, ?2, ?3)";
    std::vector<std::pair<std::string, std::string>> tags = {
        {"mlflow.runName", Name(trial)},
        {"mlflow.user", "tune"},
        {"mlflow.source.type", "LOCAL"},
        {"number", std::to_string(trial.number)},
        {"status", trial.status},
        {"iterations", std::to_string(trial.iterations)},
        {"attempts", std::to_string(trial.attempts)}};
    if (!trial.stop_reason.empty()) tags.emplace_back("stop_reason", trial.stop_reason);
    if (trial.best_value.has_value())
      tags.emplace_back("best_value", FullNumber(Value(*trial.best_value)));
    if (trial.violation.has_value()) {
      tags.emplace_back("feasible", *trial.violation == 0 ? "true" : "false");
      tags.emplace_back("violation", FullNumber(Value(*trial.violation)));
    }
    if (trial.best_iteration.has_value())
      tags.emplace_back("best_iteration", std::to_string(*trial.best_iteration));
    for (const auto& [name, text] : tags) {
      TUNE_RETURN_IF_ERROR(store_.Run(kTagSql, name, text, run));
    }
    return OkStatus();
  }

  std::string Name(const ExportedTrial& trial) const {
    return rows_.sweep().name + "/" + std::to_string(trial.number);
  }

  SweepRows& rows_;
  Database& store_;
  std::string artifacts_;  // Where MLflow may put files that are logged later.
  std::string identity_;
  int64_t experiment_ = 0;
  AllowedNames metrics_;
  AllowedNames params_;
};

}  // namespace

Status ExportMlflow(SweepRows& rows, const ExportPlace& place) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> store,
                        Database::CreateForeign(place.folder + "/mlflow.db"));
  return DiskFullInWords(StoreWriter(rows, *store, place).Write(), *store);
}

}  // namespace tune
