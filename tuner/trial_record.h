// What a sweep knows of each of its trials.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/metric.h"
#include "core/resources.h"
#include "core/time.h"
#include "trial_runner/messages.h"
#include "tuner/failure_policy.h"
#include "tuner/transition.h"
#include "tuner/trial_state.h"

namespace tune {

enum class PauseCommand { kTrial, kSweep };

// How the ranks that are left end where one has: by themselves, before they are ended (the first
// one has ended in order), or soon (one misses another, which may say why); by SIGTERM; at once.
enum class RanksEnd { kByThemselves, kSoon, kGraceful, kAtOnce };
KillAttempt KillOf(const AttemptRef& ref, RanksEnd how);  // In sweep_ends.cc.

// One trial as its sweep knows it.
struct TrialRecord {
  TrialState state = TrialState::kWaiting;  // Written by Sweep::Move() alone.
  TrialRow row;                             // Its status follows.
  Configuration configuration;
  FailureCounts failures;
  std::optional<Instant> retry_at;     // It backs off until then.
  std::optional<WorkerId> failed_on;   // Where its latest attempt failed, until the next begins.
  bool on_whole_device = false;        // A share was too small for it.
  bool has_reported_metric = false;    // In any attempt; what else it reports is nothing to go by.
  int64_t reports_without_metric = 0;  // Until then, of the attempt.

  // The present attempt; meaningful while `lease` is there. Of several ranks it is the first one's.
  std::optional<AttemptRef> lease;
  AttemptRow attempt;
  int64_t attempt_iteration = 0;  // Last one reported by it,
  int64_t stride = 0;             // and how far that was from the one before; 0: not known.
  // What it reported without the sweep's metric, of the iteration that is under way; 0: nothing.
  int64_t open_iteration = 0;
  Metrics open_metrics;
  bool first_was_whole = false;  // Nothing was reported before the sweep's metric came first,
  bool later_had_parts = false;  // and something before it came again.
  // What its last iteration reported, where results have constraints: a file at its end may have
  // what they name alone.
  Metrics held_metrics;
  int64_t last_sequence = 0;
  std::vector<Metric> last_values;   // Of each objective and limit, as the searcher heard them.
  std::vector<double> whole_values;  // The last that had them all,
  double whole_violation = 0;        // and what they violate of the sweep's limits.
  ReportAnswer last_answer = ReportAnswer::kContinue;
  Instant progress_at;           // Its start or last report.
  bool is_silence_said = false;  // Of the present attempt.
  Duration clock_shift;          // Of the tuner's clock since it began, at restarts and sleeps.
  std::optional<AttemptEnded> verdict;  // Why we killed it, in place of what the worker will say.
  bool is_told_to_end = false;          // The worker was told to kill it, or to drop it.
  // It ends when each of its ranks has: as the first one says that has something to say.
  int64_t ranks_left = 0;
  std::optional<AttemptEnded> rank_end;
  std::optional<RanksEnd> ranks_told;  // That those which are left shall end, and how.
  std::string ranks_meet_at;           // The address of the first one's machine.

  // What keeps it PAUSED: either, or both.
  bool held_by_scheduler = false;
  std::optional<PauseCommand> held_by_command;

  // Commands about it. A pause waits for the next checkpoint.
  std::optional<PauseCommand> pause_wanted;
  bool is_stop_wanted = false;

  // The first value behind the checkpoint that the next attempt goes on from.
  struct Unsaved {
    int64_t iteration = 0;
    double value = 0;
    AttemptNumber attempt;
  };
  std::optional<Unsaved> first_unsaved;

  // Of the present attempt's reports, by iteration: checkpoints that are not durable yet.
  struct ComingCheckpoint {
    int64_t iteration = 0;
    Metric value;
    int64_t lineage = 0;  // exploit_count when it was reported.
  };
  std::vector<ComingCheckpoint> coming_checkpoints;

  // Where the next attempt goes on.
  int64_t resume_iteration = 0;
  std::string resume_path;  // Within its artifact folder; empty: its iteration is all there is.
  std::optional<TrialNumber> resume_owner;  // Whose folder that is, where it is not its own.
  bool resume_has_other_config = false;     // What it goes on from was made with another one.
  int64_t exploit_count = 0;                // Each time it had a new configuration,
  AttemptNumber config_since{1};            // the present one since this attempt;
  int64_t config_iteration = 0;             // the last one that it had, reported or taken over.
  // The configuration of the best value, where that is an earlier one, and the exploits before it.
  std::optional<Configuration> best_configuration;
  int64_t best_lineage = 0;

  // What its attempt reports counts: also while that is told to end, if nothing was decided of it.
  bool takes_reports() const { return Hears(state); }
  // Nobody has decided against what its attempt is at.
  bool is_to_go_on() const { return !is_over() && !is_paused() && !verdict; }
  bool is_running() const { return IsRunningAttempt(state); }
  // By the clock of now.
  Instant running_since() const { return attempt.started_at + clock_shift; }
  const Configuration& ConfigurationOfBest() const {
    return best_configuration ? *best_configuration : configuration;
  }
  bool is_held() const { return held_by_scheduler || held_by_command.has_value(); }
  bool is_paused() const { return IsPaused(state); }
  bool is_over() const { return IsOver(state); }
};

}  // namespace tune
