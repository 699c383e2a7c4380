// What is known of a landscape of learning curves, and a sweep's leader on it: the trial with the
// best observation so far, which need not be the best in truth where observations are noisy.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "search/searcher.h"
#include "trial_runner/curve.h"

namespace tune {

class Landscape {
 public:
  // Those of bench/multi_fidelity/landscapes whose best configuration is known.
  static std::vector<std::string> Names();
  // `formula`: what stands under `curve`, of which noise does not count. Higher is better.
  static Result<Landscape> Make(const std::string& name, const Value& formula);

  double best() const { return best_; }
  // How far below the best, as a share of it.
  double GapOf(const Configuration& configuration, int64_t iteration) const;

 private:
  Landscape(Curve curve, double best) : curve_(std::move(curve)), best_(best) {}

  Curve curve_;
  double best_;
};

class Leader {
 public:
  Leader(const Landscape& landscape, double near) : landscape_(landscape), near_(near) {}

  void OnReport(const Configuration& configuration, int64_t iteration, double observed);
  // Whether it is truly near the best, or was.
  bool has_arrived() const { return has_arrived_; }

 private:
  const Landscape& landscape_;
  double near_;
  double best_observed_ = -std::numeric_limits<double>::infinity();
  bool has_arrived_ = false;
};

// A searcher that has no more to suggest once the leader has arrived, so that the sweep ends.
class FollowedSearcher final : public Searcher {
 public:
  FollowedSearcher(std::unique_ptr<Searcher> searcher, std::shared_ptr<Leader> leader)
      : searcher_(std::move(searcher)), leader_(std::move(leader)) {}

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override;
  void OnStopped(TrialNumber number) override { searcher_->OnStopped(number); }
  void OnDuration(TrialNumber number, double seconds) override {
    searcher_->OnDuration(number, seconds);
  }
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override;
  bool LearnsFromResults() const override { return searcher_->LearnsFromResults(); }
  std::string DebugString() const override { return searcher_->DebugString(); }

 private:
  std::unique_ptr<Searcher> searcher_;
  std::shared_ptr<Leader> leader_;
  std::map<TrialNumber, Configuration> configurations_;
};

}  // namespace tune
