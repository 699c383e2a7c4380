#include "trial_runner/trainable_catalog.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/input_error.h"
#include "core/nearest_name.h"
#include "models/architecture.h"
#include "models/data/image_folder.h"
#include "models/network_state.h"
#include "models/train/food11_options.h"
#include "models/train/safetensors.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/curve.h"
#include "trial_runner/find_program.h"
#include "trial_runner/find_script.h"
#include "trial_runner/food11_inputs.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/script_files.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/working_folder.h"

namespace tune {
namespace {

constexpr char kSynthetic[] = "synthetic";

// What is checked of a trainable, one implementation a kind.
Result<Curve> ParseCurve(const Value& trainable) { return Curve::Parse(*trainable.Find("curve")); }

Result<std::vector<std::string>> DescribeFood11(const Value& trainable,
                                                const std::vector<std::string>& parameters,
                                                const TrainablePlaces& places) {
  std::vector<std::string_view> known;
  for (const models::Food11Parameter& parameter : models::Food11Parameters()) {
    known.push_back(parameter.name);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (std::find(known.begin(), known.end(), parameters[i]) != known.end()) continue;
    return InvalidAt(i < places.parameters.size() ? places.parameters[i] : trainable.place,
                     "trainable: food11 has no parameter '" + parameters[i] + "'" +
                         DidYouMean(parameters[i], known));
  }
  const auto metrics = models::Food11MetricNames();
  return std::vector<std::string>(metrics.begin(), metrics.end());
}

Result<std::vector<std::string>> DescribeCurve(const Value& trainable, const std::string& metric,
                                               const std::vector<std::string>& parameters) {
  TUNE_ASSIGN_OR_RETURN(const Curve curve, ParseCurve(trainable));
  const std::vector<std::string_view> known(parameters.begin(), parameters.end());
  for (const std::string& name : curve.ParameterNames()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return InvalidAt(trainable.place, "trainable: the curve uses '" + name +
                                          "', which is no parameter of the space" +
                                          DidYouMean(name, known));
  }
  std::vector<std::string> metrics = curve.MetricNames();
  if (metrics.front().empty()) metrics.front() = metric;
  return metrics;
}

// Nothing for other trainables, and for one that is wrong.
std::optional<CommandSpec> CommandOf(const Value& trainable) {
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok() || *kind != "command") return std::nullopt;
  const Result<CommandSpec> spec = CommandSpec::Parse(trainable);
  return spec.ok() ? std::optional(*spec) : std::nullopt;
}

// One that reports by itself may report anything.
Status DescribeCommand(const Value& trainable, const std::vector<std::string>& metrics,
                       const std::vector<std::string>& parameters, TrainableInfo& info) {
  TUNE_ASSIGN_OR_RETURN(const CommandSpec spec, CommandSpec::Parse(trainable));
  TUNE_RETURN_IF_ERROR(spec.CheckParameters(parameters));
  info.reports_others = spec.metric_names().empty();
  info.metrics = info.reports_others ? metrics : spec.metric_names();
  info.metrics.emplace_back(kExitStatusMetric);
  return OkStatus();
}

Result<models::Food11Options> ParseFood11(const Configuration& configuration,
                                          const std::string& default_data) {
  return models::ParseFood11Options(configuration, 0, default_data);
}

std::string Resolve(const std::string& base_dir, const std::string& path) {
  return (std::filesystem::path(base_dir) / path).lexically_normal().string();
}

// Reads the whole file into such a network as the trial's, since a file that does not fit fails
// every trial. The linear layer may be of other classes.
Status CheckWeights(const std::string& path, const models::Food11Options& options) {
  const Result<std::vector<models::NamedTensor>> tensors = models::ReadSafetensors(path);
  if (!tensors.ok()) return InvalidArgument("weights: " + tensors.status().message());
  models::NetworkOptions network;
  network.width_mult = options.width_mult;
  network.image_size = options.image_size;
  const models::Architecture architecture = models::BuildArchitecture(network);
  models::NetworkState state = models::InitialState(architecture, /*seed=*/0);
  const Status fits = models::ImportWeights(architecture, *tensors, /*head_optional=*/true, &state);
  return fits.ok() ? fits : InvalidArgument("weights: " + path + ": " + fits.message());
}

Status CheckFood11Inputs(const Configuration& configuration, const InputPlaces& places) {
  TUNE_ASSIGN_OR_RETURN(const models::Food11Options options,
                        ParseFood11(configuration, places.data_dir));
  if (!options.weights.empty()) {
    const std::string path = Resolve(places.base_dir, options.weights);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
      return InvalidArgument("weights: read '" + path + "', expected a file that exists");
    }
    TUNE_RETURN_IF_ERROR(CheckWeights(path, options));
  }
  // What lies in an object store is fetched, and looked at, by workers.
  if (options.data == kSynthetic || IsS3Url(options.data)) return OkStatus();
  if (options.data.empty()) {
    return InvalidArgument(
        "data: is missing; name the folder that holds training/, validation/ and evaluation/, "
        "with `data` in the space or in FOOD11_DATA_DIR, or write `data: synthetic`");
  }
  const Status found = models::FindImages(Resolve(places.base_dir, options.data)).status();
  return found.ok() ? found : InvalidArgument(found.message());
}

// The program is looked for as a trial will look for it.
Status CheckCommandInputs(const Value& trainable, const InputPlaces& places) {
  TUNE_ASSIGN_OR_RETURN(const CommandSpec spec, CommandSpec::Parse(trainable));
  const std::string folder = WorkingFolder(trainable, places.base_dir);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return InvalidAt(trainable.place, "trainable: working_dir: there is no folder " + folder);
  }
  // What setup makes is not there yet.
  const std::optional<std::string> program = spec.program();
  if (!program || !spec.setup().empty()) return OkStatus();
  const std::string path = spec.search_path().value_or(places.search_path);
  Status found = FindProgram(*program, path, folder).status();
  const std::optional<std::string> script = ScriptOf(spec);
  if (found.ok() && script) found = CheckScript(*script, folder);
  if (found.ok()) return found;
  return InvalidAt(trainable.Find("command")->place, "trainable: command: " + found.message());
}

}  // namespace

std::vector<std::string> SharedFileMetrics(const Value& trainable,
                                           const std::vector<std::string>& telling) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  std::vector<std::string> shared;
  for (const FileMetric& file : spec->file_metrics()) {
    const std::vector<std::string> named = file.path.ParameterNames();
    const bool tells = std::any_of(named.begin(), named.end(), [&](const std::string& name) {
      return std::find(telling.begin(), telling.end(), name) != telling.end();
    });
    if (!tells) shared.push_back(file.metric);
  }
  return shared;
}

bool CountsItsOutput(const Value& trainable) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  return spec && !spec->output_rules().patterns.empty() && !spec->output_rules().iteration;
}

bool HidesStatus(const Value& trainable) {
  const Value* const shell = trainable.is_map() ? trainable.Find("shell") : nullptr;
  const Value* const command = trainable.is_map() ? trainable.Find("command") : nullptr;
  if (shell == nullptr || *shell != Value(true) || command == nullptr || !command->is_string()) {
    return false;
  }
  const std::string& text = command->AsString();
  if (text.find("pipefail") != std::string::npos) return false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '|') {
      if (i + 1 == text.size() || text[i + 1] != '|') return true;
      ++i;
    }
  }
  return false;
}

std::vector<std::string> UncarriedParameters(const Value& trainable,
                                             const std::vector<std::string>& parameters,
                                             const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  return UncarriedParameters(*spec, parameters, WorkingFolder(trainable, base_dir));
}

std::vector<std::string> OptionsReadAsBool(const Value& trainable, const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  return OptionsReadAsBool(*spec, WorkingFolder(trainable, base_dir));
}

std::vector<std::string> OptionsPassedOver(const Value& trainable, const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  return OptionsPassedOver(*spec, WorkingFolder(trainable, base_dir));
}

std::vector<std::string> VariablesPassedOver(const Value& trainable, const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  return VariablesPassedOver(*spec, WorkingFolder(trainable, base_dir));
}

std::vector<MisreadBoolean> MisreadBooleans(const Value& trainable, const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  return MisreadBooleans(*spec, WorkingFolder(trainable, base_dir));
}

SharedOutputs FindSharedOutputs(const Value& trainable, const std::string& base_dir) {
  const std::optional<CommandSpec> spec = CommandOf(trainable);
  if (!spec) return {};
  const std::string folder = WorkingFolder(trainable, base_dir);
  return {FilesOfAllTrials(*spec, folder), FilesOfTheCommand(*spec), NewestOnesTaken(*spec, folder),
          NamesBySecond(*spec, folder)};
}

Result<TrainableInfo> DescribeTrainable(const Value& trainable,
                                        const std::vector<std::string>& metrics,
                                        const std::vector<std::string>& parameters,
                                        const TrainablePlaces& places) {
  TrainableInfo info;
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok()) return InvalidAt(trainable.place, kind.status().message());
  info.kind = *kind;
  if (info.kind == "ask-tell") {
    info.metrics = metrics;
    return info;
  }
  TUNE_ASSIGN_OR_RETURN(info.program, TrialProgram(info.kind));
  if (info.kind == "command") {
    TUNE_RETURN_IF_ERROR(DescribeCommand(trainable, metrics, parameters, info));
  } else {
    TUNE_ASSIGN_OR_RETURN(info.metrics,
                          info.kind == "food11"
                              ? DescribeFood11(trainable, parameters, places)
                              : DescribeCurve(trainable, metrics.front(), parameters));
  }
  if (info.kind == "food11") {
    for (const models::Food11Parameter& parameter : models::Food11Parameters()) {
      if (parameter.is_fixed) info.fixed.emplace_back(parameter.name);
    }
  }
  for (const std::string& metric : metrics) {
    if (std::find(info.metrics.begin(), info.metrics.end(), metric) != info.metrics.end()) continue;
    const std::vector<std::string_view> known(info.metrics.begin(), info.metrics.end());
    const bool has_place = places.metric.line != 0;
    return InvalidAt(has_place ? places.metric : trainable.place,
                     "trainable: " + info.kind + " never reports the metric '" + metric + "'" +
                         DidYouMean(metric, known));
  }
  return info;
}

Status CheckParameterName(const Value& trainable, std::string_view name) {
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
  if (kind != "curve" || name != kCurveIteration) return OkStatus();
  return InvalidArgument(std::string(name) +
                         ": is the iteration in a curve's expressions, which would not see the "
                         "parameter; give it another name");
}

Status CheckParameter(const Value& trainable, std::string_view name, const Value& value) {
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
  return kind == "food11" ? models::CheckFood11Parameter(name, value) : OkStatus();
}

Status CheckConfiguration(const Value& trainable, const Configuration& configuration,
                          int64_t workers) {
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
  if (kind == "food11") {
    TUNE_ASSIGN_OR_RETURN(const models::Food11Options options,
                          ParseFood11(configuration, kSynthetic));
    return models::CheckForRanks(options, static_cast<int>(workers));
  }
  if (kind == "command") {
    TUNE_ASSIGN_OR_RETURN(const CommandSpec spec, CommandSpec::Parse(trainable));
    Value own = Value::MakeMap();
    for (const char* const name :
         {"dir", "trial", "attempt", "seed", "sweep_seed", "experiment", "inputs"}) {
      own.Set(name, Value(""));
    }
    return spec.Fill(configuration.ToNested(), own).status();
  }
  if (kind != "curve") return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const Curve curve, ParseCurve(trainable));
  return curve.Bind(configuration.ToNested()).status();
}

std::string ConfigurationAdvice(const Value& trainable, const Configuration& configuration) {
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok() || *kind != "food11") return "";
  const auto options = ParseFood11(configuration, kSynthetic);
  return options.ok() ? models::Food11Advice(*options) : "";
}

std::optional<int64_t> TrialIterations(const Value& trainable, const Configuration& configuration) {
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok()) return std::nullopt;
  if (*kind == "food11") {
    const auto options = ParseFood11(configuration, kSynthetic);
    return options.ok() ? std::optional<int64_t>(options->total_epochs) : std::nullopt;
  }
  if (*kind != "curve") return std::nullopt;
  const Result<Curve> curve = ParseCurve(trainable);
  return curve.ok() ? std::optional(curve->iterations()) : std::nullopt;
}

std::optional<int64_t> CheckpointBytes(const Value& trainable, const Configuration& configuration) {
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok()) return std::nullopt;
  if (*kind == "food11") {
    const auto options = ParseFood11(configuration, kSynthetic);
    if (!options.ok()) return std::nullopt;
    models::NetworkOptions network;  // Of Food-11's classes; others are a matter of kilobytes.
    network.width_mult = options->width_mult;
    network.image_size = options->image_size;
    return models::StateFloatCountMax(models::BuildArchitecture(network)) *
           static_cast<int64_t>(sizeof(float));
  }
  if (*kind != "curve") return std::nullopt;
  const Result<Curve> curve = ParseCurve(trainable);
  return curve.ok() ? std::optional(curve->checkpoint_bytes()) : std::nullopt;
}

Status CheckInputs(const Value& trainable, const Configuration& configuration,
                   const InputPlaces& places) {
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
  if (kind == "command") return CheckCommandInputs(trainable, places);
  if (kind != "food11") return OkStatus();
  return CheckFood11Inputs(configuration, places);
}

Status CheckListedInput(const Value& trainable, const std::string& parameter, const Value& value,
                        const InputPlaces& places) {
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(trainable));
  const bool is_path = kind == "food11" && IsFood11Path(parameter) && value.is_string();
  if (!is_path || value.AsString().empty() || value.AsString() == kSynthetic ||
      IsS3Url(value.AsString())) {
    return OkStatus();
  }
  const std::string path = Resolve(places.base_dir, value.AsString());
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return OkStatus();
  return InvalidArgument(parameter + ": read '" + path + "', expected a " +
                         (parameter == "data" ? "folder" : "file") + " that exists");
}

}  // namespace tune
