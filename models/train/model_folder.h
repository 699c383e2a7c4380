// A trained model to use, as a folder:
//
//   model.safetensors   one epoch's weights, torchvision's names
//   config.json         class names, width_mult, image_size, training options, the epoch, and its
//                       metrics: test_loss and test_accuracy too, if they were measured of these
//                       weights, and never those of others
//
// Thread rule: stateless; one writer for a folder.
#pragma once

#include <string>
#include <vector>

#include "core/metric.h"
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

// Which weights of a checkpoint, and what is known of them.
struct ExportRequest {
  // A checkpoint has the weights of the epoch that it was saved after and of the run's best epoch
  // so far. Of another epoch than these two: the former. 0: the best one.
  int epoch = 0;
  // What was reported of that epoch, with the scores of its test behind, if there was one: the
  // checkpoint may be older than the test. It counts if its losses are those of the checkpoint.
  Metrics tested = {};
};

// Writes a model to `out_folder`, which is created; files of those names are replaced. Returns the
// epoch that it is of.
Result<int> ExportModel(const std::string& checkpoint_folder, const std::string& out_folder,
                        const ExportRequest& request = {});

// An exported folder, or a checkpoint folder (then its best epoch).
Result<Model> ReadModel(const std::string& folder);

// A network in evaluation shape with the model's weights.
Result<std::unique_ptr<MobileNetV2>> MakeModelNetwork(const Model& model, int batch_max,
                                                      int threads);

}  // namespace tune::models
