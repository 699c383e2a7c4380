// From a space file or from the database to a controller: the parts are made in one place, so that
// a resumed sweep is made of the same ones.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "search/earlier_trial.h"
#include "tuner/experiment_controller.h"
#include "tuner/experiment_spec.h"
#include "tuner/store.h"

namespace tune {

// What a sweep is made of.
struct SweepParts {
  ControllerOptions options;
  std::unique_ptr<Searcher> searcher;
  std::unique_ptr<TrialScheduler> scheduler;
};

// `name`: as stored. `artifacts_dir`: absolute, <db stem>.artifacts. `history`: of the spec's
// `from`; what is not to be gone on with needs none. `decision_version`: of the sweep.
Result<SweepParts> MakeSweepParts(const ExperimentSpec& spec, uint64_t seed,
                                  const std::string& name, const std::string& artifacts_dir,
                                  std::vector<EarlierTrial> history = {},
                                  int64_t decision_version = kDecisionVersion);
Result<std::unique_ptr<ExperimentController>> MakeController(
    const ExperimentSpec& spec, uint64_t seed, const std::string& name,
    const std::string& artifacts_dir, std::vector<EarlierTrial> history = {});

// Of the stored experiment.
Result<SweepParts> PartsOfStored(const StoredExperiment& experiment,
                                 const std::string& artifacts_dir, Store& store);
// One for the stored experiment, before its first event; its suggestions have been restored.
Result<std::unique_ptr<ExperimentController>> FreshController(const StoredExperiment& experiment,
                                                              const std::string& artifacts_dir,
                                                              Store& store);

// A step of the journal, in a fresh controller whose suggestions have been restored and which has
// had the steps before it. Returns its rows; what it would have done then is not done again.
Result<Transition> FollowStep(const JournalStep& step, ExperimentController& controller);

// All steps, and then the workers. Returns the last step.
Result<int64_t> Replay(Store& store, ExperimentId experiment, ExperimentController& controller);

// kDataLoss, naming the first difference, when the stored rows of the trials are not what the
// journal led to: somebody changed the database, or the decision code without its version.
Status CompareTrials(const std::vector<TrialRow>& stored, const std::vector<TrialRecord>& replayed);

// One of several sweeps of a controller, as it was after its last commit: enlisted, and told its
// stream. The workers are none until RestoreWorkers, after the last sweep. Returns the last step.
// Refuses what Recover refuses, and one whose last step was taken by a build without streams: such
// a one goes on alone first.
Result<int64_t> EnlistStored(const StoredExperiment& experiment, const std::string& artifacts_dir,
                             Store& store, Controller& controller);
// The workers of all its sweeps, which had them together: each has rows of all. kDataLoss where
// they do not go together with what the sweeps hold.
Status RestoreWorkers(Store& store, Controller& controller);

// What a head's earlier life left RUNNING.
struct TakenUp {
  std::map<ExperimentId, int64_t> last_steps;  // Of those that are enlisted, with their workers.
  // A tuner of its own ran it, on workers of its own: each is enlisted later, and told that its
  // tuner was restarted.
  std::vector<StoredExperiment> apart;
  std::vector<Status> refused;  // Why one stays closed: nothing of it is changed.
};
Result<TakenUp> EnlistRunning(const std::string& artifacts_dir, Store& store,
                              Controller& controller);

struct RecoveredExperiment {
  std::unique_ptr<ExperimentController> controller;
  int64_t last_step = 0;
};

// The stored experiment as it was after its last commit. Refuses one that was decided by another
// version, and one whose rows are not what its journal led to.
Result<RecoveredExperiment> Recover(const StoredExperiment& experiment,
                                    const std::string& artifacts_dir, Store& store);

}  // namespace tune
