// Around a searcher: each configuration is tried `repeat` times, in consecutive trials, each with
// the seed of its repetition (trial_seed.h). The searcher counts configurations, not trials, and
// hears the mean over those that have a value: of an iteration once all of them have reported it,
// of the end once all have ended (of one objective the mean of each one's best). Of a limit on
// results it hears what decides which configuration is best: where a run breaks the limit, the mean
// of what each run breaks it by; nothing where nobody can tell of one of the runs. A configuration
// has failed when all of its trials have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "search/searcher.h"

namespace tune {

class RepeatSearcher final : public Searcher {
 public:
  RepeatSearcher(std::unique_ptr<Searcher> inner, int64_t repeat, std::vector<Mode> modes,
                 SearchRules rules = SearchRules::kFrom16);

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
  using Values = std::vector<Metric>;  // One for each objective, and each limit.

  struct Run {
    Values best;  // Of several objectives the last whole ones. Empty: none yet.
    bool has_ended = false;
    bool has_failed = false;
    double seconds = 0;
  };
  struct Group {
    Configuration configuration;
    std::vector<Run> runs;
    double seconds = 0;  // Of all of them.
    // Iterations that some runs have reported and others have not.
    std::map<int64_t, std::vector<Values>> reports;
  };

  TrialNumber GroupOf(TrialNumber number) const { return {number.value / repeat_}; }
  Group& Add(TrialNumber group, Configuration configuration);
  void Count(Run& run, Objectives values) const;
  bool HasObjective(const Values& values) const;
  Metric MeanOfLimit(const std::vector<Values>& all, size_t limit) const;
  Values MeanOf(const std::vector<Values>& all) const;

  std::unique_ptr<Searcher> inner_;
  int64_t repeat_;
  std::vector<Mode> modes_;
  SearchRules rules_;
  std::map<TrialNumber, Group> groups_;
};

}  // namespace tune
