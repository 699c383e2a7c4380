// CMA-ES over the unit cube (search/covariance_adaptation.h), for numbers and ordinals, with what a
// sweep needs around it:
//
// - A generation is over when as many of its run's trials have ended as its population has.
//   Trials asked for meanwhile come from the present distribution; those of an earlier generation
//   that end late count for the generation in which they end. A trial that failed or never had a
//   value is the worst.
// - Discrete parameters keep a margin of probability outside of the mean's cell
//   (search/cell_margin.h).
// - Choices have no order for a normal distribution to follow: each is drawn from its own shares,
//   which move towards those of a generation's better half (Baluja, "Population-Based Incremental
//   Learning", CMU-CS-94-163, 1994) and never fall below a floor (Hamano et al., "CatCMA", GECCO
//   2024, section 4). What one choice has to do with another, or with a number, is not learned.
// - A draw against the constraints, or that was had before, is drawn again; where too many were,
// the
//   trial is random search's.
// - When a run has converged or no longer improves, another begins elsewhere: with a larger
//   population (IPOP: Auger, Hansen, CEC 2005), or by turns with a larger and a small one (BIPOP:
//   Hansen, GECCO 2009).
// - Parameters whose condition does not hold are drawn all the same; their draws change nothing.
//
// The first run begins at the best of the trials so far (random search's, where n_startup_trials
// asks for some, or those from elsewhere), or in the middle of the space where none has a value
// yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "search/searcher.h"

namespace tune {

// Names and meaning as Optuna's, whose one random trial at the start is not needed here.
struct CmaEsOptions {
  enum class Restart { kNone, kIpop, kBipop };
  double sigma0 = 1.0 / 6;              // In parts of each range.
  std::optional<int64_t> popsize = {};  // 4 + 3 ln(dimensions).
  int64_t n_startup_trials = 0;
  Restart restart_strategy = Restart::kBipop;
  int64_t inc_popsize = 2;  // What a larger population is multiplied by.
  bool with_margin = true;
};

// {algorithm: cmaes, sigma0: ..., restart_strategy: none | ipop | bipop, ...}. Refuses a space
// without any number or ordinal, and more than one objective.
Result<std::unique_ptr<Searcher>> MakeCmaEsSearcher(const Value& options,
                                                    const SearchProblem& problem);

}  // namespace tune
