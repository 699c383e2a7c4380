// From what is known of trials to a surrogate. A model is made of what was known at one time: its
// levels, how losses are bent, and the parameters of its processes stay as they were then; the
// surrogate that it gives knows everything known now.
//
// Thread rule: immutable.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/gp/gaussian_process.h"
#include "search/gp/level_table.h"
#include "search/gp/loss_warp.h"
#include "search/gp/surrogate.h"

namespace tune {

// Of a limit, what its losses must not exceed.
struct GpLossBound {
  std::optional<double> loss = {};
  // The bend of losses keeps it apart from those beyond it, however few they are.
  bool stays_apart = true;
};

// What a model may be made with beside its trials.
struct GpModelOptions {
  bool is_noisy = true;  // As of FitGpParameters.
  GpLossBound bound = {};
  // Dimensions in which all points are alike although they need not have been: they say nothing of
  // them. Empty: none.
  std::vector<bool> is_unknown = {};
  // What an earlier sweep taught, below the first level: a line through what it expects at the
  // trials, where that explains their results better than nothing does. Null: none.
  std::shared_ptr<const Surrogate> prior = {};
};

class GpModel {
 public:
  // `points`: of the table's trials.
  GpModel(CategoryFlags is_category, const Points& points, const LevelTable& table,
          const GpModelOptions& options = {});

  struct View {
    Surrogate surrogate;
    double best = 0;  // The lowest mean at a trial that has come to the last level, or still may.
    std::vector<size_t> leading;  // Trials there with the lowest means, the best first.
    std::vector<size_t> pending;  // Trials of which nothing is known yet.
  };
  // The table must have the levels of that which the model was made of. Rows beyond limits are left
  // out: of trials with a value the better half of those that are kept is the best, the others are
  // taken evenly from the rest; of running ones the latest.
  View Look(const Points& points, const LevelTable& table) const;
  // The share of the variance of what the first level sees that its process predicts of each value
  // from the others; 0 or less: no better than their mean. `points`, `table`: as it was made of.
  double Skill(const Points& points, const LevelTable& table) const;
  // The loss that the surrogate's highest level sees so.
  double LossOf(double seen) const { return levels_.back().warp->LossOf(seen); }
  // Whether the losses of that level differ. If not nothing is known of their scale.
  bool HasSpread() const { return levels_.back().warp->has_spread(); }
  // What the process of the first level sees of a loss.
  double Seen(double loss) const { return (*levels_[0].warp)(loss); }
  // The same of a loss that is no result, but a bound: it may lie beyond all that was seen.
  double SeenUncut(double loss) const { return levels_[0].warp->Uncut(loss); }
  // By how much what the prior expects moves what is expected here, both standardised; 0: it tells
  // nothing of these trials, or there is none.
  double prior_slope() const { return prior_ == nullptr ? 0 : levels_[0].slope; }

 private:
  struct Level {
    std::optional<LossWarp> warp;
    double slope = 0;  // As in Surrogate::Level.
    double shift = 0;
    double scale = 1;
    GpParameters parameters;
  };
  // The trials of a level that count, and what its process sees of them; NaN: still to come.
  struct Rows {
    std::vector<size_t> trials;
    Eigen::VectorXd values;
  };
  Rows RowsOf(const Points& points, const LevelTable& table, size_t level) const;
  // Those with a value, as many as a fit takes.
  Rows FitRowsOf(const Points& points, const LevelTable& table, size_t level) const;
  // What lies below a level at these trials: what the level below saw there, or the prior expects.
  Eigen::VectorXd BelowOf(const Points& points, const LevelTable& table, size_t level,
                          const std::vector<size_t>& trials) const;
  void FitStep(const Points& points, const LevelTable& table, size_t level);
  void FitParameters(const Points& points, const LevelTable& table, size_t level,
                     const GpModelOptions& options);
  void TryPrior(const Points& points, const LevelTable& table, const GpModelOptions& options);
  // How badly the first level explains what was seen.
  double MisfitOf(const Points& points, const LevelTable& table) const;

  CategoryFlags is_category_;
  std::shared_ptr<const Surrogate> prior_;
  std::vector<Level> levels_;
};

}  // namespace tune
