#include "models/train/model_folder.h"

#include <filesystem>
#include <utility>

#include "core/json.h"
#include "core/posix/durable_file.h"
#include "models/train/safetensors.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kConfigBytesMax = 16u << 20;

std::string FileIn(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

const std::vector<NamedTensor>& BestWeights(const CheckpointState& state) {
  return state.best_weights.empty() ? state.weights : state.best_weights;
}

void TakeTest(const Metrics& from, EpochReport& report) {
  report.test_loss = FindMetric(from, "test_loss");
  report.test_accuracy = FindMetric(from, "test_accuracy");
  report.test_epoch = report.epoch;
}

// What the history says of an epoch, with the scores of the test of that epoch's weights, if there
// was one: a later report has it, or `tested`.
EpochReport WithTest(const std::vector<EpochReport>& history, int epoch, const Metrics& tested) {
  EpochReport report = history[static_cast<size_t>(epoch - 1)];
  report.test_loss.reset();  // A report's test may be of another epoch's weights.
  report.test_accuracy.reset();
  report.test_epoch.reset();
  const bool is_same = FindMetric(tested, "train_loss") == report.train_loss &&
                       FindMetric(tested, "val_loss") == report.val_loss &&
                       FindMetric(tested, "test_epoch") == epoch;
  if (is_same) TakeTest(tested, report);
  for (const EpochReport& later : history) {
    if (later.test_epoch == epoch) TakeTest(ToMetrics(later), report);
  }
  return report;
}

Result<Model> ReadExported(const std::string& folder) {
  const std::string path = FileIn(folder, "config.json");
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigBytesMax));
  const Result<Value> config = ParseJson(text);
  if (!config.ok()) return config.status().At(path);
  const Status bad = InvalidArgument(path + ": expected class_names, width_mult and image_size");
  if (!config->is_map()) return bad;
  const Value* const names = config->Find("class_names");
  const Value* const width = config->Find("width_mult");
  const Value* const size = config->Find("image_size");
  if (names == nullptr || !names->is_list() || width == nullptr || size == nullptr) return bad;
  TUNE_RETURN_IF_ERROR(CheckFood11Parameter("width_mult", *width).At(path));
  TUNE_RETURN_IF_ERROR(CheckFood11Parameter("image_size", *size).At(path));
  Model model;
  model.width_mult = width->AsDouble();
  model.image_size = static_cast<int>(size->AsDouble());
  for (const Value& name : names->AsList()) {
    if (!name.is_string()) return bad;
    model.class_names.push_back(name.AsString());
  }
  if (model.class_names.size() < 2) return bad;
  TUNE_ASSIGN_OR_RETURN(model.weights, ReadSafetensors(FileIn(folder, "model.safetensors")));
  return model;
}

}  // namespace

Result<int> ExportModel(const std::string& checkpoint_folder, const std::string& out_folder,
                        const ExportRequest& request) {
  TUNE_ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpoint(checkpoint_folder));
  const bool is_best =
      state.best_epoch != 0 && (request.epoch == 0 || request.epoch == state.best_epoch);
  const int epoch = is_best ? state.best_epoch : state.epoch();
  Value config = Value::MakeMap();
  config.Set("architecture", "mobilenet_v2");
  config.Set("class_names", Value::List(state.class_names.begin(), state.class_names.end()));
  config.Set("width_mult", state.options.width_mult);
  config.Set("image_size", state.options.image_size);
  config.Set("options", Food11OptionsToValue(state.options));
  config.Set("epoch", epoch);
  config.Set("metrics", ToValue(WithTest(state.history, epoch, request.tested)));

  std::error_code error;
  fs::create_directories(out_folder, error);
  if (error) return InvalidArgument("cannot create " + out_folder + ": " + error.message());
  // Weights first: a config without its weights would be half a model.
  const std::pair<std::string_view, std::string> files[] = {
      {"model.safetensors", SerializeSafetensors(is_best ? BestWeights(state) : state.weights)},
      {"config.json", ToJson(config) + "\n"}};
  for (const auto& [name, contents] : files) {
    const std::string path = FileIn(out_folder, name);
    TUNE_RETURN_IF_ERROR(WriteFileSynced(path + ".tmp", contents));
    TUNE_RETURN_IF_ERROR(RenameSynced(path + ".tmp", path));
  }
  return epoch;
}

Result<Model> ReadModel(const std::string& folder) {
  std::error_code error;
  if (fs::exists(FileIn(folder, "config.json"), error)) return ReadExported(folder);
  if (!fs::exists(FileIn(folder, "manifest.json"), error)) {
    return InvalidArgument("no model in '" + folder +
                           "': expected config.json and model.safetensors (tune best --export, "
                           "food11 train --out) or a checkpoint folder");
  }
  TUNE_ASSIGN_OR_RETURN(CheckpointState state, ReadCheckpoint(folder));
  Model model;
  model.class_names = state.class_names;
  model.width_mult = state.options.width_mult;
  model.image_size = state.options.image_size;
  model.weights = BestWeights(state);
  return model;
}

Result<std::unique_ptr<MobileNetV2>> MakeModelNetwork(const Model& model, int batch_max,
                                                      int threads) {
  NetworkOptions options;
  options.width_mult = model.width_mult;
  options.image_size = model.image_size;
  options.class_count = static_cast<int>(model.class_names.size());
  options.batch_max = batch_max;
  options.threads = threads;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network,
                        MobileNetV2::Create(options, /*seed=*/0));
  TUNE_RETURN_IF_ERROR(network->ImportWeights(model.weights, /*head_optional=*/false));
  return network;
}

}  // namespace tune::models
