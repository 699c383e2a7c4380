// Two densities over the unit cube, of the good trials and of the bad, and configurations that are
// likely under the first and not under the second (Bergstra et al. 2011, equation 3: the ratio
// rises with the expected improvement).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "search/parzen_axes.h"
#include "search/parzen_estimator.h"
#include "search/trial_split.h"

namespace tune {

struct TpeModelOptions {
  int64_t n_ei_candidates = 24;
  double prior_weight = 1;
  // All parameters in one mixture, so that it knows how they belong together; else each alone.
  bool multivariate = true;
  // Parameters under the same conditions in one mixture, and the mixtures apart.
  bool group = false;
};

class TpeModel {
 public:
  TpeModel(UnitSpace space, const TpeModelOptions& options);
  TpeModel(const TpeModel&) = delete;  // Its estimators refer to its axes.
  TpeModel& operator=(const TpeModel&) = delete;

  // The trials' places in the cube, in their order. Those of earlier calls stay.
  void Learn(const std::vector<ObservedTrial>& trials);
  // n_ei_candidates points of the cube drawn from the good density, the best ratio first. Of
  // several mixtures the i-th best of each together are one point. Requires a split of the trials
  // learned.
  std::vector<std::vector<double>> Propose(const TrialSplit& split, KeyedRandom random);

 private:
  struct Group {
    std::vector<size_t> dimensions;
    ParzenEstimator good;
    ParzenEstimator bad;  // A kernel for each trial; those that are not bad weigh nothing.
  };

  // In a space with conditions and of a group that has all parameters: draws a branch, which all
  // candidates then are in. Chosen by the ratio it would be the one that looks best so far, nearly
  // always.
  void FixBranch(ParzenEstimator& good, KeyedRandom& random) const;
  // Candidates of one group, the best first.
  std::vector<ParzenPoint> Candidates(Group& group, const TrialSplit& split, KeyedRandom& random);

  ParzenAxes axes_;
  TpeModelOptions options_;
  std::vector<ParzenPoint> places_;
  std::vector<size_t> looked_at_;  // The dimensions that conditions look at.
  std::vector<Group> groups_;
};

}  // namespace tune
