#include "tuner/cli/keep/import_command.h"

#include <filesystem>
#include <ostream>
#include <variant>
#include <vector>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "search/autotuner_form.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// "NAME: {uniform: [0, 1]}" or "NAME: 4"; JSON is YAML.
Result<std::string> SpaceLine(const MapEntry& entry) {
  std::string name;
  AppendJsonString(entry.key, name);
  const std::string begin = "  " + name + ": ";
  if (IsAutoTunerForm(entry.value)) {
    TUNE_ASSIGN_OR_RETURN(const auto content, ReadAutoTunerForm(entry.value));
    if (const auto* const constant = std::get_if<Value>(&content)) {
      return begin + ToJson(*constant) + "\n";
    }
    return begin + "{" + std::get<Domain>(content).ToText() + "}\n";
  }
  if (entry.value.is_map()) {
    return InvalidAt(entry.value.place, "'" + entry.key +
                                            "': read a map, expected {\"type\": ..., \"minmax\": "
                                            "[a, b], \"step\": ...} or a constant");
  }
  return begin + ToJson(entry.value) + "\n";
}

// What AutoTuner gives to its flow's files rather than to make.
bool IsOfAFile(const std::string& name) { return name.starts_with("_"); }

std::string Skeleton(const std::string& name, const std::vector<std::string>& parameters) {
  std::string command = "[make";
  for (const std::string& parameter : parameters) {
    if (!IsOfAFile(parameter)) command += ", \"" + parameter + "={" + parameter + "}\"";
  }
  command += ", \"FLOW_VARIANT=tune-{tune.trial}\"]";
  return "name: " + name +
         "\n"
         "trainable:\n"
         "  command: " +
         command +
         "\n"
         "  # Where the flow leaves its numbers. $TUNE_CONFIG names a JSON file with all "
         "parameters, "
         "for what is no\n"
         "  # variable of make.\n"
         "  metrics:\n"
         "    slack: {json: \"reports/tune-{tune.trial}/metrics.json\", key: "
         "finish__timing__setup__ws}\n"
         "    power: {json: \"reports/tune-{tune.trial}/metrics.json\", key: "
         "finish__power__total}\n"
         "metric: \"power - 100 * min(slack, 0)\"\n"
         "mode: min\n"
         "samples: 50\n"
         "search: {algorithm: auto}\n"
         "limits: {trial_time: 4h}\n";
}

}  // namespace

Result<std::string> SpaceFromAutoTuner(const std::string& json, const std::string& name) {
  // JSON is YAML, and that reader knows the places.
  Result<Value> document = ParseYaml(json);
  if (!document.ok()) return InFile(name, document.status());
  if (!document->is_map()) {
    return InFile(name, InvalidAt(document->place,
                                  "read " + Shown(*document) + ", expected a map of parameters"));
  }
  std::vector<std::string> parameters;
  std::string space = "space:\n";
  for (const MapEntry& entry : document->AsMap()) {
    const Result<std::string> line = SpaceLine(entry);
    if (!line.ok()) return InFile(name, line.status());
    space += *line;
    parameters.push_back(entry.key);
  }
  if (parameters.empty()) return InFile(name, InvalidAt(document->place, "no parameter is there"));
  return "# From " + name + "; see to the command, the metrics and the metric.\n" +
         Skeleton(fs::path(name).stem().string(), parameters) + space;
}

Status ImportCommand(const ImportOptions& options, std::ostream& out, std::ostream& err) {
  const Result<std::string> json = ReadFile(options.path, limits::kSpecBytesMax);
  if (!json.ok()) return InvalidArgument(json.status().message());
  TUNE_ASSIGN_OR_RETURN(const std::string space,
                        SpaceFromAutoTuner(*json, fs::path(options.path).filename().string()));
  if (options.out.empty()) {
    out << space;
    return OkStatus();
  }
  std::error_code error;
  if (fs::exists(options.out, error)) {
    return InvalidArgument("--out: " + options.out + " is there already, and is not replaced");
  }
  TUNE_RETURN_IF_ERROR(ReplaceFileSynced(options.out, space));
  err << options.out << " is written: see to its command and metrics, then tune plan "
      << options.out << "\n";
  return OkStatus();
}

}  // namespace tune
