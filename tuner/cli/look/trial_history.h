// All that the database tells of one trial, and the sentences that explain it: each report with its
// decision, each attempt with its end, and why the trial is where it is.
//
// Thread rule: one thread; the sentences are pure functions of what was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "tuner/cli/look/lane_speeds.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/experiment_spec.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A report with its decision, or what the scheduler decided later about the trial while it was
// paused.
struct HistoryReport {
  int64_t attempt = 0;
  int64_t iteration = 0;
  std::optional<double> value;  // The sweep's metric; nothing when it is not finite or missing.
  Value metrics;                // All of them.
  int64_t reported_us = 0;
  // "continue", "stop", "pause", "resume"; empty: reported again after a retry.
  std::string decision;
  bool is_order = false;  // No report: decided while it was paused; the value is its last.
  std::string copied;     // Of an order: "trial 3 at iteration 4", which it went on as,
  Value copied_config;    // and with which configuration.
  std::optional<int64_t> rung;
  std::optional<double> cutoff;
  std::optional<int64_t> rank;
  std::optional<int64_t> count;
};

struct HistoryAttempt {
  int64_t number = 0;
  std::string worker;  // Its name; empty: not known.
  std::string outcome;
  std::string error;
  int64_t from_iteration = 0;
  std::string checkpoint;        // Where it began, at its present place; empty: there is none.
  std::string checkpoint_state;  // "durable", "corrupt", "removed".
  int64_t started_us = 0;
  std::optional<int64_t> finished_us;
};

struct TrialHistory {
  FoundTrial trial;
  std::optional<ExperimentSpec> spec;  // Nothing when it is one of a newer program.
  std::string status;
  std::string stop_reason;
  Value config;
  int64_t iterations = 0;
  std::optional<double> best_value;
  std::optional<int64_t> best_iteration;
  std::optional<double> violation;  // Of that, in a sweep with limits on results.
  double run_seconds = 0;
  int64_t failed_trials = 0;             // Of its sweep.
  std::vector<HistoryReport> reports;    // In order of arrival.
  std::vector<HistoryAttempt> attempts;  // By number.
  std::vector<int64_t> durable;          // Iterations whose checkpoints are.
  std::vector<KindLimit> lane_limits;    // Of trials of its shape.
  std::vector<std::string> notes;        // What may be wrong with what it reported.
  std::string resume_command;            // Of its sweep.
  // Of the worker that runs it, as the living tuner tells (living_state.h); the reader fills it in.
  std::vector<std::string> worker_troubles = {};
};

// From one state of the database, also while a tuner writes.
Result<TrialHistory> ReadTrialHistory(Database& database, const std::string& trial);

// "rung 4: 7th best of 9, the cutoff was 0.52", "check 7: 0.93, the cutoff was 0.68", "between
// rungs", "reported again after a retry".
std::string ExplainReport(const TrialHistory& history, const HistoryReport& report);

// Why it ended, or what it waits for: "stopped by asha at rung 4: val_accuracy 0.41 was the 7th
// best of 9, ...".
std::string ExplainStatus(const TrialHistory& history);

// How many trained as one with it, and what that is limited by: "8 at its last report; 8 train as
// one on NVIDIA H200: 16 were slower (...)". Empty: it trained alone, and nothing limits that.
std::string ExplainLanes(const TrialHistory& history);

// How the trial's best report stands to each limit of its sweep. Nothing: there are no limits, or
// no such report.
std::optional<std::vector<LimitStanding>> StandingsOfBest(const TrialHistory& history);

// The value for a person; what is not finite or not there in words.
std::string ReportedValue(const TrialHistory& history, const HistoryReport& report);

}  // namespace tune
