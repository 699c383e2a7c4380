// A trained model to use, as a folder:
//
//   model.safetensors   the best epoch's weights, torchvision's names
//   config.json         class names, width_mult, image_size, training options, metrics
//
// Thread rule: stateless; one writer for a folder.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "models/mobilenet_v2.h"
#include "models/train/checkpoint.h"

namespace tune::models {

struct Model {
  std::vector<std::string> class_names;
  double width_mult = 1.0;
  int image_size = 224;
  std::vector<NamedTensor> weights;
};

// Which of a checkpoint's weights: those of the epoch that it was saved after, or those of the
// run's best epoch so far (the lowest val_loss; if no epoch was finite, its own).
enum class ExportedWeights { kOfItsEpoch, kOfBestEpoch };

// Writes a checkpoint's weights and their metrics to `out_folder`, which is created; files of those
// names are replaced.
Status ExportModel(const std::string& checkpoint_folder, const std::string& out_folder,
                   ExportedWeights weights = ExportedWeights::kOfBestEpoch);

// An exported folder, or a checkpoint folder (then its best epoch).
Result<Model> ReadModel(const std::string& folder);

// A network in evaluation shape with the model's weights.
Result<std::unique_ptr<MobileNetV2>> MakeModelNetwork(const Model& model, int batch_max,
                                                      int threads);

}  // namespace tune::models
