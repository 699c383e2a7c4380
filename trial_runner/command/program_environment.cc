#include "trial_runner/command/program_environment.h"

#include "trial_runner/command_text.h"

namespace tune {
namespace {

void AddParameters(const Value& config, const std::string& prefix, Environment& environment) {
  for (const MapEntry& entry : config.AsMap()) {
    const std::string name = prefix.empty() ? entry.key : prefix + "/" + entry.key;
    if (entry.value.is_map()) AddParameters(entry.value, name, environment);
    environment[ParameterVariable(name)] = CommandValueText(entry.value);
  }
}

void Append(const std::string& folder, std::string& path) {
  if (folder.empty()) return;
  path += (path.empty() ? "" : ":") + folder;
}

}  // namespace

std::string ParameterVariable(std::string_view flat_name) {
  std::string name = "TUNE_PARAM_";
  for (const char c : flat_name) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_lower ? static_cast<char>(c - 'a' + 'A') : is_kept ? c : '_';
  }
  return name;
}

Value OwnValues(const TrialStart& start) {
  Value own = Value::MakeMap();
  own.Set("dir", Value(start.artifact_dir));
  own.Set("trial", Value(start.trial.value));
  own.Set("attempt", Value(start.attempt.value));
  own.Set("seed", Value(std::to_string(start.seed)));
  own.Set("sweep_seed", Value(std::to_string(start.sweep_seed)));
  own.Set("experiment", Value(start.experiment));
  return own;
}

Environment ProgramEnvironment(const Environment& base, const TrialStart& start,
                               const ProgramPlaces& places,
                               const std::vector<std::pair<std::string, std::string>>& own) {
  Environment environment = base;
  // Of a sweep that this one runs within.
  std::erase_if(environment, [](const auto& variable) {
    return variable.first.starts_with("TUNE_PARAM_") || variable.first == "TUNE_RESTORED";
  });
  AddParameters(start.config, "", environment);
  environment["TUNE_SOCKET"] = places.socket;
  environment["TUNE_CONFIG"] = places.config_file;
  environment["TUNE_TRIAL"] = std::to_string(start.trial.value);
  environment["TUNE_ATTEMPT"] = std::to_string(start.attempt.value);
  environment["TUNE_EXPERIMENT"] = start.experiment;
  environment["TUNE_SEED"] = std::to_string(start.seed);
  environment["TUNE_SWEEP_SEED"] = std::to_string(start.sweep_seed);
  environment["TUNE_METRIC"] = start.metric;
  environment["TUNE_DIR"] = start.artifact_dir;
  environment["TUNE_FROM_ITERATION"] = std::to_string(start.from_iteration);
  if (!places.restored.empty()) environment["TUNE_RESTORED"] = places.restored;
  environment["OMP_NUM_THREADS"] = std::to_string(start.threads);
  for (const auto& [name, value] : start.device_environment) environment[name] = value;
  // What it prints shall be read when it is printed.
  environment.emplace("PYTHONUNBUFFERED", "1");
  Append(places.program_folder, environment["PATH"]);
  if (!places.python_folder.empty()) Append(places.python_folder, environment["PYTHONPATH"]);
  for (const auto& [name, value] : own) environment[name] = value;
  return environment;
}

}  // namespace tune
