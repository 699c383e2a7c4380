// A study in Optuna's SQLite file, for `from: {optuna: study.db}`.
//
// Read are the files of Optuna 2.4 and newer. What becomes of a trial there:
//
//   COMPLETE           its intermediate values, and its value as the last one where it differs
//   PRUNED, RUNNING    its intermediate values
//   FAIL               a failed trial
//   WAITING            nothing is known of it
//
// A trial that breaks a constraint of the study (a number above 0) counts as failed. Values that
// are not finite are none. Steps that count from 0 become iterations from 1.
//
// Source: optuna/storages/_rdb/models.py, optuna/distributions.py (json_to_distribution).
//
// Thread rule: one thread.
#pragma once

#include "core/status.h"
#include "tuner/experiment_spec.h"

namespace tune {

// Puts the trials of the study that the spec names into its document, as tuner/earlier_sweep.h has
// them, with the study's name. Does nothing where the spec names none, or where they are there
// already. kInvalidArgument: the file is no study, it holds several and none is named, or its
// directions are not the spec's.
Status TakeOptunaTrials(ExperimentSpec& spec);

}  // namespace tune
