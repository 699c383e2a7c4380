#include "models/train/food11_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/json.h"
#include "core/nearest_name.h"
#include "models/data/augment.h"

namespace tune::models {
namespace {

constexpr int kPretrainedInitialEpochs = 5;  // The lab's.

// In the order of the enumerations.
constexpr std::string_view kDeviceNames = "cpu, cuda, auto";
constexpr std::string_view kPrecisionNames = "bf16, fp32";

constexpr std::array<Food11Parameter, 17> kParameters = {{
    {"batch_size", ParameterKind::kInteger, 2, 4096, false, false, "images a step"},
    {"dropout_probability", ParameterKind::kNumber, 0, 1, false, true, "of the head"},
    {"lr", ParameterKind::kNumber, 0, 10, true, false, "Adam's step size"},
    {"fine_tune_lr", ParameterKind::kNumber, 0, 10, true, false,
     "the backbone's first step size, doubled each epoch up to lr (default: lr)"},
    {"weight_decay", ParameterKind::kNumber, 0, 10, false, false,
     "what a step takes off each weight, as a share of lr (AdamW; default: 0)"},
    {"augmentation", ParameterKind::kNumber, 0, kAugmentationMax, false, false,
     "strength of flips, rotation and colour jitter; 0 for none (default: 1)"},
    {"initial_epochs", ParameterKind::kInteger, 0, 100000, false, false,
     "epochs with the head alone (default: 5 with weights, else 0)"},
    {"total_epochs", ParameterKind::kInteger, 1, 100000, false, false, "epochs"},
    {"patience", ParameterKind::kInteger, 1, 100000, false, false,
     "epochs without a lower val_loss before the end"},
    {"width_mult", ParameterKind::kNumber, 0.3, 4, false, false, "MobileNetV2's width", true},
    {"image_size", ParameterKind::kInteger, 32, 1024, false, false, "pixels", true},
    {"weights", ParameterKind::kText, 0, 0, false, false, "a .safetensors file to start from",
     true},
    {"data", ParameterKind::kText, 0, 0, false, false, "a folder, or synthetic", true},
    {"device", ParameterKind::kChoice, 0, 0, false, false,
     "where to train: cpu, cuda, or auto, which is cuda where a card can be used (default: cpu)",
     false, kDeviceNames},
    {"precision", ParameterKind::kChoice, 0, 0, false, false,
     "of a card's products: bf16 or fp32 (default: bf16)", false, kPrecisionNames},
    {"lanes", ParameterKind::kInteger, 1, kLanesMax, false, false,
     "trials of one shape that may train as one array, in one process (default: as many as share a "
     "card with device: cuda, else 1)"},
    {"seed", ParameterKind::kInteger, 0, 9007199254740992.0, false, false, "of all draws"},
}};

constexpr std::array<std::string_view, 10> kMetricNames = {
    "train_loss",        "train_accuracy", "val_loss",  "val_accuracy",  "epoch_seconds",
    "images_per_second", "lanes",          "test_loss", "test_accuracy", "test_epoch"};

std::vector<std::string> SplitChoices(std::string_view choices) {
  std::vector<std::string> names;
  while (!choices.empty()) {
    const size_t end = std::min(choices.find(", "), choices.size());
    names.emplace_back(choices.substr(0, end));
    choices.remove_prefix(std::min(end + 2, choices.size()));
  }
  return names;
}

// The place of a name among the choices, or -1.
int ChoiceIndex(std::string_view choices, std::string_view name) {
  const std::vector<std::string> names = SplitChoices(choices);
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

const Food11Parameter* FindParameter(std::string_view name) {
  for (const Food11Parameter& parameter : kParameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::string NumberText(double number, ParameterKind kind) {
  if (kind == ParameterKind::kInteger) return std::to_string(static_cast<int64_t>(number));
  std::string text;
  AppendJsonNumber(number, text);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string RangeText(const Food11Parameter& p) {
  return std::string(p.kind == ParameterKind::kInteger ? "an integer" : "a number") +
         (p.lo_open ? " above " : " from ") + NumberText(p.lo, p.kind) +
         (p.hi_open ? " to below " : " to ") + NumberText(p.hi, p.kind);
}

bool IsInRange(const Food11Parameter& p, double number) {
  return (p.lo_open ? number > p.lo : number >= p.lo) &&
         (p.hi_open ? number < p.hi : number <= p.hi);
}

}  // namespace

std::span<const Food11Parameter> Food11Parameters() { return kParameters; }

std::span<const std::string_view> Food11MetricNames() { return kMetricNames; }

Value Food11OptionsToValue(const Food11Options& options) {
  Value map = Value::MakeMap();
  map.Set("batch_size", options.batch_size);
  map.Set("dropout_probability", options.dropout_probability);
  map.Set("lr", options.lr);
  map.Set("fine_tune_lr", options.fine_tune_lr);
  map.Set("weight_decay", options.weight_decay);
  map.Set("augmentation", options.augmentation);
  map.Set("initial_epochs", options.initial_epochs);
  map.Set("total_epochs", options.total_epochs);
  map.Set("patience", options.patience);
  map.Set("width_mult", options.width_mult);
  map.Set("image_size", options.image_size);
  map.Set("weights", options.weights);
  map.Set("data", options.data);
  map.Set("device", SplitChoices(kDeviceNames)[static_cast<size_t>(options.device)]);
  map.Set("precision", SplitChoices(kPrecisionNames)[static_cast<size_t>(options.precision)]);
  if (options.lanes > 0) map.Set("lanes", options.lanes);
  return map;
}

std::string LaneShape(const Food11Options& options) {
  const Value all = Food11OptionsToValue(options);
  Value shape = Value::MakeMap();
  for (const std::string_view name :
       {"batch_size", "width_mult", "image_size", "data", "device", "precision"}) {
    shape.Set(name, *all.Find(name));
  }
  return ToJson(shape);
}

Status CheckFood11Parameter(std::string_view name, const Value& value) {
  const Food11Parameter* const parameter = FindParameter(name);
  if (parameter == nullptr) {
    std::array<std::string_view, kParameters.size()> names;
    std::transform(kParameters.begin(), kParameters.end(), names.begin(),
                   [](const Food11Parameter& p) { return p.name; });
    return InvalidArgument("food11 has no parameter '" + std::string(name) + "'" +
                           DidYouMean(name, names));
  }
  const std::string read = std::string(name) + ": read " + ToJson(value) + ", expected ";
  if (parameter->kind == ParameterKind::kText) {
    if (!value.is_string()) return InvalidArgument(read + "a string");
    return OkStatus();
  }
  if (parameter->kind == ParameterKind::kChoice) {
    if (value.is_string() && ChoiceIndex(parameter->choices, value.AsString()) >= 0) {
      return OkStatus();
    }
    return InvalidArgument(read + "one of " + std::string(parameter->choices));
  }
  if (!value.is_number()) return InvalidArgument(read + RangeText(*parameter));
  const double number = value.AsDouble();
  const bool whole = number == std::floor(number);
  if (!IsInRange(*parameter, number) || (parameter->kind == ParameterKind::kInteger && !whole)) {
    return InvalidArgument(read + RangeText(*parameter));
  }
  return OkStatus();
}

Result<Food11Options> ParseFood11Options(const Configuration& configuration, uint64_t default_seed,
                                         const std::string& default_data) {
  for (const auto& [name, value] : configuration.parameters()) {
    TUNE_RETURN_IF_ERROR(CheckFood11Parameter(name, value));
  }
  const auto number = [&](std::string_view name, auto& target) {
    const Value* const value = configuration.Find(name);
    if (value == nullptr) return false;
    using Target = std::remove_reference_t<decltype(target)>;
    target = value->is_int() ? static_cast<Target>(value->AsInt())
                             : static_cast<Target>(value->AsDouble());
    return true;
  };
  const auto text = [&](std::string_view name, std::string& target) {
    if (const Value* const value = configuration.Find(name)) target = value->AsString();
  };
  Food11Options options;
  options.seed = default_seed;
  options.data = default_data;
  text("weights", options.weights);
  text("data", options.data);
  const auto choice = [&](std::string_view name, std::string_view choices, auto& target) {
    const Value* const value = configuration.Find(name);
    if (value == nullptr) return;
    using Target = std::remove_reference_t<decltype(target)>;
    target = static_cast<Target>(ChoiceIndex(choices, value->AsString()));
  };
  choice("device", kDeviceNames, options.device);
  choice("precision", kPrecisionNames, options.precision);
  number("batch_size", options.batch_size);
  number("dropout_probability", options.dropout_probability);
  number("lr", options.lr);
  if (!number("fine_tune_lr", options.fine_tune_lr)) options.fine_tune_lr = options.lr;
  number("weight_decay", options.weight_decay);
  number("augmentation", options.augmentation);
  if (!number("initial_epochs", options.initial_epochs)) {
    options.initial_epochs = options.weights.empty() ? 0 : kPretrainedInitialEpochs;
  }
  number("total_epochs", options.total_epochs);
  number("patience", options.patience);
  number("width_mult", options.width_mult);
  number("image_size", options.image_size);
  number("lanes", options.lanes);
  number("seed", options.seed);
  return options;
}

std::string Food11Advice(const Food11Options& options) {
  if (options.initial_epochs == 0 || !options.weights.empty()) return "";
  return "initial_epochs: read " + std::to_string(options.initial_epochs) +
         " without weights: in these epochs the head alone learns, on a backbone of random weights "
         "that stay as they are; name a pretrained backbone with weights, or leave initial_epochs "
         "out (0)";
}

Status CheckForRanks(const Food11Options& options, int world_size) {
  if (world_size == 1) return OkStatus();
  const std::string ranks = std::to_string(world_size) + " ranks";
  if (options.batch_size >= kImagesPerRankMin * world_size) return OkStatus();
  return InvalidArgument("batch_size: read " + std::to_string(options.batch_size) + ", which " +
                         ranks + " share; expected " +
                         std::to_string(kImagesPerRankMin * world_size) + " or more");
}

}  // namespace tune::models
