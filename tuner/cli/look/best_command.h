// `tune best [NAME] [--export DIR]`: the best trial, its configuration and its checkpoint; its
// model, to be used elsewhere.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "core/status.h"
#include "tuner/cli/look/best_model.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct BestOptions {
  std::string db_path;
  std::string name;  // "": the latest sweep.
  std::string
      export_dir;  // "": only say which it is. A folder that is there already must be empty.
  bool with_failed = false;     // A trial in ERROR may be the best.
  bool by_expectation = false;  // By what is expected of configurations (expected_best.h).
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Makes files for use out of a checkpoint folder; `export_dir` is there. Returns the epoch whose
// weights these are: the model's, unless the checkpoint does not have them.
using ModelExporter = std::function<Result<int64_t>(
    const std::string& checkpoint_dir, const BestModel& model, const std::string& export_dir)>;

// `export_food11` serves the food11 trainable; the checkpoints of others are copied as they are (a
// curve has none). Of food11 it also says how the exported weights did on the evaluation set, if
// that was measured, and never how others did. Each export also has best.json, which trial it is
// and its nested configuration, and, where the exporter wrote none, config.json, that configuration
// alone. Returns the exit status: 0; 1 when the export failed; 2 with one line on `err`.
int BestCommand(const BestOptions& options, const ModelExporter& export_food11, std::ostream& out,
                std::ostream& err);

}  // namespace tune
