// What a space file says, checked and with its defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/metric.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "core/value.h"
#include "trial_runner/secrets.h"
#include "tuner/failure_policy.h"
#include "tuner/metric_scores.h"
#include "tuner/result_limits.h"

namespace tune {

// A trial ends when a metric reaches a value. `is_max`: at or above `value` ends it, else at or
// below.
struct StopCondition {
  std::string metric;
  double value = 0;
  bool at_or_above = true;
  friend bool operator==(const StopCondition&, const StopCondition&) = default;
};

struct SweepLimits {
  int64_t max_concurrent = limits::kConcurrencyMax;
  std::optional<Duration> sweep_time;
  std::optional<Duration> trial_time;
  std::optional<Duration> no_progress;
  std::optional<int64_t> failed_trials;
  std::optional<int64_t> failed_alike;  // 0: however many; none: as AlikeFailures has it.
  Duration unplaceable = Seconds(600);
  // How long a worker that is not heard of keeps its trials.
  Duration lease = Milliseconds(limits::kLeaseMs);
};

struct CheckpointPolicy {
  int64_t every = 1;                         // Reports.
  int64_t keep = 1;                          // Latest, per trial.
  int64_t keep_best = 1;                     // Best, over the sweep.
  std::optional<int64_t> disk_budget_bytes;  // Over the sweep.
  std::string storage;             // "s3://bucket/prefix"; empty: the sweep's artifact folder.
  bool lends_credentials = false;  // The tuner signs what workers ask of the storage.
  bool is_async = false;           // A report does not wait until its checkpoint is durable.
};

// What is held free for a sweep on a head; 0: of that nothing (reserves.h).
struct Reserve {
  int64_t cpu_milli = 0;
  int64_t gpu_milli = 0;
  friend bool operator==(const Reserve&, const Reserve&) = default;
};

// What the sweep is due on a head that others use too.
struct Share {
  int64_t priority = 0;  // Higher ones are served first.
  int64_t weight = 100;  // Of an owner's two with the same priority, one with twice the weight gets
                         // twice.
  std::string owner = {};  // Owners share evenly; those that nobody has named are one.
  Reserve reserve = {};    // Whole trials' worth of it.
  friend bool operator==(const Share&, const Share&) = default;
};

// That no trial is stopped early: what stands under `scheduler`.
bool IsFifo(const Value& scheduler);

struct Objective {
  std::string metric;
  Mode mode = Mode::kMax;
  friend bool operator==(const Objective&, const Objective&) = default;
};

// "acc (max), flops (min)".
std::string DescribeObjectives(const std::vector<Objective>& objectives);

struct ExperimentSpec {
  std::string name;
  // Of the first objective, which is the only one in most sweeps: `value`, the best trial and the
  // best checkpoints go by it.
  std::string metric;
  Mode mode = Mode::kMax;
  std::vector<Objective> more_objectives;
  MetricScores scores;           // What is made of reported metrics.
  ResultLimits feasible;         // What a result has to keep.
  int64_t samples = 1;           // -1: no limit.
  std::optional<uint64_t> seed;  // Nothing: the program draws one.
  Value trainable;               // "food11", {command: ...} or {curve: ...}.
  Value space;                   // Checked by SearchSpace::Parse,
  Value constraints;             // as these; null: none.
  Value points;                  // Checked by ReadPoints; null: none.
  std::string from;              // Earlier sweep to learn from, or "optuna: FILE"; empty: none.
  bool from_is_prior = false;    // Its trials are a prior (search/gp/prior.h).
  Value search;                  // Checked by MakeSearcher; null: random.
  Value scheduler;               // Checked by MakeScheduler; null: fifo.
  ResourceRequest resources;
  std::optional<int64_t> no_gain_max;  // `until`: so many trials without a gain end the sweep,
  std::optional<double> regret_max;    // or an expected one below this, in the metric's units.
  std::vector<StopCondition>
      stop;  // Over metrics; training_iteration and time_total (seconds) among them.
  SweepLimits limits;
  FailurePolicy failure;
  CheckpointPolicy checkpoint;
  Share share;
  std::vector<std::string> after;  // On a head: the sweeps and jobs that must be over before.
  std::string base_dir;            // Relative paths are relative to it: the space file's folder.
  Value document;  // The whole file after --set, as it is stored in `experiments.spec`.
  std::vector<Secret> secrets;  // What the file said of them; in no document (secrets.h).

  // All of them, the first one first.
  std::vector<Objective> objectives() const {
    std::vector<Objective> all = {{metric, mode}};
    all.insert(all.end(), more_objectives.begin(), more_objectives.end());
    return all;
  }
  // What trials must report besides, so that their results can be judged.
  const std::vector<std::string>& constrained_names() const {
    return feasible.empty() ? scores.constrained_names() : feasible.metric_names();
  }
};

}  // namespace tune
