// Which epoch's weights of a food11 trial are its model, and how these did on the evaluation set.
// A trial keeps, tests and exports one epoch: the best one by the sweep's metric
// (models/train/best_epoch.h). Its last report has the test's scores and says of which epoch they
// are, "test_epoch".
//
// Thread rule: one thread.
#pragma once

#include <cstdint>

#include "core/metric.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct BestModel {
  int64_t epoch = 0;  // That of the best value.
  // What was reported of this epoch in the attempt that tested its weights, with the test's scores
  // behind; empty: these weights were not tested.
  Metrics tested;
  bool has_other_test = false;  // The trial has a test's scores, of another epoch's weights.
};

Result<BestModel> FindBestModel(Database& database, const FoundSweep& sweep, const BestTrial& best);

}  // namespace tune
