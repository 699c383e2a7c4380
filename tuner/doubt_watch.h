// Watches what trials report for what may not mean what it seems to: each thing found becomes a
// row, and, the first time of its kind, a line for the person (doubts.h). It decides nothing.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/messages.h"
#include "tuner/compared_trials.h"
#include "tuner/doubts.h"
#include "tuner/experiment_spec.h"
#include "tuner/repeated_runs.h"
#include "tuner/transition.h"
#include "tuner/trial_record.h"

namespace tune {

class DoubtWatch {
 public:
  // Both outlive it. `spec` may change between calls; rows and lines go to `out`.
  DoubtWatch(const ExperimentSpec& spec, Transition& out);

  // One that another part has found. A note's kind is what stands before its first colon.
  void Add(const TrialRecord& trial, const std::string& kind, const std::string& text);
  void AddNote(const TrialRecord& trial, const std::string& note);

  void OnProgramChanged(std::vector<std::string> differences) {
    program_changes_ = std::move(differences);
  }
  void OnAttemptBegun(const TrialRecord& trial);
  // Before it is counted.
  void OnFirstReport(const TrialRecord& trial, const Report& report);
  // No trial has reported the sweep's metric yet, in this life.
  void OnReportWithoutMetric(const TrialRecord& trial, const Metrics& metrics);
  // `scored`: with what is made of them (metric_scores.h).
  void OnReportWithMetric(const TrialRecord& trial, const Metrics& metrics, const Metrics& scored);
  // An iteration is whole, be it again; and one that is new.
  void OnIteration(TrialRecord& trial, const Report& report, Metric value);
  void OnNewIteration(TrialNumber trial, int64_t iteration, Metric value);
  void OnCompleted(const TrialRecord& trial);
  void OnTrialEnded(const TrialRecord& trial);

  std::vector<Doubt> list() const { return doubts_.list(); }
  // What is not as it was when the sweep began.
  const std::vector<std::string>& program_changes() const { return program_changes_; }

 private:
  bool Decides(const std::string& metric) const;
  void NoteLimitsWithoutNumber(const TrialRecord& trial, const Metrics& metrics);
  // Its values are alike where all is well, and other reports are none of a mistake's.
  bool AsksForExitStatus() const { return spec_.metric == kExitStatusMetric; }

  const ExperimentSpec& spec_;
  Transition& out_;
  Doubts doubts_;
  std::vector<std::string> program_changes_;
  bool said_missing_metric_ = false;
  bool said_meant_metric_ = false;
  bool said_missing_constraint_ = false;
  std::set<int64_t> infeasible_;  // Those that are not over and reported something such.
  RepeatedRuns repeated_runs_;
  ComparedTrials compared_trials_;
};

}  // namespace tune
