// What one step of the controller leads to: what its sweep was told (the journal's text), rows for
// the database, then actions for the world. Rows
// of trials, attempts, reports, workers and speeds are whole (insert or replace by their key); a
// report takes the place of an earlier one where its iteration was reported in part before, and has
// all that the parts had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/metric.h"
#include "core/resources.h"
#include "core/time.h"
#include "schedulers/trial_scheduler.h"
#include "trial_runner/messages.h"
#include "tuner/lane_speeds.h"
#include "tuner/sweep_event.h"

namespace tune {

enum class TrialStatus { kPending, kRunning, kPaused, kTerminated, kError };
enum class StopReason {
  kNone,
  kCompleted,
  kStopCondition,
  kMaxT,
  kScheduler,
  kSweepLimit,
  kUser,
};
enum class ExperimentStatus { kRunning, kInterrupted, kFinished, kStopped };
enum class WorkerState { kAlive, kDraining, kLost, kLeft };
enum class CheckpointState { kDurable, kCorrupt, kRemoved };

// The words of the views: "PENDING", "stop_condition", "RUNNING", "alive", "durable".
const char* TrialStatusName(TrialStatus status);
const char* StopReasonName(StopReason reason);
const char* ExperimentStatusName(ExperimentStatus status);
const char* WorkerStateName(WorkerState state);
const char* CheckpointStateName(CheckpointState state);

struct TrialRow {
  TrialNumber number;
  TrialStatus status = TrialStatus::kPending;
  StopReason stop_reason = StopReason::kNone;
  int64_t iterations = 0;
  Metric last_value;
  Metric best_value;
  std::optional<int64_t> best_iteration;
  Metric best_violation;  // Of the report with the best value; nothing: the sweep has no limits.
  int64_t attempts = 0;
  Instant created_at;
  std::optional<Instant> started_at;
  std::optional<Instant> finished_at;
  double run_seconds = 0;  // Sum over its attempts' running times.
};

// A suggestion, written once: what recovery restores into the searcher.
struct NewTrialRow {
  TrialRow trial;
  Configuration configuration;
};

struct AttemptRow {
  TrialNumber trial;
  AttemptNumber number;
  std::optional<WorkerId> worker;       // Of several ranks, the first one's,
  std::vector<WorkerId> other_workers;  // and those of the others, in order of rank.
  std::vector<std::pair<WorkerId, DeviceSlice>> devices;  // What it holds, of all ranks.
  Outcome outcome = Outcome::kRunning;
  std::string error;
  int64_t from_iteration = 0;
  Instant started_at;
  std::optional<Instant> finished_at;
};

struct ReportRow {
  TrialNumber trial;
  AttemptNumber attempt;
  int64_t iteration = 0;
  Metric value;     // The sweep's metric.
  Metrics metrics;  // All of them.
  Instant reported_at;
  // Nothing for an iteration reported again after a retry, and while the sweep's metric is missing.
  std::optional<Decision> decision;
};

// What a scheduler decided about a paused trial.
struct OrderRow {
  Order order;
  int64_t iteration = 0;  // The trial's last.
  Instant ordered_at;
};

// A trial went on as a copy of another: from `source`'s checkpoint, with a new configuration.
struct ExploitRow {
  TrialNumber trial;
  int64_t iteration = 0;  // The trial's last before.
  TrialNumber source;
  int64_t source_iteration = 0;  // Of the checkpoint.
  Configuration configuration;
};

struct CheckpointRow {
  TrialNumber trial;
  int64_t iteration = 0;
  CheckpointRef ref;
  CheckpointState state = CheckpointState::kDurable;
};

// What may be wrong with what a trial reports, for a person (doubts.h); once of each kind.
struct NoteRow {
  TrialNumber trial;
  std::string kind;
  std::string text;
};

struct WorkerRow {
  WorkerId worker;
  std::string name;
  std::string address;
  WorkerCapacity capacity;
  WorkerState state = WorkerState::kAlive;
  Instant joined_at;
  Instant last_seen_at;
  // How it is known when it comes back, and how attempts went on it: for the tuner's next life.
  bool is_local = true;
  std::string session = {};
  bool has_reported = false;  // An attempt on it has.
  int64_t failed_starts = 0;  // Since then: attempts that failed before their first report.
  bool is_shunning_said = false;
};

// One of the reasons of ExperimentRow::ended_early.
inline constexpr char kSweepTimeReached[] = "limits.sweep_time was reached";

struct ExperimentRow {
  ExperimentStatus status = ExperimentStatus::kRunning;
  int64_t samples = 0;
  std::optional<Instant> finished_at;
  // Why it was interrupted, where its head does not try it again (Sweep::given_up).
  std::string given_up = {};
  // Why it ended before all of its trials were tried (Sweep::ended_early).
  std::string ended_early = {};
};

// ---- actions: effects, performed after the commit, each idempotent by its lease epoch or path

struct SendToWorker {
  WorkerId worker;
  ToWorker message;
};
struct RemoveCheckpoint {
  std::string path;
};
// Its lease is over, or it has another connection.
struct DisconnectWorker {
  WorkerId worker;
};
// Nothing is left to do in this life: the loop ends after performing the actions before it.
struct EndOfExperiment {
  ExperimentStatus status = ExperimentStatus::kFinished;
  ExperimentId sweep = {};
};
// A line for the person who watches.
struct Say {
  std::string text;
  ExperimentId sweep = {};  // Whose; nothing: the workers'.
};
using Action = std::variant<SendToWorker, DisconnectWorker, RemoveCheckpoint, EndOfExperiment, Say>;

struct Transition {
  std::vector<SweepEvent> stream;
  std::vector<NewTrialRow> new_trials;
  std::vector<TrialRow> trials;
  std::vector<AttemptRow> attempts;
  std::vector<ReportRow> reports;
  std::vector<OrderRow> orders;
  std::vector<ExploitRow> exploits;
  std::vector<CheckpointRow> checkpoints;
  std::vector<NoteRow> notes;
  std::vector<WorkerRow> workers;
  std::vector<LaneSpeedRow> lane_speeds;
  std::optional<ExperimentRow> experiment;
  std::optional<std::string> present_spec;  // The sweep's document, where its settings changed.
  std::vector<Action> actions;
};

}  // namespace tune
