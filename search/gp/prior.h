// What an earlier sweep teaches of one whose data, or parts of whose space, are others (`from:
// {prior: NAME}`). Its trials are no results of this sweep. They show where to look first, and a
// model of them lies below this sweep's own as one more fidelity (search/gp/surrogate.h), by a
// slope that is found out from this sweep's results and may be none (search/gp/gp_model.h).
//
// Parameters that it did not have are unknown to it, and it expects the same whatever they are.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "search/gp/acquisition_search.h"
#include "search/gp/surrogate.h"
#include "search/searcher.h"
#include "search/trial_observations.h"

namespace tune {

class Prior {
 public:
  // Of problem.prior, which has a trial. `acquisition`: of the problem's space; it must outlive the
  // prior.
  Prior(const SearchProblem& problem, const AcquisitionSearch& acquisition);

  // What to try first, of what the constraints allow: the best, and then of the best quarter, but
  // of five at least, what is furthest from those before. Nothing for a dimension that it does not
  // know; null: there is no further one.
  const UnitCells* Favourite(size_t order) const;
  // Of the losses that it saw, standardised. Made when it is first asked for.
  std::shared_ptr<const Surrogate> surrogate();

 private:
  bool MayBeTried(const UnitCells& cells) const;
  void ChooseFavourites();
  // Of each dimension: whether no trial had a value there.
  std::vector<bool> Unknown() const;

  const AcquisitionSearch& acquisition_;
  TrialObservations observations_;
  Points points_;                   // Of its trials.
  std::vector<size_t> favourites_;  // Trials.
  std::shared_ptr<const Surrogate> surrogate_;
};

}  // namespace tune
