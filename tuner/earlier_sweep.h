// What `from` brings: the trials of an earlier sweep of the same database, for the searcher to
// learn from.
//
// Thread rule: one thread, the store's.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "search/earlier_trial.h"
#include "search/space.h"
#include "tuner/experiment_spec.h"
#include "tuner/store.h"

namespace tune {

struct EarlierSweep {
  std::vector<EarlierTrial> trials;
  std::string note;  // For a person: how many there are, how many were left out and why.
};

// Nothing where the spec has no `from`. Only what was known before `before` counts, so that a
// resumed sweep learns from the same trials however the earlier one went on. Configurations that do
// not fit the space (FitToSpace) and trials that have neither reported nor failed are left out.
// Errors: the sweep is not there (the nearest name is told), it follows other metrics or the other
// mode. Without any trial that fits it is a note.
Result<EarlierSweep> ReadEarlierSweep(const ExperimentSpec& spec, const SearchSpace& space,
                                      Instant before, Store& store);

}  // namespace tune
