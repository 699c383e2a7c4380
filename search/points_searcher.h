// Around a searcher: given configurations first, one a trial. What a partial one leaves open is
// drawn at random for that trial (random_draws.h).
//
// A searcher that learns hears of them as if they were its own, and counts trials as they are. One
// that does not begins after them: it never sees their numbers, so that a grid is gone through
// wholly.
//
// Where configurations are to be unique and the inner searcher learns, a point that was had before
// (by an earlier point, or in an earlier sweep) gives way to what the searcher suggests; around one
// that does not learn there is a UniqueSearcher.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/random_draws.h"
#include "search/searcher.h"

namespace tune {

class PointsSearcher final : public Searcher {
 public:
  // `points`: as ReadPoints gives them for this space. `is_unique`: none is to be had twice;
  // requires an inner searcher that learns.
  PointsSearcher(std::unique_ptr<Searcher> inner, std::vector<Configuration> points,
                 SearchSpace space, uint64_t seed, bool is_unique);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  void OnStopped(TrialNumber number) override;
  void OnDuration(TrialNumber number, double seconds) override;
  void OnReopened(TrialNumber number) override;
  std::optional<double> PredictiveSkill() override { return inner_->PredictiveSkill(); }
  std::optional<double> RemainingRegret() override { return inner_->RemainingRegret(); }
  bool EstimatesRegret() const override { return inner_->EstimatesRegret(); }
  std::string TakeNews() override { return inner_->TakeNews(); }
  bool LearnsFromResults() const override { return inner_->LearnsFromResults(); }
  std::string DebugString() const override;

 private:
  // The inner searcher's number of a trial; nothing for one it does not hear of.
  std::optional<TrialNumber> Inner(TrialNumber number) const;

  std::unique_ptr<Searcher> inner_;
  std::vector<Configuration> points_;
  RandomDraws draws_;
  bool is_unique_;
  std::set<std::string> had_;  // Flat JSON; where they are to be unique.
};

}  // namespace tune
