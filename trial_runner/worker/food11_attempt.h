// What an attempt of food11 needs, whether it trains beside others (food11_lanes.h) or as one rank
// of several (food11_rank.h).
//
// Thread rule: any thread; one at a time for a run.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "models/train/training_run.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

// Seconds from any origin.
double MonotonicSeconds();

// Weights, shuffle and dropout are drawn from the sweep's seed and the trial's number. The best
// epoch goes by the sweep's metric.
Result<models::Food11Options> ReadFood11Options(const TrialStart& start,
                                                const std::string& data_dir);

// An error of reading what that parameter names. Where trials name different ones, the machine is
// not to blame for one that is not there.
Status OfPath(const TrialStart& start, std::string_view parameter, const Status& status);

// How an error is told. What is not found, the data or the weights, may be on other machines.
TrialEnd EndFor(const Status& status);
// Of training, where the memory that ran out may be a card's.
TrialEnd EndForTraining(const Status& status, models::DeviceKind device);

// Into the attempt's log; nothing of nothing.
void Log(const std::string& note);

// Saves the run's last epoch, and says where.
Status SaveInto(const models::TrainingRun& run, CheckpointPlace& place, Report& report);

}  // namespace tune
