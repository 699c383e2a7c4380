// What a simulated head has acknowledged, sweep by sweep, as an independent witness keeps it, and
// what a recovery must find: every acknowledged step as it was, and of the commit in doubt all of
// it or nothing, for all of its sweeps. Beside it a controller that never dies is told each sweep's
// stream alone, and must come to the same rows.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/forwarding_store.h"
#include "tests/sim/trace.h"
#include "tuner/controller.h"
#include "tuner/store.h"

namespace tune::sim {

class HeadWitness {
 public:
  struct Sweep {
    StoredExperiment experiment;
    std::vector<std::string> steps;
    std::map<TrialNumber, TrialRow> trials;
    std::map<TrialNumber, Configuration> configurations;
    ExperimentStatus status = ExperimentStatus::kRunning;
    bool is_told = false;
  };

  explicit HeadWitness(Trace& trace) : trace_(trace) {}

  void Created(const StoredExperiment& experiment);
  // Whoever submitted it was told that it is there. Before, a power cut may take it away again.
  void Told(ExperimentId id) { sweeps_.at(id).is_told = true; }
  void Committed(std::span<const SweepStep> steps);
  // The store failed, or the process died before it could say.
  void InDoubt(std::span<const SweepStep> steps);
  // A step has failed, and was not committed since: nothing of it, or after it, may be seen.
  bool is_in_doubt() const { return !in_doubt_.empty(); }
  // What a new life finds, before it goes on.
  void Recovered(Store& store);

  const std::map<ExperimentId, Sweep>& sweeps() const { return sweeps_; }
  int64_t commit_count() const { return commit_count_; }
  int64_t step_count() const { return step_count_; }
  int64_t report_count() const { return report_count_; }
  int64_t together_count() const { return together_count_; }  // Commits of several sweeps.

 private:
  struct Doubtful {
    ExperimentId sweep;
    JournalStep step;
    Transition rows;
  };

  void Take(ExperimentId id, const JournalStep& step, const Transition& rows);
  // How many of the steps in doubt are there; with what must be there looked at.
  void CheckJournal(Store& store, const Sweep& sweep, std::set<ExperimentId>& grown);
  void CheckRows(Store& store, const Sweep& sweep);
  void ForgetUntold(const std::set<ExperimentId>& there);

  Trace& trace_;
  std::map<ExperimentId, Sweep> sweeps_;
  std::vector<Doubtful> in_doubt_;
  Controller shadow_{HeadOptions{Seconds(60), false}};
  std::set<std::tuple<ExperimentId, TrialNumber, int64_t>> decided_;
  int64_t commit_count_ = 0;
  int64_t step_count_ = 0;
  int64_t report_count_ = 0;
  int64_t together_count_ = 0;
};

// A store with the witness beside it.
class WitnessedStore final : public ForwardingStore {
 public:
  // `dies`: whether the process has died, right after a commit.
  WitnessedStore(Store& inner, HeadWitness& witness, std::function<bool()> dies)
      : ForwardingStore(inner), witness_(witness), dies_(std::move(dies)) {}

  Status CommitSteps(std::span<const SweepStep> steps) override {
    const Status status = inner_.CommitSteps(steps);
    if (!status.ok()) {
      witness_.InDoubt(steps);
      return status;
    }
    witness_.Committed(steps);
    return dies_() ? Unavailable("killed after a commit") : status;
  }

 private:
  HeadWitness& witness_;
  const std::function<bool()> dies_;
};

}  // namespace tune::sim
