#include "tuner/cli/look/best_export.h"

#include "models/train/model_folder.h"

namespace tune {

Result<int64_t> ExportFood11(const std::string& checkpoint_dir, const BestModel& model,
                             const std::string& export_dir) {
  TUNE_ASSIGN_OR_RETURN(const int epoch,
                        models::ExportModel(checkpoint_dir, export_dir,
                                            {static_cast<int>(model.epoch), model.tested}));
  return epoch;
}

}  // namespace tune
