#include "tuner/cli/best_export.h"

#include "models/train/model_folder.h"

namespace tune {

Status ExportFood11(const std::string& checkpoint_dir, const std::string& export_dir) {
  return models::ExportModel(checkpoint_dir, export_dir, models::ExportedWeights::kOfItsEpoch);
}

}  // namespace tune
