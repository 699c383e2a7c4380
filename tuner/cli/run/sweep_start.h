// What a sweep's beginning and its going on have in common: what is checked before, and what is
// said as it leaves the terminal.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/cli/run/background.h"
#include "tuner/cli/run/run_command.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/event.h"
#include "tuner/experiment_spec.h"
#include "tuner/provenance.h"
#include "tuner/store.h"
#include "tuner/sweep_options.h"

namespace tune {

// The first configuration, with data and weights that are there, as those are that the space lists
// for others: all that can be known before the
// start. Prints advice, if there is some.
Result<Configuration> CheckTrials(const ExperimentSpec& spec, uint64_t seed,
                                  const std::string& data_dir);

// Decodes the classifier's images into their cache before the start, so that broken ones are named
// and counted, and a class that loses all of them is known, while nothing has begun. What there is
// to say, the program food11 says.
bool PrepareData(const Configuration& configuration, const std::string& base_dir,
                 const std::string& data_dir, const std::string& program_dir);

// Where a new sweep comes from.
Provenance ProvenanceOf(const ExperimentSpec& spec, const RunOptions& options);

// That programs and variables of the local worker's trials are there. Workers of other machines
// have environments of their own.
Status CheckEnvironment(const ExperimentSpec& spec, const SweepSurroundings& surroundings,
                        const std::string& program_dir);

// `is_wanted`: --ui was given.
Status CheckPage(bool is_wanted, const PagePlace& place);

// From here on a detached sweep speaks to its log; who waits for it is told when it runs. Nothing
// where `background` is null.
Status LeaveTerminal(Background* background, const std::string& sweep,
                     SweepSurroundings& surroundings);

// What earlier sweeps of the database tell this one: journalled, so that a resume decides by the
// same, whatever they do meanwhile.
Result<std::vector<Event>> KnownAtStart(const ExperimentSpec& spec, int64_t last_step,
                                        const std::string& db_path);

// Whether a sweep of `samples` trials is longer than one of `others`; -1 has no end.
bool IsMore(int64_t samples, int64_t others);
// Whether --samples makes the sweep go on; one without an end, which `until` has ended, by -1
// again.
bool Extends(std::optional<int64_t> samples, int64_t present);

// The new total of `tune resume --samples`: by the rules of the file, and not below the present
// one.
Status CheckNewTotal(int64_t samples, const StoredExperiment& experiment,
                     const ControllerOptions& sweep);

}  // namespace tune
