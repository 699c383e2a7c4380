// Where a Gaussian process is to look for the next configuration, and what for: an acquisition, the
// trials to look around, and those that run.
//
// - One objective: improvement on the best mean at a trial that has come, or may come, to the last
//   level of training.
// - Several: improvement of the volume that the front dominates.
// - With limits on results each promise counts as much as it is likely to be kept within them;
//   while nothing feasible is known, that alone.
//
// Thread rule: immutable; what it was made of must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/gp/acquisition.h"
#include "search/gp/gp_model.h"
#include "search/gp/hypervolume_improvement.h"
#include "search/gp/level_table.h"
#include "search/pareto.h"
#include "search/trial_observations.h"

namespace tune {

// Acquisitions refer to the surrogates.
struct Outlook {
  Outlook() = default;
  Outlook(const Outlook&) = delete;
  Outlook& operator=(const Outlook&) = delete;

  std::vector<Surrogate> surrogates;  // One for each objective,
  std::vector<Surrogate> limits;      // and one for each limit.
  std::unique_ptr<Acquisition> acquisition;
  std::vector<size_t> incumbents;  // Trials.
  std::vector<size_t> pending;
};

// One for each objective, then one for each limit.
std::vector<LevelTable> TablesOf(const TrialObservations& observations, size_t limit_count,
                                 const std::vector<int64_t>& levels);

class OutlookMaker {
 public:
  // Up to four: the boxes of a front grow with the power of the objectives.
  static constexpr size_t kObjectivesMax = 4;

  // `reference`: a loss for each objective; empty: it follows the results. `models`: in the order
  // of TablesOf. `points`: of all trials.
  OutlookMaker(const TrialObservations& observations, size_t limit_count, const Losses& reference,
               const std::vector<GpModel>& models, const std::vector<int64_t>& levels,
               const Points& points, SearchRules rules)
      : observations_(observations),
        limit_count_(limit_count),
        reference_(reference),
        models_(models),
        levels_(levels),
        points_(points),
        rules_(rules) {}

  void Make(Outlook& outlook) const;

 private:
  void LookForBest(Outlook& outlook) const;
  void LookForFront(Outlook& outlook) const;
  // Limits on results.
  void LookForFeasible(Outlook& outlook) const;
  void LookForFeasibleBest(Outlook& outlook) const;
  void KeepLimits(Outlook& outlook) const;
  std::vector<size_t> LeastViolating(size_t count) const;
  // Those of `trials` that keep all limits: by what they came to, and by what is predicted of those
  // that still run.
  std::vector<size_t> FeasibleOf(std::vector<size_t> trials, const Outlook& outlook) const;
  size_t KeepFeasible(const Outlook& outlook, size_t ended, std::vector<size_t>& trials,
                      std::vector<LossPoint>& seen) const;
  size_t objective_count() const { return observations_.objective_count(); }
  double BoundOf(size_t limit) const { return models_[objective_count() + limit].Seen(0); }
  LossPoint ReferenceOf(LossPoints seen) const;

  const TrialObservations& observations_;
  size_t limit_count_;
  const Losses& reference_;
  const std::vector<GpModel>& models_;
  const std::vector<int64_t>& levels_;
  const Points& points_;
  SearchRules rules_;
};

}  // namespace tune
