// What a person sees of a running sweep, as text made from a snapshot: plain lines for a log, the
// summary at the end (live_table.h: the table for a terminal). Pure: nothing here reads a clock or
// writes to a stream.
//
// Thread rule: values; a RateMeter or ProgressLog belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "core/time.h"
#include "core/value.h"
#include "schedulers/trial_scheduler.h"
#include "tuner/best_configuration.h"
#include "tuner/best_trial.h"
#include "tuner/cli/words/time_left.h"
#include "tuner/doubts.h"

namespace tune {

struct RunningTrial {
  int64_t number = 0;
  int64_t iteration = 0;  // The last one reported; 0: none yet.
  Metric last_value;
  Metric best_value;
  std::string worker;
  Duration running_for;
};

struct EndedTrial {
  int64_t number = 0;
  bool failed = false;
  std::string reason;  // "max_t", "scheduler", ...; of a failed one its error.
  int64_t iterations = 0;
  Metric best_value;
  int64_t best_iteration = 0;  // 0: none.
  Metric last_value;
};

// The best trial; with `repeat` the best run of the best configuration.
struct BestSoFar {
  int64_t number = 0;
  double value = 0;
  int64_t iteration = 0;
  Value config;                                // Nested.
  std::string checkpoint_path;                 // Empty: none.
  std::optional<ConfigurationRuns> runs = {};  // With `repeat`.
  int64_t earlier_configs = 0;                 // As of BestTrial (sweep_lookup.h).
  Metric violation = {};                       // Of a sweep with limits on results.
};

struct SweepSnapshot {
  std::string name;
  std::string metric;
  Mode mode = Mode::kMax;
  int64_t samples = 0;  // -1: no limit.
  int64_t pending_count = 0;
  int64_t paused_count = 0;
  bool is_paused = false;     // The whole sweep, by command.
  int64_t stopped_count = 0;  // TERMINATED.
  int64_t failed_count = 0;   // ERROR.
  std::vector<RunningTrial> running;
  std::vector<RungView> rungs;
  std::optional<BestSoFar> best;
  std::string why_no_best;  // Where there is none.
  int64_t worker_count = 0;
  int64_t cpu_milli_used = 0, cpu_milli_total = 0;
  int64_t gpu_milli_used = 0, gpu_milli_total = 0;
  int64_t iteration_count = 0;  // Trained in the whole sweep.
  std::optional<double> iterations_per_second;
  Duration elapsed;
  std::optional<TimeLeft> time_left;

  int64_t ended_count() const { return stopped_count + failed_count; }
};

// "9/16 trials ended".
std::string EndedOf(const SweepSnapshot& snapshot);
// "PAUSED (tune unpause goes on): " of a sweep that is paused by command, else "".
std::string PausedWords(const SweepSnapshot& snapshot);
// "0.52"; of a cutoff that no feasible value passes alone "a violation of 0.25" (core/standing.h).
std::string CutoffWords(double cutoff);
// "1.2 iterations/s".
std::string RateWords(double per_second);

// "12/16 trials ended, 3 running, best 0.731 (trial 4), 1.2 iterations/s, 2 to 4 min left".
std::string RenderProgress(const SweepSnapshot& snapshot);

// Iterations a second over the last half minute, and over at least two reports: a program that
// reports a hundred steps once a minute is neither at rest nor in a hurry in between.
class RateMeter {
 public:
  void Add(Instant now, int64_t count);
  std::optional<double> PerSecond() const;

 private:
  std::deque<std::pair<Instant, int64_t>> samples_;  // Where the count changed.
  Instant now_;
};

// What is told of trials that failed: an error that several have, but for its numbers, stands there
// once.
class FailureLog {
 public:
  // Of those among `ended` that failed.
  std::vector<std::string> Lines(const std::vector<EndedTrial>& ended);

 private:
  std::map<std::string, int64_t> first_trials_;  // By ErrorKind.
};

// The lines where nobody watches a terminal: one for each trial that ends (one for all of them when
// many end at once), and at most one of progress every ten seconds.
class ProgressLog {
 public:
  // Failures are told by the FailureLog.
  std::vector<std::string> Update(const SweepSnapshot& snapshot,
                                  const std::vector<EndedTrial>& ended, Instant now);

 private:
  std::optional<Instant> said_at_;
  int64_t said_iterations_ = -1;
};

struct SweepSummary {
  std::string name;
  std::string metric;
  std::string status;       // "FINISHED", "INTERRUPTED", "STOPPED".
  bool was_paused = false;  // By command, when it was interrupted.
  std::string given_up;     // Why it was interrupted, where it waited as long as it may.
  std::string ended_early;  // Why, where not all of its trials were tried.
  int64_t experiment = 0;
  int64_t trial_count = 0;
  int64_t failed_count = 0;
  int64_t early_count = 0;   // Stopped by the scheduler before their full length.
  int64_t paused_count = 0;  // Paused and not taken up again.
  std::optional<BestSoFar> best;
  std::string why_no_best;  // Where there is none.
  std::optional<FailedBest> better_failed;
  std::string none_feasible;    // That what is best keeps no limits; else empty.
  bool has_limits = false;      // On results.
  std::string front;            // Of several objectives: "4 trials (0, 3, 7, 12)".
  bool has_ended_trial = true;  // One came to its full length, or may not be stopped early.
  std::vector<Doubt> doubts;
  Mode mode = Mode::kMax;
  int64_t repeat = 1;              // Trials of each configuration.
  int64_t iterations_trained = 0;  // Those that were trained again count each time.
  int64_t iterations_again = 0;    // Of them: in no checkpoint when their attempt ended.
  // Had nothing been stopped early; nothing: not known, or nothing could be.
  std::optional<int64_t> iterations_full;
  Duration elapsed;                        // In this life.
  std::optional<Duration> since_creation;  // Where that is longer.
  std::string db_path;
  std::string resume_line;  // Shown unless the sweep is FINISHED or STOPPED.
};

// Set where a command is run for who asks from elsewhere: how wide their terminal is.
inline constexpr char kRemoteWidth[] = "TUNE_REMOTE_WIDTH";

// A command for a person to copy, as a shell takes it: "tune resume food11 --db other.db".
std::string ShellCommand(const std::string& verb, const std::string& sweep,
                         const std::string& db_path);

// "mean 0.93 deviation 0.01 of 3 runs (trials 3, 4, 5)", "mean 0.9 of 1 of 3 runs (trial 3)".
std::string Describe(const ConfigurationRuns& runs);

// Ends with a newline.
std::string RenderSummary(const SweepSummary& summary);

}  // namespace tune
