#include "trial_runner/command/program_environment.h"

#include "trial_runner/command_text.h"
#include "trial_runner/parameter_variables.h"

namespace tune {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;  // By flat name.

void GatherParameters(const Value& config, const std::string& prefix, Texts& texts) {
  for (const MapEntry& entry : config.AsMap()) {
    const std::string name = prefix.empty() ? entry.key : prefix + "/" + entry.key;
    if (entry.value.is_map()) GatherParameters(entry.value, name, texts);
    texts.emplace_back(name, CommandValueText(entry.value));
  }
}

// One that would hold the value of either of two parameters is left out.
void AddParameters(const Value& config, Environment& environment) {
  Texts texts;
  GatherParameters(config, "", texts);
  std::vector<std::string> names;
  for (const auto& [name, text] : texts) names.push_back(name);
  const auto shared = SharedVariables(names);
  for (const auto& [name, text] : texts) {
    const std::string variable = ParameterVariable(name);
    const bool is_short = variable.size() + 1 + text.size() <= kArgumentBytesMax;
    if (is_short && !shared.contains(variable)) environment[variable] = text;
  }
}

void Append(const std::string& folder, std::string& path) {
  if (folder.empty()) return;
  path += (path.empty() ? "" : ":") + folder;
}

// As torchrun says them: each worker is one of its nodes, and all ranks have one role.
void AddRank(const TrialStart& start, Environment& environment) {
  const RankGroup& group = start.group;
  const std::string rank = std::to_string(start.rank);
  const std::string world_size = std::to_string(start.world_size);
  const std::string node = std::to_string(group.node_rank);
  environment["RANK"] = rank;
  environment["WORLD_SIZE"] = world_size;
  environment["LOCAL_RANK"] = std::to_string(group.local_rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(group.local_world_size);
  environment["GROUP_RANK"] = node;
  environment["NODE_RANK"] = node;
  environment["GROUP_WORLD_SIZE"] = std::to_string(group.node_count);
  environment["ROLE_NAME"] = "default";
  environment["ROLE_RANK"] = rank;
  environment["ROLE_WORLD_SIZE"] = world_size;
  environment["MASTER_ADDR"] = group.master_address;
  environment["MASTER_PORT"] = std::to_string(group.master_port);
  environment["TORCHELASTIC_RUN_ID"] = start.experiment + "-" + std::to_string(start.trial.value) +
                                       "-" + std::to_string(start.attempt.value);
  environment["TORCHELASTIC_RESTART_COUNT"] = std::to_string(start.attempt.value - 1);
  environment["TORCHELASTIC_MAX_RESTARTS"] = "0";         // Others begin the next attempt.
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "False";  // The first rank's program listens.
}

}  // namespace

Value OwnValues(const TrialStart& start) {
  Value own = Value::MakeMap();
  own.Set("dir", Value(start.artifact_dir));
  own.Set("trial", Value(start.trial.value));
  own.Set("attempt", Value(start.attempt.value));
  own.Set("seed", Value(std::to_string(start.seed)));
  own.Set("sweep_seed", Value(std::to_string(start.sweep_seed)));
  own.Set("experiment", Value(start.experiment));
  own.Set("inputs", Value(start.place.inputs));
  return own;
}

Environment ProgramEnvironment(const Environment& base, const TrialStart& start,
                               const ProgramPlaces& places,
                               const std::vector<std::pair<std::string, std::string>>& own) {
  Environment environment = base;
  // Of a sweep that this one runs within.
  std::erase_if(environment, [](const auto& variable) {
    return variable.first.starts_with("TUNE_PARAM_") || variable.first == "TUNE_RESTORED" ||
           variable.first == "TUNE_INPUTS";
  });
  AddParameters(start.config, environment);
  environment["TUNE_SOCKET"] = places.socket;
  environment["TUNE_CONFIG"] = places.config_file;
  environment["TUNE_TRIAL"] = std::to_string(start.trial.value);
  environment["TUNE_ATTEMPT"] = std::to_string(start.attempt.value);
  environment["TUNE_EXPERIMENT"] = start.experiment;
  environment["TUNE_SEED"] = std::to_string(start.seed);
  environment["TUNE_SWEEP_SEED"] = std::to_string(start.sweep_seed);
  environment["TUNE_METRIC"] = start.metric;
  environment["TUNE_MODE"] = start.mode == Mode::kMin ? "min" : "max";
  environment["TUNE_DIR"] = start.artifact_dir;
  environment["TUNE_FROM_ITERATION"] = std::to_string(start.from_iteration);
  if (!start.place.inputs.empty()) environment["TUNE_INPUTS"] = start.place.inputs;
  if (!places.restored.empty()) environment["TUNE_RESTORED"] = places.restored;
  environment["OMP_NUM_THREADS"] = std::to_string(start.threads);
  for (const auto& [name, value] : start.device_environment) environment[name] = value;
  if (start.world_size > 1) AddRank(start, environment);
  // What it prints shall be read when it is printed.
  environment.emplace("PYTHONUNBUFFERED", "1");
  Append(places.program_folder, environment["PATH"]);
  if (!places.python_folder.empty()) Append(places.python_folder, environment["PYTHONPATH"]);
  for (const auto& [name, value] : own) environment[name] = value;
  return environment;
}

}  // namespace tune
