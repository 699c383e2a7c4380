// What a person may set of the built-in trainable `food11`: names, types, ranges, defaults. This
// library links neither the network nor OpenCV, so that a search space can be checked anywhere,
// before anything starts.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "models/mobilenet_v2.h"
#include "models/train/best_epoch.h"

namespace tune::models {

struct Food11Options {
  int batch_size = 32;
  double dropout_probability = 0.5;
  double lr = 1e-4;            // The head's, and the backbone's once it has caught up.
  double fine_tune_lr = 1e-4;  // The backbone's in its first epoch. Default: lr.
  double weight_decay = 0;     // Of all parameters, decoupled from the gradient.
  double augmentation = 1;     // Strength of the training transform (data/augment.h).
  int initial_epochs = 0;      // Epochs with the head alone. Default: 5 with `weights`, else 0.
  int total_epochs = 20;
  int patience = 5;  // Epochs without a lower val_loss.
  double width_mult = 1.0;
  int image_size = 224;
  std::string weights;  // A safetensors file with torchvision's names; empty: random weights.
  DeviceKind device = DeviceKind::kCpu;
  Precision precision = Precision::kBf16;  // Of a card's products.
  int lanes = 0;     // Trials of one shape that may train as one array; 0: as many as share a card.
  std::string data;  // A folder, or "synthetic"; empty: the caller decides (FOOD11_DATA_DIR).
  // Of weights, shuffle, dropout and augmentation. The caller's default if not given.
  uint64_t seed = 0;
  BestEpochRule best_epoch;  // Not the configuration's: the caller says what the run is for.
};

enum class ParameterKind { kInteger, kNumber, kText, kChoice };

// One line of the table of options. A number's range is [lo, hi], or (lo, hi] if `lo_open`, and so
// on.
struct Food11Parameter {
  std::string_view name;
  ParameterKind kind;
  double lo = 0;
  double hi = 0;
  bool lo_open = false;
  bool hi_open = false;
  std::string_view meaning;
  // It makes the network or the data: a run that goes on under another value is another run.
  bool is_fixed = false;
  std::string_view choices = "";  // Of a kChoice: "cpu, cuda, auto".
};

// Every option, in the order of Food11Options.
std::span<const Food11Parameter> Food11Parameters();

// kInvalidArgument with one line if `name` is none of them (the nearest one is named) or `value`
// cannot be its value. An integral double is an integer too: a quantised domain draws 32.0.
Status CheckFood11Parameter(std::string_view name, const Value& value);

// All parameters checked and defaults filled in. `default_seed` and `default_data` hold where the
// configuration has none.
Result<Food11Options> ParseFood11Options(const Configuration& configuration, uint64_t default_seed,
                                         const std::string& default_data);

// The options as a map that ParseFood11Options reads back, but for the seed, which may be beyond
// JSON's integers, and the rule of the best epoch.
Value Food11OptionsToValue(const Food11Options& options);

// One line of advice where options are allowed that hardly anybody wants, or "".
std::string Food11Advice(const Food11Options& options);

// Lanes of one array, at most.
inline constexpr int kLanesMax = 64;

// What must be the same in runs that train as one array, as JSON: a text to compare.
std::string LaneShape(const Food11Options& options);

// Batch norm has no variance of fewer.
inline constexpr int kImagesPerRankMin = 2;
// kInvalidArgument if so many data-parallel ranks cannot train with these options.
Status CheckForRanks(const Food11Options& options, int world_size);

// What a trial can report, so that a metric that it never reports is known before the start.
std::span<const std::string_view> Food11MetricNames();

}  // namespace tune::models
