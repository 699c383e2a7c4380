// What `from` brings: the trials of an earlier sweep of the same database, or of a study of
// Optuna's, for the searcher to learn from.
//
// The trials of a study are put into the spec's document when the sweep begins
// (tuner/export/optuna_study.h) and are stored with it, so that a resumed sweep learns from the
// same ones, whatever became of the file:
//
//   from:
//     optuna: study.db
//     study: NAME
//     trials:
//     - {number: 3, config: [["lr", 0.1], ["kind", "adam"]], reports: [[1, 0.5], [2, null]]}
//     - {number: 4, config: [["lr", 0.2], ["kind", "sgd"]], reports: [], failed: true}
//
// A report is an iteration and a value for each objective; null: none.
//
// Of an earlier sweep what cannot be told from its rows any more, once it has gone on, is stored
// likewise: when it began, since another one may have its name by then, and which of its trials had
// failed.
//
//   from: {sweep: NAME, began: 1764478800000000, failed: [3, 7]}
//
// and with `prior` in the place of `sweep` for one over other data, or in another space.
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
  Value from;        // Of an earlier sweep: what is to be stored in the place of its name.
};

// The map under `from` that names a study; null where the spec names a sweep, or nothing.
const Value* StudyOf(const ExperimentSpec& spec);

// The sweep's name under a spec's `from`, as a person writes it or as it is stored; empty: none.
std::string EarlierNameIn(const Value& document);

// What is stored of a new sweep: `document`, with what it learns from.
Value WithEarlier(Value document, const EarlierSweep& earlier);

// Nothing where the spec has no `from`. Only what was known before `before` counts, so that a
// resumed sweep learns from the same trials however the earlier one went on. Configurations that do
// not fit the space (FitToSpace) and trials that have neither reported nor failed are left out. Of
// a prior's configurations what the space has of them is enough (ShareOfSpace); where some had what
// is constant now, those that had another value are left out. Errors: the sweep is not there (the
// nearest name is told) or is another one of that name, it follows other metrics or the other mode.
// Without any trial that fits it is a note: a sweep that began so goes on so.
//
// Parameters of a study are taken by their names, "optimizer.lr" also as "optimizer/lr"; constants
// of the space, which a study does not have, are taken as they are.
Result<EarlierSweep> ReadEarlierSweep(const ExperimentSpec& spec, const SearchSpace& space,
                                      Instant before, Store& store);

// The same for a new sweep, which must have something to learn from: without any trial that fits it
// is an error.
Result<EarlierSweep> ReadEarlierAtStart(const ExperimentSpec& spec, const SearchSpace& space,
                                        Instant before, Store& store);

// What a new sweep's `from` has stored of a study, by itself; nothing where it names none.
Status CheckStudy(const ExperimentSpec& spec, const SearchSpace& space);

}  // namespace tune
