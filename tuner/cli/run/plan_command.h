// `tune plan`: what a space file would lead to (tuner/simulate/sweep_plan.h). Runs and writes
// nothing.
//
// - table: the numbers, then a line for each rung; warnings go to `err`.
// - json: one object with all of it, `rungs` and `warnings` lists. csv: the rungs.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/resources.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct PlanOptions {
  std::string space_path;
  std::string db_path;  // Of earlier sweeps, for how fast lanes were; it need not be there.
  std::vector<std::string> overrides;  // --set.
  std::optional<int64_t> samples;
  int64_t cpus = 1;  // What the local worker would offer.
  std::vector<Device> devices;
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int PlanCommand(const PlanOptions& options, std::ostream& out, std::ostream& err);

// As people read it: "fifo", or the map in JSON.
std::string SchedulerText(const ExperimentSpec& spec);

}  // namespace tune
