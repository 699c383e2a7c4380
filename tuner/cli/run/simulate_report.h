// What `tune simulate` prints.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tuner/cli/words/text_table.h"
#include "tuner/simulate/simulation.h"

namespace tune {

// One sweep that was played.
struct Simulated {
  std::string label;  // Of its scheduler.
  uint64_t seed = 0;
  SimulatedSweep sweep;
};

struct SimulateReport {
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.

  // A row for each, with the best value at each tenth of the time that fifo takes (the first
  // scheduler, where fifo is not among them).
  void PrintRows(const std::vector<Simulated>& all, std::ostream& out) const;
  // One for a person.
  void PrintOne(const Simulation& simulation, const Simulated& one, std::ostream& out) const;
  // Schedulers side by side, then the best values by the tenths; means over the seeds.
  void PrintComparison(const std::vector<Simulated>& all, std::ostream& out) const;
};

// What a person should know before believing it.
void WarnOfSimulated(const Simulation& simulation, const Simulated& one, std::ostream& err);
void WarnOfShortCurves(const Simulation& simulation, std::ostream& err);

}  // namespace tune
