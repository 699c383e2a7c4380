// What `auto` does where it takes a Gaussian process: it leads, and Parzen estimators hear
// everything that it hears, so that they can take its place at any trial.
//
// - A model that predicts its results no better than their mean (PredictiveSkill below kLeastSkill
//   once kResultsToJudge are there) has nothing to go by, and one that found nothing better for
//   kStall trials, and for a third of all, may be caught at a local best: every other suggestion is
//   then tpe's.
// - Thinking is not to cost more than a twentieth of a trial: where the first kResultsOfFast trials
//   took less than kFastSeconds on average, tpe goes on alone, whose suggestions cost microseconds.
//
// All follow from what was told of this sweep's own trials, never from the clock, so that a replay
// comes to the same. How long trials take is measured: another run of the sweep may differ there.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "search/searcher.h"

namespace tune {

class AutoSearcher final : public Searcher {
 public:
  // `mode`: of the one objective; nothing where there are several or limits on results, where the
  // model is not judged.
  AutoSearcher(std::unique_ptr<Searcher> gp, std::unique_ptr<Searcher> tpe,
               std::optional<Mode> mode, SearchRules rules = SearchRules::kFrom16)
      : gp_(std::move(gp)), tpe_(std::move(tpe)), mode_(mode), rules_(rules) {}

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  void OnStopped(TrialNumber number) override;
  void OnDuration(TrialNumber number, double seconds) override;
  void OnReopened(TrialNumber number) override;
  std::optional<double> RemainingRegret() override { return gp_->RemainingRegret(); }
  bool EstimatesRegret() const override { return gp_->EstimatesRegret(); }
  std::string TakeNews() override;
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  enum class Lead { kGp, kInTurns, kTpe };
  Lead Leading();
  std::string WhyInTurns() const;
  // A trial counts for its best report, and not at all once it has failed.
  void Count(TrialNumber number, Objectives values);
  void Forget(TrialNumber number);
  bool IsStalled() const;

  std::unique_ptr<Searcher> gp_;
  std::unique_ptr<Searcher> tpe_;
  std::optional<Mode> mode_;
  SearchRules rules_;
  size_t ended_ = 0;                      // Of this sweep, as all here.
  std::map<TrialNumber, double> losses_;  // The least of each trial.
  double least_loss_ = std::numeric_limits<double>::infinity();
  std::optional<TrialNumber> leader_;  // Whose it is.
  size_t gained_at_ = 0;               // When so many had ended.
  size_t timed_ = 0;
  double seconds_ = 0;                  // Of those together,
  std::map<TrialNumber, double> took_;  // and of each.
  bool is_fast_ = false;
  Lead said_ = Lead::kGp;
  bool was_restored_ = false;  // The trial before the next one.
  std::string news_;
};

}  // namespace tune
