// mlruns/: the folder of MLflow's FileStore (mlflow ui --backend-store-uri DIR/mlruns).
//
//   mlruns/<experiment id>/meta.yaml
//   mlruns/<experiment id>/<run id>/meta.yaml
//                                   metrics/<name>   "<milliseconds> <value> <step>", a line each
//                                   params/<name>    the value
//                                   tags/<name>      the text
//                                   artifacts/       empty
//
// A slash in a name is a folder, as in MLflow. Ids are drawn from the sweep's name, its time and
// the trial's number, so that a second export has the same.
//
// Source: mlflow/store/tracking/file_store.py.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "core/csv.h"
#include "core/hash.h"
#include "core/json.h"
#include "tuner/export/formats.h"
#include "tuner/export/output_file.h"

namespace tune {
namespace {

// RunStatus of mlflow.entities.
enum class RunStatus { kRunning = 1, kScheduled = 2, kFinished = 3, kFailed = 4, kKilled = 5 };

RunStatus StatusOf(const ExportedTrial& trial) {
  if (trial.status == "PENDING") return RunStatus::kScheduled;
  if (trial.status == "ERROR") return RunStatus::kFailed;
  if (!trial.has_ended()) return RunStatus::kRunning;
  return trial.stop_reason == "user" ? RunStatus::kKilled : RunStatus::kFinished;
}

std::string Milliseconds(Instant at) { return std::to_string(at.us / 1000); }

// A JSON string is a YAML one, too.
std::string YamlText(const std::string& text) { return ToJson(Value(text)); }

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

// Where metrics or parameters lie below their folder: what MLflow allows in a name, no two alike,
// and none a folder that another one is a file of.
class FileNames {
 public:
  const std::string& Of(const std::string& name) {
    const auto [entry, is_new] = files_.emplace(name, std::string());
    if (is_new) entry->second = Choose(name);
    return entry->second;
  }

 private:
  static std::string Allowed(const std::string& name) {
    std::string file;
    std::string part;
    const auto end_part = [&] {
      if (part.empty() || part == "." || part == "..") part.insert(part.begin(), '_');
      file += (file.empty() ? "" : "/") + part;
      part.clear();
    };
    for (const char c : name) {
      const bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') ||
                              std::string_view("_-. ").find(c) != std::string_view::npos;
      if (c == '/') {
        end_part();
      } else {
        part.push_back(is_allowed ? c : '_');
      }
    }
    end_part();
    return file;
  }

  bool IsFree(const std::string& file) const {
    if (taken_.contains(file) || folders_.contains(file)) return false;
    for (size_t slash = file.find('/'); slash != std::string::npos;
         slash = file.find('/', slash + 1)) {
      if (taken_.contains(file.substr(0, slash))) return false;
    }
    return true;
  }

  std::string Choose(const std::string& name) {
    const std::string wanted = Allowed(name);
    std::string file = wanted;
    if (!IsFree(file)) std::replace(file.begin(), file.end(), '/', '_');
    const std::string base = file;
    for (int i = 2; !IsFree(file); ++i) file = base + "_" + std::to_string(i);
    taken_.insert(file);
    for (size_t slash = file.find('/'); slash != std::string::npos;
         slash = file.find('/', slash + 1)) {
      folders_.insert(file.substr(0, slash));
    }
    return file;
  }

  std::map<std::string, std::string> files_;
  std::set<std::string> taken_;
  std::set<std::string> folders_;
};

// Python's float() reads these: "nan", "inf", "-inf".
std::string MetricLine(const ExportedReport& report, double value) {
  return Milliseconds(report.reported_at) + " " + FullNumber(Value(value)) + " " +
         std::to_string(report.iteration) + "\n";
}

std::string ParamText(const Value& value) {
  if (value.is_string()) return value.AsString();
  if (value.is_bool()) return value.AsBool() ? "True" : "False";  // As mlflow.log_param has them.
  if (value.is_null()) return "None";
  return value.is_number() ? FullNumber(value) : ToJson(value);
}

class StoreWriter {
 public:
  StoreWriter(SweepRows& rows, const ExportPlace& place) : rows_(rows) {
    const ExportedSweep& sweep = rows.sweep();
    identity_ = sweep.name + "\n" + std::to_string(sweep.created_at.us);
    // Eighteen digits, as MLflow's own ids have; never "0", the default experiment's.
    const uint64_t digits = Xxh64(identity_) % 900'000'000'000'000'000 + 100'000'000'000'000'000;
    experiment_ = std::to_string(digits);
    folder_ = place.folder + "/mlruns/" + experiment_;
    target_ = place.target + "/mlruns/" + experiment_;
  }

  Status Write() {
    TUNE_RETURN_IF_ERROR(WriteExperiment());
    for (ExportedTrial trial;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows_.NextTrial(trial));
      if (!has_trial) return OkStatus();
      TUNE_RETURN_IF_ERROR(WriteRun(trial));
    }
  }

 private:
  std::string RunId(const ExportedTrial& trial) const {
    const std::string run = identity_ + "\n" + std::to_string(trial.number);
    return HashToHex(Xxh64(run, 0)) + HashToHex(Xxh64(run, 1));
  }

  Status WriteExperiment() const {
    const ExportedSweep& sweep = rows_.sweep();
    const Instant updated_at = sweep.finished_at.value_or(sweep.created_at);
    return WriteOutputFile(folder_ + "/meta.yaml",
                           "artifact_location: " + YamlText(FileUri(target_)) +
                               "\ncreation_time: " + Milliseconds(sweep.created_at) +
                               "\nexperiment_id: '" + experiment_ +
                               "'\nlast_update_time: " + Milliseconds(updated_at) +
                               "\nlifecycle_stage: active\nname: " + YamlText(sweep.name) + "\n");
  }

  Status WriteRun(const ExportedTrial& trial) {
    const std::string id = RunId(trial);
    const std::string folder = folder_ + "/" + id;
    const Instant start = trial.started_at.value_or(trial.created_at);
    const std::string end =
        trial.has_ended() ? Milliseconds(trial.finished_at.value_or(start)) : "null";
    TUNE_RETURN_IF_ERROR(WriteOutputFile(
        folder + "/meta.yaml",
        "artifact_uri: " + YamlText(FileUri(target_ + "/" + id + "/artifacts")) +
            "\nend_time: " + end + "\nentry_point_name: ''\nexperiment_id: '" + experiment_ +
            "'\nlifecycle_stage: active\nrun_id: " + id + "\nrun_name: " + YamlText(Name(trial)) +
            "\nrun_uuid: " + id + "\nsource_name: ''\nsource_type: 4\nsource_version: ''" +
            "\nstart_time: " + Milliseconds(start) + "\nstatus: " +
            std::to_string(static_cast<int>(StatusOf(trial))) + "\ntags: []\nuser_id: tune\n"));
    std::error_code error;
    for (const char* name : {"artifacts", "metrics", "params", "tags"}) {
      std::filesystem::create_directory(folder + "/" + name, error);
    }
    if (error) return Internal("cannot make " + folder + ": " + error.message());
    for (const auto& [name, value] : trial.config.parameters()) {
      TUNE_RETURN_IF_ERROR(
          WriteOutputFile(folder + "/params/" + params_.Of(name), ParamText(value)));
    }
    TUNE_RETURN_IF_ERROR(WriteMetrics(folder + "/metrics/"));
    return WriteTags(trial, folder + "/tags/");
  }

  // A trial's lines are gathered by metric, each file is written once.
  Status WriteMetrics(const std::string& folder) {
    std::map<std::string, std::string> lines;
    for (ExportedReport report;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_report, rows_.NextReport(report));
      if (!has_report) break;
      if (!report.is_new) continue;
      TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
      for (const auto& [name, value] : metrics) lines[name] += MetricLine(report, value);
    }
    for (const auto& [name, text] : lines) {
      TUNE_RETURN_IF_ERROR(WriteOutputFile(folder + metrics_.Of(name), text));
    }
    return OkStatus();
  }

  Status WriteTags(const ExportedTrial& trial, const std::string& folder) const {
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
    if (trial.best_iteration.has_value())
      tags.emplace_back("best_iteration", std::to_string(*trial.best_iteration));
    for (const auto& [name, text] : tags)
      TUNE_RETURN_IF_ERROR(WriteOutputFile(folder + name, text));
    return OkStatus();
  }

  std::string Name(const ExportedTrial& trial) const {
    return rows_.sweep().name + "/" + std::to_string(trial.number);
  }

  SweepRows& rows_;
  std::string identity_;
  std::string experiment_;
  std::string folder_;  // Of the experiment.
  std::string target_;  // The same, once the export is whole.
  FileNames metrics_;
  FileNames params_;
};

}  // namespace

Status ExportMlflow(SweepRows& rows, const ExportPlace& place) {
  return StoreWriter(rows, place).Write();
}

}  // namespace tune
