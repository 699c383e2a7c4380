// Bayesian optimisation with Gaussian processes (search/gp/gp_model.h): a trial gets the
// configuration with the greatest logarithm of expected improvement. For some hundreds of trials of
// up to some dozens of parameters; beyond, it keeps to the best and a sample of the rest.
//
// - Several objectives have a process each, and improvement is that of the volume which the front
//   dominates (search/gp/hypervolume_improvement.h), the front being where the means of the
//   processes at the trials lie.
// - The first n_startup_trials are points of a scrambled Sobol sequence; where trials are stopped
//   early, so many for each level of training: they are cheap there, and each tells less.
// - Running trials count as if they had come out as expected: what one of them promises is what the
//   next has to improve on, and belongs to the front. And a trial keeps so far from those of which
//   nothing is known yet that the two may differ by more than the noise. So trials side by side
//   spread.
// - A trial that failed or has no value counts as the worst that was seen.
// - Where trials are stopped early, improvement counts less at places that are known as well as the
//   noise lets them be (augmented expected improvement).
// - Trials that were stopped early teach what they can: one more process for each level of
//   training (`fidelity`). What is improved on is the best of a whole training.
// - `per: seconds`: what a configuration promises counts for each second that its trial is expected
//   to take (search/gp/cost_model.h).
// - Guesses (search/belief.h) draw the first trials to them, and then weigh the less the more is
//   known.
// - No configuration is tried twice; a space of which every one was had is exhausted.
//
// The parameters of the processes are fitted anew when the number of trials with results has grown
// by a sixteenth, to what was known at that moment and nothing else: a suggestion follows from what
// was told, in which order, and the trial's number, whoever asked for what.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/searcher.h"

namespace tune {

// Names as Optuna's GPSampler has them, where it has them.
struct GpOptions {
  int64_t n_startup_trials = 10;
  bool deterministic_objective = false;  // The same configuration always has the same value.
  bool per_seconds = false;              // Weigh what a trial promises against what it costs.
  bool fidelity = true;                // Learn from the course of trainings, not their ends alone.
  std::vector<double> reference = {};  // A loss for each objective; empty: it follows the results.
};

// {algorithm: gp, n_startup_trials: 10, ...}. Refuses more than four objectives and grid_search.
// `reference`: with several objectives, what a trial must stay below in each to count.
Result<std::unique_ptr<Searcher>> MakeGpSearcher(const Value& options,
                                                 const SearchProblem& problem);

}  // namespace tune
