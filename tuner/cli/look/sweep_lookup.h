// Finding a sweep for the commands that only look: the database opened for reading, a NAME
// resolved.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"
#include "tuner/best_configuration.h"
#include "tuner/best_trial.h"
#include "tuner/experiment_spec.h"
#include "tuner/sqlite/database.h"
#include "tuner/sweep_labels.h"

namespace tune {

struct FoundSweep {
  int64_t id = 0;
  std::string name;
  std::string metric;  // Of the first objective, as its mode.
  std::string mode;
  std::vector<Objective> objectives;  // All of them, in most sweeps one.
  std::string status;  // As a person should read it: a RUNNING row whose tuner died is INTERRUPTED.
  int64_t decision_version = 0;  // The rules that decide it (tuner/decision_version.h).
  int64_t samples = 0;
  int64_t repeat = 1;               // Trials of each configuration.
  bool has_space = false;           // Its trials have parameters.
  bool is_constrained = false;      // It has metric_constraints.
  std::vector<std::string> limits;  // On results: its `feasible`.
  std::string seed;
  std::string scheduler;
  std::string trainable_kind;  // "food11", "curve", "command"; "ask-tell": no tuner runs it.
  int64_t created_us = 0;
  std::optional<int64_t> finished_us;
  SweepLabels labels;
  // Why one that is INTERRUPTED is not tried again by its head; empty: it is, or it is no head's.
  std::string given_up;
  std::string ended_early;  // Why it ended before all of its trials were tried.

  Mode direction() const { return mode == "min" ? Mode::kMin : Mode::kMax; }
  // Whether configurations are compared by the means of their runs.
  bool has_means() const { return repeat > 1 && objectives.size() == 1; }
  bool has_limits() const { return !limits.empty(); }
  // Whether others run its trials, and tell of them (tune ask, tune tell).
  bool is_told() const { return trainable_kind == "ask-tell"; }
  // A trial's violation in a query over trial_rows or trials: databases of older programs have no
  // such column, and no sweep with limits.
  std::string ViolationSql() const { return has_limits() ? "violation" : ""; }
};

// The best trial of a sweep, by the rule of tuner/best_trial.h; with `repeat` the best run of the
// best configuration.
struct BestTrial {
  int64_t id = 0;
  int64_t number = 0;
  std::string status;
  double value = 0;
  Metric violation = {};  // Of a sweep with limits.
  int64_t iteration = 0;
  Value config;                 // Nested.
  int64_t earlier_configs = 0;  // That it was trained with before, where it exploited others.
  std::string checkpoint_path;  // Empty: none is there any more.
  int64_t checkpoint_iteration = 0;
  std::optional<ConfigurationRuns> runs;  // Of its configuration, with `repeat`.
};

// Opens for reading; kNotFound and all others are one line for a person.
Result<std::unique_ptr<Database>> OpenForQueries(const std::string& path);
// As above, for a command that gives an answer and ends: a small database is checked, and damage is
// told on `err`, since an answer out of a damaged index looks like any other.
Result<std::unique_ptr<Database>> OpenForAnswer(const std::string& path, std::ostream& err);

// All sweeps, by id.
Result<std::vector<FoundSweep>> ListSweeps(Database& database);
// Leaves those that have all of these tags: "team=vision", or a key alone for any value.
Status KeepTagged(const std::vector<std::string>& tags, std::vector<FoundSweep>& sweeps);
// The sweep of exactly that name, read without the others; nothing where there is none.
Result<std::optional<FoundSweep>> FindNamed(Database& database, const std::string& name);
// By name; the latest of the database for "". kNotFound names the nearest, or those that are
// there.
Result<FoundSweep> FindSweep(Database& database, const std::string& name);
// The same, of one whose trials a tuner runs; kInvalidArgument where they are told with tune ask
// and tune tell.
Result<FoundSweep> FindRunSweep(Database& database, const std::string& name);
// Its space file, with the settings that it has now, as InterpretStoredSpec reads it.
Result<ExperimentSpec> ReadStoredSpec(Database& database, const FoundSweep& sweep,
                                      bool require_trainable = false);
// "accuracy and latency".
std::string ObjectiveNames(const FoundSweep& sweep);
// Said loudly wherever a best trial is told that keeps no limits; empty: it keeps them.
std::string WarningOf(const FoundSweep& sweep, const BestTrial& best);
// The same of the best configuration, in a sweep with these limits.
std::string WarningOf(const std::vector<std::string>& limits, const ConfigurationRuns& best);
// The best of the trials in ERROR.
Result<std::optional<FailedBest>> FindFailedBest(Database& database, const FoundSweep& sweep);
// Where FindBestTrial gives nothing: "no trial has reported acc".
std::string WhyThereIsNoBest(Database& database, const FoundSweep& sweep);
// The same for an error: "sweep: no trial has reported acc".
std::string NoBestIn(Database& database, const FoundSweep& sweep);

// Nothing while no trial has reported a value. Its checkpoint is that of the best iteration if it
// is durable, else the trial's latest durable one.
Result<std::optional<BestTrial>> FindBestTrial(Database& database, const FoundSweep& sweep,
                                               FailedTrials failed = FailedTrials::kLeaveOut);

// Another trial, told of as the best one is. kNotFound: there is none of that number.
Result<BestTrial> FindTrialAsBest(Database& database, const FoundSweep& sweep, int64_t number);

// The configurations of a sweep with `repeat`, the best first.
Result<std::vector<ConfigurationRuns>> ReadConfigurationRuns(
    Database& database, const FoundSweep& sweep, FailedTrials failed = FailedTrials::kLeaveOut);

// How many trials the sweep has if nothing ends it sooner; -1: no end. `samples` counts
// configurations.
int64_t TrialCountMax(Database& database, const FoundSweep& sweep);

// Where a stored path of a trial's lies now: below the database's artifacts folder, or, where the
// database alone was moved, still at its old place.
std::string FindArtifact(const std::string& path, const std::string& db_path,
                         const std::string& experiment, int64_t trial);

// What is said beside the configuration of a trial with such; `count` is not 0.
std::string DescribeEarlierConfigs(int64_t count, int64_t trial);

// "lr=0.1 optimizer/kind=adam": a nested configuration on one line.
std::string DescribeConfig(const Value& nested);

}  // namespace tune
