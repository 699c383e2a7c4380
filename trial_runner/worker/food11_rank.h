// One rank of an attempt of food11 that several train together (models/train/rank_batch_runner.h).
// The first one saves and reports; the others hear from it whether to go on.
//
// Thread rule: one thread.
#pragma once

#include <memory>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/train/food11_options.h"
#include "trial_runner/worker/lane_session.h"

namespace tune {

// Trains to the end, beside nobody. The other ranks are met in a folder of the trial's artifacts
// that no other attempt has; where other workers do not reach it, this machine is unfit. Where the
// worker is gone, so is this process.
TrialEnd TrainAsRank(int64_t lane, const TrialStart& start, const models::Food11Options& options,
                     std::shared_ptr<const models::Dataset> dataset, LaneSession& session);

}  // namespace tune
