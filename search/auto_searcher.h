// What `auto` does where it takes a Gaussian process: it leads, and Parzen estimators hear
// everything that it hears, so that they can take its place at any trial.
//
// - A model that predicts its results no better than their mean (PredictiveSkill below kLeastSkill
//   once kResultsToJudge are there) has nothing to go by: every other suggestion is then tpe's.
// - Thinking is not to cost more than a twentieth of a trial: from kResultsOfFast results on,
// trials
//   whose mean duration is below kFast get tpe's suggestions alone, which cost microseconds.
//
// Both follow from what was told, never from the clock, so that a resumed sweep goes on alike.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "search/searcher.h"

namespace tune {

class AutoSearcher final : public Searcher {
 public:
  // `is_judged`: whether the model's predictions count; of several objectives they do not.
  AutoSearcher(std::unique_ptr<Searcher> gp, std::unique_ptr<Searcher> tpe, bool is_judged)
      : gp_(std::move(gp)), tpe_(std::move(tpe)), is_judged_(is_judged) {}

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  void OnDuration(TrialNumber number, double seconds) override;
  std::string TakeNews() override;
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override;

 private:
  enum class Lead { kGp, kInTurns, kTpe };
  Lead Leading();

  std::unique_ptr<Searcher> gp_;
  std::unique_ptr<Searcher> tpe_;
  bool is_judged_;
  size_t ended_ = 0;
  size_t timed_ = 0;
  double seconds_ = 0;  // Of those together.
  std::optional<Lead> said_;
  std::string news_;
};

}  // namespace tune
